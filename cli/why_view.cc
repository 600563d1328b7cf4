#include "cli/why_view.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "cli/display_text.h"
#include "cli/head_grid.h"
#include "cli/view.h"
#include "src/engine/words.h"

namespace sightline::cli {
namespace {

using engine::Why;
using engine::WhyMeasure;

constexpr int kLeastWord = 5, kMostWord = 16, kMap = 7;  // columns
constexpr int kWeights = 25;                             // columns of weight, |w·v| and rollout
constexpr int kEffect = 10;                              // columns of an effect

std::string number(double value) { return std::isnan(value) ? "-" : fmt::format("{:.2f}", value); }

std::string maps_text(const Why& why) {
  if (why.block == "layer") return "each edge in one layer at a time";
  if (why.block == "head") return "each edge in one head at a time";
  return why.block == "all" ? "each edge in all maps at once" : fmt::format("each edge in {} at once", why.block);
}

// What a picture of all layers and heads shows in each cell.
struct Grid {
  std::string title;
  int layers = 0, heads = 0;
  std::vector<double> values;  // [layers, heads]; NaN: none
  double unit = 0;             // of the numbers shown; 0: one that leaves the largest two digits
};

// Whole numbers in a unit.
class GridView {
 public:
  GridView(Painter& painter, const Grid& grid) : painter_(painter), grid_(grid) {
    for (const double value : grid.values) {
      if (std::isfinite(value)) largest_ = std::max(largest_, std::abs(value));
    }
    if (largest_ > 0) unit_ = std::pow(10, std::floor(std::log10(largest_ / 9.95)));
    if (grid.unit > 0) unit_ = grid.unit;
  }

  void add() {
    painter_.paragraph({{Ink::accent, fmt::format("{}, in units of {:g}", grid_.title, unit_)}});
    add_head_grid(painter_,
                  {grid_.layers, grid_.heads, kCell, [this](std::size_t map) { add_cell(grid_.values[map]); }});
  }

 private:
  static constexpr int kCell = 5;

  void add_cell(double value) {
    const long whole = std::isfinite(value) ? std::lround(value / unit_) : 0;
    const std::string text = std::isfinite(value) ? (whole == 0 ? "" : fmt::format("{:+}", whole)) : "-";
    const std::string cell = fmt::format("{:>{}}", text, kCell);
    if (largest_ > 0 && std::isfinite(value)) {
      painter_.tinted(std::abs(value) / largest_, cell);
    } else {
      painter_.soft(cell);
    }
  }

  Painter& painter_;
  const Grid& grid_;
  double largest_ = 0, unit_ = 1;
};

class WhyView {
 public:
  WhyView(Painter& painter, const engine::ModelFacts& model, const Why& why, int top)
      : painter_(painter), model_(model), why_(why), top_(static_cast<std::size_t>(top)) {
    choose_columns();
  }

  void add() {
    add_heading();
    add_edges();
    add_correlations();
    add_heads();
    add_direct();
    for (const std::string& note : why_.notes) painter_.note(displayable(note, utf8()));
    if (has_unknown()) painter_.note("??: no number (NaN): the model's weights or its passes over this text hold some");
    if (!why_.complete) painter_.note(stopped_note("knock-outs"));
    painter_.note(
        fmt::format("The passes took {:#.3g} GFLOP; one whole pass for each knock-out would take {:#.3g}, {:.1f} "
                    "times as many",
                    why_.work.done / 1e9, why_.work.naive / 1e9, why_.work.ratio()));
  }

 private:
  bool utf8() const { return painter_.terminal().utf8; }
  bool has_maps() const { return !why_.by_map.empty(); }
  bool has_unknown() const {
    return std::ranges::any_of(why_.edges, [](const engine::WhyEdge& edge) {
      return std::isnan(edge.weight + edge.value_weight) || std::ranges::any_of(edge.effects, is_nan);
    });
  }
  static bool is_nan(double value) { return std::isnan(value); }

  void add_heading() {
    painter_.paragraph({{Ink::accent, fmt::format("\"{}\"", label_text(why_.row.label, utf8()))},
                        {Ink::plain, fmt::format(" in {}: {} edges, {}", displayable(model_.name, utf8()),
                                                 why_.edges.size(), maps_text(why_))}});
    for (std::size_t i = 0; i < why_.measures.size(); ++i) {
      const WhyMeasure& measure = why_.measures[i];
      const std::string name = why_.measures.size() > 1 ? fmt::format("effect {}: ", i + 1) : "effect: ";
      painter_.paragraph({{Ink::plain, name + measure_text(measure, utf8()) + value_text(measure)}});
    }
    painter_.newline();
  }

  static std::string value_text(const WhyMeasure& measure) {
    switch (measure.kind) {
      case WhyMeasure::Kind::log_probability:
      case WhyMeasure::Kind::margin:
        return fmt::format(", {} with all edges; its change without one",
                           known_number(measure.value, fmt::format("{:.4f}", measure.value)));
      case WhyMeasure::Kind::text_vector:
      case WhyMeasure::Kind::row_vector:
        break;
    }
    return "";
  }

