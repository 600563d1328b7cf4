#include "cli/head_summary.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "cli/display_text.h"
#include "cli/head_measures.h"
#include "cli/view.h"

namespace sightline::cli {
namespace {

using engine::MapSummary;

constexpr int kManyHeads = 200;
constexpr int kLayerLabel = 6, kRole = 10;  // columns

// A number of at most four columns: 7, 999, 12k, ?.
std::string short_number(double number) {
  if (std::isnan(number)) return "?";
  return number < 9999.5 ? fmt::format("{:.0f}", number) : fmt::format("{:.0f}k", number / 1000);
}

std::vector<engine::MapId> heads_of(const engine::Look& look, int layer) {
  std::vector<engine::MapId> heads;
  for (int head = 1; head <= look.heads(); ++head) heads.push_back({layer, head});
  return heads;
}

class HeadSummary {
 public:
  HeadSummary(Painter& painter, const engine::Look& look, const engine::MapId& marked)
      : painter_(painter), look_(look), marked_(marked), roles_(head_roles(look)) {
    across_ =
        std::clamp((painter.terminal().width - kLayerLabel - kLayerEven) / kRole, 1, static_cast<int>(roles_.size()));
  }

  // Roles that find no room beside the others follow in a table of their own.
  void add_layers() {
    for (std::size_t first = 0; first < roles_.size(); first += static_cast<std::size_t>(across_)) {
      const auto beside =
          std::span(roles_).subspan(first, std::min(static_cast<std::size_t>(across_), roles_.size() - first));
      add_titles("layer", first == 0 ? "even: low mean high" : "", kLayerEven, beside);
      for (int layer = 1; layer <= look_.layers(); ++layer) add_layer(layer, beside, first == 0);
    }
    painter_.note(
        fmt::format("a row a layer: how even its heads look (entropy, % of even: least, mean, most), then the head "
                    "that is or has most of each, and how much in %, distances in tokens; means over the rows of text "
                    "tokens; {} is {}; --layer L shows a layer's heads, --heads all",
                    arrow(), engine::map_name(marked_)));
  }

  void add_heads() {
    for (std::size_t first = 0; first < roles_.size(); first += static_cast<std::size_t>(across_)) {
      const auto beside =
          std::span(roles_).subspan(first, std::min(static_cast<std::size_t>(across_), roles_.size() - first));
      add_titles("head", first == 0 ? "even" : "", kHeadEven, beside);
      for (const engine::MapId& id : heads_of(look_, marked_.layer)) add_head(id, beside, first == 0);
    }
    painter_.note(
        fmt::format("a row a head of layer {}: entropy in % of even, shares in %, distance in tokens; means over the "
                    "rows of text tokens; {} is {}",
                    marked_.layer, arrow(), engine::map_name(marked_)));
  }

 private:
  static constexpr int kLayerEven = 20, kHeadEven = 5;  // columns of entropies: "low mean high", one

  std::string_view arrow() const { return painter_.glyph("›", ">"); }
  bool utf8() const { return painter_.terminal().utf8; }

  void add_titles(std::string_view what, std::string_view even, int even_width, std::span<const HeadRole> beside) {
    std::string titles = pad_right(what, kLayerLabel, utf8()) + pad_right(even, even_width, utf8());
    for (const HeadRole& role : beside) titles += pad_left(role.title, kRole, utf8());
    painter_.accent(titles).newline();
  }

  void add_label(const std::string& label, bool marked) {
    painter_.soft(pad_right(fmt::format("{}{}", label, marked ? arrow() : ""), kLayerLabel, utf8()));
  }

  void add_layer(int layer, std::span<const HeadRole> beside, bool even) {
    add_label(fmt::format("{:>3}", layer), layer == marked_.layer);
    even ? add_entropies(layer) : void(painter_.spaces(kLayerEven));
    for (const HeadRole& role : beside) {
      const engine::MapId best = most(layer, role);
      const MapSummary& summary = look_.summary(best);
      painter_.spaces(1).text(pad_left(fmt::format("H{}", best.head), 4, utf8())).spaces(1);
      painter_.tinted(place(role, summary), fmt::format("{:>4}", short_number(role.number(summary))), best == marked_);
    }
    painter_.newline();
  }

  void add_entropies(int layer) {
    double low = INFINITY, high = -INFINITY, sum = 0;
    for (const engine::MapId& id : heads_of(look_, layer)) {
      const double even = look_.summary(id).entropy_normalised;
      low = std::min(low, even);
      high = std::max(high, even);
      sum += even;
    }
    for (const double even : {low, sum / look_.heads(), high}) {
      painter_.tinted(even, fmt::format("{:>4} ", short_number(100 * even)));
    }
    painter_.spaces(kLayerEven - 15);
  }

  engine::MapId most(int layer, const HeadRole& role) const {
    const std::vector<engine::MapId> heads = heads_of(look_, layer);
    return *std::ranges::max_element(heads, {}, [&](const engine::MapId& id) {
      const double number = role.number(look_.summary(id));
      return std::isnan(number) ? -1.0 : number;
    });
  }

  void add_head(const engine::MapId& id, std::span<const HeadRole> beside, bool even) {
    const MapSummary& summary = look_.summary(id);
    add_label(fmt::format("{:>4}", fmt::format("H{}", id.head)), id == marked_);
    if (even) {
      painter_.tinted(summary.entropy_normalised,
                      fmt::format("{:>4} ", short_number(100 * summary.entropy_normalised)));
    }
    if (!even) painter_.spaces(kHeadEven);
    for (const HeadRole& role : beside) {
      painter_.spaces(kRole - 4);
      painter_.tinted(place(role, summary), fmt::format("{:>4}", short_number(role.number(summary))), id == marked_);
    }
    painter_.newline();
  }

  // Shares are coloured as weights are, distances by how far the farthest head looks.
  double place(const HeadRole& role, const MapSummary& summary) const {
    if (role.share) return format::ease(role.number(summary) / 100);
    return role.number(summary) / std::max(1.0, farthest_distance(look_));
  }

  Painter& painter_;
  const engine::Look& look_;
  engine::MapId marked_;
  std::vector<HeadRole> roles_;
  int across_ = 1;
};

}  // namespace

bool has_many_heads(const engine::Look& look) { return look.layers() * look.heads() > kManyHeads; }

void add_layer_summary(Painter& painter, const engine::Look& look, const engine::MapId& marked) {
  HeadSummary(painter, look, marked).add_layers();
}

void add_heads_of_layer(Painter& painter, const engine::Look& look, const engine::MapId& marked) {
  HeadSummary(painter, look, marked).add_heads();
}

}  // namespace sightline::cli
