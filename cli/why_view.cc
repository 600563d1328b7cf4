#include "cli/why_view.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <vector>

#include "cli/display_text.h"
#include "cli/view.h"

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
    const int across = std::max(1, (painter_.terminal().width - kLabel) / kCell);
    for (int first = 0; first < grid_.heads; first += across) add_band(first, std::min(first + across, grid_.heads));
  }

 private:
  static constexpr int kLabel = 4, kCell = 5;

  void add_band(int first, int end) {
    painter_.spaces(kLabel);
    for (int head = first; head < end; ++head) painter_.soft(fmt::format("{:>{}}", head + 1, kCell));
    painter_.newline();
    for (int layer = 0; layer < grid_.layers; ++layer) {
      painter_.soft(fmt::format("{:>3} ", layer + 1));
      for (int head = first; head < end; ++head)
        add_cell(grid_.values[static_cast<std::size_t>(layer * grid_.heads + head)]);
      painter_.newline();
    }
  }

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
      : painter_(painter),
        model_(model),
        why_(why),
        top_(static_cast<std::size_t>(top)),
        names_(item_names(why, painter.terminal().utf8)) {
    choose_columns();
  }

  void add() {
    add_heading();
    add_edges();
    add_correlations();
    add_heads();
    add_direct();
    for (const std::string& note : why_.notes) painter_.note(note);
    if (!why_.complete) painter_.note("Not all of it: it was stopped, and these are the knock-outs that were done");
    painter_.note(
        fmt::format("The passes took {:#.3g} GFLOP; one whole pass for each knock-out would take {:#.3g}, {:.1f} "
                    "times as many",
                    why_.work.done / 1e9, why_.work.naive / 1e9, why_.work.ratio()));
  }

 private:
  bool utf8() const { return painter_.terminal().utf8; }
  bool has_maps() const { return !why_.by_map.empty(); }

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
        return fmt::format(", {:.4f} with all edges; its change without one", measure.value);
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

  const std::string& word_of(const engine::WhyEdge& edge) const { return names_[edge.item]; }

  void add_titles(int width) {
    if (has_maps()) painter_.bold(fmt::format("{:<{}}", why_.by_map.front().head > 0 ? "head" : "layer", kMap));
    painter_.bold(pad_left("to", width, utf8()));
    painter_.bold(fmt::format("  weight {} rollout", pad_left(painter_.glyph("|w·v|", "|w*v|"), 8, utf8())));
    for (const std::size_t i : columns_) {
      const std::string title = why_.measures.size() > 1 ? fmt::format("effect {}", i + 1) : "effect";
      painter_.bold(
          fmt::format("{:>{}}", title + (i == why_.ranked_by && why_.measures.size() > 1 ? "*" : ""), kEffect));
    }
    painter_.newline();
  }

  void add_edge(const engine::WhyEdge& edge, int width) {
    if (has_maps()) painter_.soft(fmt::format("{:<{}}", edge_map(edge), kMap));
    const std::string word = pad_left(word_of(edge), width, utf8());
    why_.items[edge.item].special ? painter_.soft(word) : painter_.text(word);
    painter_.spaces(1).tinted(format::ease(edge.weight), fmt::format(" {:>6.4f}", edge.weight));
    painter_.text(fmt::format(" {:>8.4g} ", edge.value_weight));
    painter_.tinted(format::ease(edge.rollout), fmt::format("{:>7.4f}", edge.rollout));
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
                      number(why_.correlation.value_weight), number(why_.correlation.rollout))}});
    if (!has_maps()) return;
    why_.by_map.front().head > 0 ? add_correlations_of_heads() : add_correlations_of_layers();
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
    painter_.note(fmt::format("{:.4g} in all: heads {:.4g}, feed-forward {:.4g}, embeddings {:.4g}, biases {:.4g}",
                              parts.answer, heads, layers, parts.embeddings, parts.rest));
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
  std::vector<std::string> names_;
  std::vector<std::size_t> columns_;  // measures whose effects have a column
};

}  // namespace

std::vector<std::string> item_names(const Why& why, bool utf8) {
  std::map<std::string, int> count, seen;
  for (const engine::AxisItem& item : why.items) ++count[item.label];
  std::vector<std::string> names;
  for (const engine::AxisItem& item : why.items) {
    const std::string name = label_text(item.label, utf8);
    names.push_back(count[item.label] > 1 ? fmt::format("{}:{}", name, ++seen[item.label]) : name);
  }
  return names;
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