  void add_edges() {
    const std::size_t count = std::min(top_, why_.edges.size());
    const auto shown = std::span(why_.edges).first(count);
    int width = kLeastWord;
    for (const engine::WhyEdge& edge : shown) width = std::max(width, display_width(word_of(edge)));
    const int taken = (has_maps() ? kMap : 0) + kWeights + static_cast<int>(columns_.size()) * kEffect;
    width = std::min(width, std::clamp(painter_.terminal().width - taken, kLeastWord, kMostWord));
    add_titles(width);
    for (const engine::WhyEdge& edge : shown) add_edge(edge, width);
    if (count < why_.edges.size()) {
      painter_
          .soft(fmt::format("{} more with smaller effects (--top shows more, --json all)", why_.edges.size() - count))
          .newline();
    }
    if (columns_.size() < why_.measures.size()) {
      painter_.soft("Effects for which there is no room: --json has them").newline();
    }
    painter_.newline();
  }

  // The effects side by side, as many as there is room for; that by which edges are ranked is among them.
  void choose_columns() {
    const int taken = (has_maps() ? kMap : 0) + kLeastWord + kWeights;
    const int room = std::max(1, (painter_.terminal().width - taken) / kEffect);
    const std::size_t count = std::min(why_.measures.size(), static_cast<std::size_t>(room));
    for (std::size_t i = 0; i < count; ++i) columns_.push_back(i);
    if (why_.ranked_by >= count) columns_.back() = why_.ranked_by;
  }

  std::string word_of(const engine::WhyEdge& edge) const { return item_name(why_, edge.item, utf8()); }

  void add_titles(int width) {
    if (has_maps()) painter_.bold(fmt::format("{:<{}}", why_.by_map.front().head > 0 ? "head" : "layer", kMap));
    painter_.bold(pad_left("to", width, utf8()));
    painter_.bold(fmt::format("  weight {} rollout", pad_left(painter_.glyph("|w·v|", "|w*v|"), 8, utf8())));
    const bool several = why_.measures.size() > 1;
    for (const std::size_t i : columns_) {
      const std::string title = several ? fmt::format("effect {}", i + 1) : "effect";
      painter_.bold(fmt::format("{:>{}}", title + (several && i == why_.ranked_by ? "*" : ""), kEffect));
    }
    painter_.newline();
  }

  void add_edge(const engine::WhyEdge& edge, int width) {
    if (has_maps()) painter_.soft(fmt::format("{:<{}}", edge_map(edge), kMap));
    const std::string word = pad_left(word_of(edge), width, utf8());
    why_.items[edge.item].special ? painter_.soft(word) : painter_.text(word);
    painter_.spaces(1).tinted(format::ease(edge.weight),
                              known_number(edge.weight, fmt::format(" {:>6.4f}", edge.weight)));
    painter_.text(known_number(edge.value_weight, fmt::format(" {:>8.4g}", edge.value_weight)) + " ");
    painter_.tinted(format::ease(edge.rollout), known_number(edge.rollout, fmt::format("{:>7.4f}", edge.rollout)));
    for (const std::size_t i : columns_) {
      painter_.tinted(share_of_largest(edge, i),
                      fmt::format("{:>{}}", effect_text(edge.effects[i], why_.measures[i]), kEffect),
                      i == why_.ranked_by);
    }
    painter_.newline();
  }

  double share_of_largest(const engine::WhyEdge& edge, std::size_t measure) const {
    double largest = 0;
    for (const engine::WhyEdge& each : why_.edges) {
      const double size = std::abs(each.effects[measure]);
      if (std::isfinite(size)) largest = std::max(largest, size);
    }
    const double share = std::abs(edge.effects[measure]) / largest;
    return std::isfinite(share) ? share : 0;
  }

  void add_correlations() {
    const std::string of = why_.measures.size() > 1 ? fmt::format(" {}", why_.ranked_by + 1) : "";
    painter_.paragraph(
        {{Ink::bold,
          fmt::format("Spearman's rank correlation with the size of effect{}, over {} edges: ", of, why_.edges.size())},
         {Ink::plain,
          fmt::format("weight {}, {} {}, rollout {}", number(why_.correlation.weight), painter_.glyph("|w·v|", "|w*v|"),
                      number(why_.correlation.value_weight), number(why_.correlation.rollout))},
         {Ink::soft, chance_text()}});
    if (!has_maps()) return;
    why_.by_map.front().head > 0 ? add_correlations_of_heads() : add_correlations_of_layers();
  }

  std::string chance_text() const {
    const double chance = why_.correlation.chance;
    return std::isnan(chance) ? ""
                              : fmt::format("; unrelated ones reach {:.2f} one time in twenty, either way", chance);
  }

