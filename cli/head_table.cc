#include "cli/head_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "cli/display_text.h"
#include "cli/head_measures.h"
#include "src/format/colour.h"

namespace sightline::cli {
namespace {

using engine::MapSummary;

// What one grid shows: `place` 0..1 decides the colour, `number` the digits.
struct Measure {
  std::string title;
  std::function<double(const MapSummary&)> place;
  std::function<double(const MapSummary&)> number;
};

// A share of the weight, coloured as weights are.
Measure share_measure(std::string title, float MapSummary::*share) {
  return {std::move(title), [share](const MapSummary& s) { return format::ease(s.*share); },
          [share](const MapSummary& s) { return 100.0 * s.*share; }};
}

Measure entropy_measure() {
  return {"entropy, % of even", [](const MapSummary& s) { return s.entropy_normalised; },
          [](const MapSummary& s) { return 100.0 * s.entropy_normalised; }};
}

// Distance has no natural whole: the head that looks farthest has the full colour. In long texts it is told in tens or
// hundreds, so that two digits do.
Measure distance_measure(const engine::Look& look) {
  const double farthest = std::max(1.0, farthest_distance(look));
  double unit = 1;
  while (farthest / unit > 99) unit *= 10;
  return {unit == 1 ? "mean distance, tokens" : fmt::format("mean distance / {:g}", unit),
          [farthest](const MapSummary& s) { return s.distance / farthest; },
          [unit](const MapSummary& s) { return s.distance / unit; }};
}

// The order puts what belongs together side by side. A row of a causal map sees no next token.
std::vector<Measure> measures(const engine::Look& look) {
  std::vector<Measure> all = {entropy_measure(), distance_measure(look),
                              share_measure(fmt::format("% on {}", aside_name(look)), aside_share(look)),
                              share_measure("% on same token", &MapSummary::same_share),
                              share_measure("% on previous token", &MapSummary::previous_share)};
  if (!is_causal(look)) all.push_back(share_measure("% on next token", &MapSummary::next_share));
  if (has_sinks(look)) all.push_back(share_measure("% on the head's sink", &MapSummary::sink_share));
  return all;
}

constexpr int kLabelWidth = 3;   // "12 "
constexpr int kTitleWidth = 21;  // the longest
constexpr int kMostLayersInOneColumn = 12;
constexpr int kRuler = 4;  // heads from one number to the next where cells are too narrow for each

struct Layout {
  int cell = 3;    // columns a head
  int across = 2;  // grids side by side
  int heads = 0;   // heads in one band of grids: all, unless there are more than columns
  int grid_width() const { return std::max(kTitleWidth, kLabelWidth + cell * heads); }
  bool digits() const { return cell == 3; }
};

// Prefers digits with a space between (touching ones of equal tint cannot be read), then grids side by side, then wide
// shades.
Layout choose_layout(const Painter& painter, int layers, int heads) {
  const int width = painter.terminal().width;
  for (const Layout& layout : {Layout{3, 3, heads}, Layout{3, 2, heads}, Layout{3, 1, heads}, Layout{2, 3, heads},
                               Layout{2, 2, heads}, Layout{1, 3, heads}, Layout{1, 2, heads}}) {
    const bool endless = layout.cell == 3 && layout.across == 1 && layers > kMostLayersInOneColumn;
    if ((layout.grid_width() + 1) * layout.across - 1 <= width && !endless) return layout;
  }
  return {1, 1, std::min(heads, width - kLabelWidth)};
}

class HeadTable {
 public:
  HeadTable(Painter& painter, const engine::Look& look, const engine::MapId& marked)
      : painter_(painter), look_(look), marked_(marked), layout_(choose_layout(painter, look.layers(), look.heads())) {}

  void add() {
    const auto all = measures(look_);
    for (std::size_t first = 0; first < all.size(); first += static_cast<std::size_t>(layout_.across)) {
      const std::span<const Measure> beside =
          std::span(all).subspan(first, std::min(static_cast<std::size_t>(layout_.across), all.size() - first));
      for (int head = 0; head < look_.heads(); head += layout_.heads) add_band(beside, head);
    }
    add_legend();
  }

 private:
  // Grids side by side, for heads [first_head, first_head + layout_.heads).
  void add_band(std::span<const Measure> beside, int first_head) {
    each(beside, [&](const Measure& measure) {
      painter_.accent(pad_right(measure.title, layout_.grid_width(), painter_.terminal().utf8));
    });
    each(beside, [&](const Measure&) { add_head_numbers(first_head); });
    for (int layer = 1; layer <= look_.layers(); ++layer) {
      each(beside, [&](const Measure& measure) { add_row(measure, layer, first_head); });
    }
  }

  template <typename Add>
  void each(std::span<const Measure> beside, Add add) {
    for (std::size_t i = 0; i < beside.size(); ++i) {
      if (i > 0) painter_.spaces(1);
      add(beside[i]);
    }
    painter_.newline();
  }

  int last_head(int first_head) const { return std::min(first_head + layout_.heads, look_.heads()); }

  void add_head_numbers(int first_head) {
    std::string numbers(kLabelWidth, ' ');
    for (int head = first_head; head < last_head(first_head); head += layout_.digits() ? 1 : kRuler) {
      numbers += layout_.digits() ? fmt::format("{:>{}}", head + 1, layout_.cell)
                                  : fmt::format("{:<{}}", head + 1, kRuler * layout_.cell);
    }
    painter_.soft(pad_right(numbers.substr(0, static_cast<std::size_t>(layout_.grid_width())), layout_.grid_width(),
                            painter_.terminal().utf8));
  }

  void add_row(const Measure& measure, int layer, int first_head) {
    painter_.soft(fmt::format("{:>2} ", layer));
    for (int head = first_head + 1; head <= last_head(first_head); ++head) {
      const engine::MapId id{layer, head};
      add_cell(measure, look_.summary(id), id == marked_);
    }
    painter_.spaces(layout_.grid_width() - kLabelWidth - layout_.cell * (last_head(first_head) - first_head));
  }

  void add_cell(const Measure& measure, const MapSummary& summary, bool marked) {
    const double place = measure.place(summary);
    if (layout_.digits()) {
      painter_.tinted(place, digits(measure.number(summary), marked), marked);
    } else if (marked) {
      painter_.tinted(place, pad_right(arrow(), layout_.cell, painter_.terminal().utf8), true);
    } else {
      painter_.shade(place, layout_.cell);
    }
  }

  std::string_view arrow() const { return painter_.glyph("›", ">"); }

  void add_legend() {
    painter_.note(fmt::format("a row a layer, a column a head; means over the rows of text tokens; {} is {}{}", arrow(),
                              engine::map_name(marked_), layout_.digits() ? "" : "; more shade is more"));
  }

  // Two digits, or three where colours keep cells apart; blank for what rounds to 0. The marked head's begin with an
  // arrow.
  std::string digits(double number, bool marked) const {
    const double most = painter_.coloured() ? 100 : 99;
    const std::string text = std::isnan(number) ? "?" : fmt::format("{:.0f}", std::min(number, most));
    const std::string shown = text == "0" && !marked ? "" : text;
    std::string cell = fmt::format("{:>{}}", shown, layout_.cell);
    if (marked && cell.front() == ' ') cell.replace(0, 1, arrow());
    return cell;
  }

  Painter& painter_;
  const engine::Look& look_;
  engine::MapId marked_;
  Layout layout_;
};

}  // namespace

void add_head_table(Painter& painter, const engine::Look& look, const engine::MapId& marked) {
  HeadTable(painter, look, marked).add();
}

}  // namespace sightline::cli