  void add_correlations_of_layers() {
    painter_.soft(
        fmt::format("layer  edges  weight {} rollout", pad_left(painter_.glyph("|w·v|", "|w*v|"), 7, utf8())));
    painter_.newline();
    for (const engine::WhyMap& map : why_.by_map) {
      painter_.text(fmt::format("{:>5} {:>6} {:>7} {:>7} {:>7}", map.layer, map.edges, number(map.correlation.weight),
                                number(map.correlation.value_weight), number(map.correlation.rollout)));
      painter_.newline();
    }
  }

  void add_correlations_of_heads() {
    Grid grid = empty_grid("The same of weight in each head by itself");
    grid.unit = 0.01;
    for (const engine::WhyMap& map : why_.by_map) cell(grid, map.layer, map.head) = map.correlation.weight;
    GridView(painter_, grid).add();
  }

  Grid empty_grid(std::string title) const {
    Grid grid{
        std::move(title), static_cast<int>(model_.config.layers), static_cast<int>(model_.config.query_heads), {}, 0};
    grid.values.assign(static_cast<std::size_t>(grid.layers * grid.heads), std::nan(""));
    return grid;
  }

  static double& cell(Grid& grid, int layer, int head) {
    return grid.values[static_cast<std::size_t>((layer - 1) * grid.heads + head - 1)];
  }

  void add_heads() {
    if (why_.heads.empty()) return;
    painter_.newline();
    const std::string of = why_.measures.size() > 1 ? fmt::format(" {}", why_.ranked_by + 1) : "";
    Grid grid = empty_grid(fmt::format("Effect{} of a whole head knocked out", of));
    for (const engine::WhyHead& head : why_.heads) cell(grid, head.layer, head.head) = head.effects[why_.ranked_by];
    GridView(painter_, grid).add();
  }

  void add_direct() {
    painter_.newline();
    const model::Contributions& parts = why_.direct[why_.ranked_by];
    Grid grid = empty_grid(fmt::format("Direct contribution of each head to {}", direct_text()));
    grid.values = parts.heads;
    GridView(painter_, grid).add();
    double heads = 0, layers = 0;
    for (const double part : parts.heads) heads += part;
    for (const double part : parts.feed_forward) layers += part;
    const auto sum = [](double value) { return known_number(value, fmt::format("{:.4g}", value)); };
    painter_.note(fmt::format("{} in all: heads {}, feed-forward {}, embeddings {}, biases {}", sum(parts.answer),
                              sum(heads), sum(layers), sum(parts.embeddings), sum(parts.rest)));
    painter_.note("In both: a row a layer, a column a head; blank: under half a unit");
  }

  std::string direct_text() const {
    switch (why_.measures[why_.ranked_by].kind) {
      case WhyMeasure::Kind::log_probability:
        return "the answer's logit, less the mean logit";
      case WhyMeasure::Kind::margin:
        return "the difference of the answers' logits";
      case WhyMeasure::Kind::text_vector:
        return "the text's vector";
      case WhyMeasure::Kind::row_vector:
        break;
    }
    return "the word's vector";
  }

  Painter& painter_;
  const engine::ModelFacts& model_;
  const Why& why_;
  std::size_t top_;
  std::vector<std::size_t> columns_;  // measures whose effects have a column, the one that ranks among them
};

}  // namespace

std::string item_name(const Why& why, std::size_t item, bool utf8) {
  return label_text(why.items[item].label, utf8) + engine::occurrence_suffix(why.items, item);
}

std::string effect_text(double value, const WhyMeasure& measure) {
  if (std::isnan(value)) return "??";
  if (value == 0) return "0";
  const bool is_change = measure.kind == WhyMeasure::Kind::log_probability || measure.kind == WhyMeasure::Kind::margin;
  return is_change ? fmt::format("{:+#.3g}", value) : fmt::format("{:#.3g}", value);
}

std::string measure_text(const WhyMeasure& measure, bool utf8) {
  const std::string_view cosine = utf8 ? "1 − cosine" : "1 - cosine";
  switch (measure.kind) {
    case WhyMeasure::Kind::log_probability:
      return fmt::format("log-probability of \"{}\"{}", label_text(measure.answer, utf8),
                         measure.likeliest ? " (the model's likeliest)" : "");
    case WhyMeasure::Kind::margin:
      return "margin, the first answer's less the second's";
    case WhyMeasure::Kind::text_vector:
      return fmt::format("{} of the text's vector (mean of its tokens) to that with all edges", cosine);
    case WhyMeasure::Kind::row_vector:
      break;
  }
  return fmt::format("{} of the word's own last vector, likewise", cosine);
}

std::string edge_map(const engine::WhyEdge& edge) {
  if (edge.layer == 0) return "";
  return edge.head == 0 ? fmt::format("L{}", edge.layer) : engine::map_name({edge.layer, edge.head});
}

void add_why_view(Painter& painter, const engine::ModelFacts& model, const Why& why, int top) {
  WhyView(painter, model, why, top).add();
}

}  // namespace sightline::cli
