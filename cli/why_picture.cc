#include "cli/why_picture.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "cli/display_text.h"
#include "cli/picture_parts.h"
#include "cli/view.h"
#include "cli/why_view.h"

namespace sightline::cli {
namespace {

using format::Label;
using format::Picture;

constexpr std::size_t kMostRows = 40;  // edges that a picture shows
constexpr std::int64_t kRow = 44, kBar = 24, kPanel = 480, kPanelGap = 150, kMostLabel = 360;  // pixels

class WhyDrawing {
 public:
  WhyDrawing(const engine::ModelFacts& model, const engine::Why& why, format::Font& font)
      : model_(model), why_(why), font_(font), count_(std::min(why.edges.size(), kMostRows)) {
    for (std::size_t i = 0; i < count_; ++i) {
      label_ = std::max(label_, std::min(font.width(name_of(why.edges[i]), kName), double{kMostLabel}));
      weight_ = std::max(weight_, finite(why.edges[i].weight));
      effect_ = std::max(effect_, std::abs(finite(effect_of(why.edges[i]))));
    }
  }

  Picture draw() {
    const std::int64_t top =
        add_header(picture_, fmt::format("Where “{}” looks, and what depends on it", label_text(why_.row.label, true)),
                   lines()) +
        72;
    add_titles(top);
    for (std::size_t i = 0; i < count_; ++i) add_edge(why_.edges[i], top + static_cast<std::int64_t>(i) * kRow);
    picture_.width = effects_at() + kPanel + kPanelGap + kMargin;
    end_picture(picture_, font_, {std::string(engine::kCaveat)}, top + static_cast<std::int64_t>(count_) * kRow + 36);
    return std::move(picture_);
  }

 private:
  static constexpr format::TextStyle kName = {kTextSize};

  static double finite(double value) { return std::isfinite(value) ? value : 0; }
  double effect_of(const engine::WhyEdge& edge) const { return edge.effects[why_.ranked_by]; }
  std::int64_t weights_at() const { return kMargin + static_cast<std::int64_t>(label_) + 24; }
  std::int64_t effects_at() const { return weights_at() + kPanel + kPanelGap; }

  std::string name_of(const engine::WhyEdge& edge) const {
    const std::string word = item_name(why_, edge.item, true), map = edge_map(edge);
    return map.empty() ? word : fmt::format("{} {}", map, word);
  }

  std::vector<std::string> lines() const {
    std::vector<std::string> all = {fmt::format("{}: knocked out: the edges from “{}”, {} of {} shown",
                                                displayable(model_.name, true), label_text(why_.row.label, true),
                                                count_, why_.edges.size())};
    all.push_back("Effect: change of " + measure_text(why_.measures[why_.ranked_by], true));
    all.push_back(fmt::format("Spearman’s rank correlation of weight and size of effect, over all edges: {}",
                              std::isnan(why_.correlation.weight) ? std::string("not defined")
                                                                  : fmt::format("{:.2f}", why_.correlation.weight)));
    if (!why_.complete) all.push_back(stopped_note("knock-outs"));
    return all;
  }

  void add_titles(std::int64_t top) {
    const double y = static_cast<double>(top) - 20;
    picture_.labels.push_back({"weight", static_cast<double>(weights_at()), y, {kTextSize, true}, colours().ink});
    picture_.labels.push_back({"effect", static_cast<double>(effects_at()), y, {kTextSize, true}, colours().ink});
  }

  void add_edge(const engine::WhyEdge& edge, std::int64_t y) {
    const double base = static_cast<double>(y) + kBar - 2;
    const format::Rgb ink = why_.items[edge.item].special ? colours().soft : colours().ink;
    picture_.labels.push_back({fit(font_, name_of(edge), kName, kMostLabel), static_cast<double>(weights_at()) - 24,
                               base, kName, ink, Label::Anchor::end});
    add_bar(weights_at(), y, edge.weight / weight_, known_number(edge.weight, fmt::format("{:.4f}", edge.weight)),
            colours().soft);
    add_bar(effects_at(), y, std::abs(effect_of(edge)) / effect_,
            effect_text(effect_of(edge), why_.measures[why_.ranked_by]), colours().gaze);
  }

  void add_bar(std::int64_t x, std::int64_t y, double share, const std::string& number, format::Rgb colour) {
    const auto length = static_cast<std::int64_t>(std::lround(finite(share) * kPanel));
    picture_.boxes.push_back({x, y, std::max<std::int64_t>(length, 2), kBar, colour});
    picture_.labels.push_back({number,
                               static_cast<double>(x + std::max<std::int64_t>(length, 2)) + 12,
                               static_cast<double>(y) + kBar - 3,
                               {kSmallSize},
                               colours().soft});
  }

  const engine::ModelFacts& model_;
  const engine::Why& why_;
  format::Font& font_;
  std::size_t count_;
  double label_ = 0, weight_ = 0, effect_ = 0;  // the widest, the largest
  Picture picture_;
};

}  // namespace

Picture draw_why(const engine::ModelFacts& model, const engine::Why& why, format::Font& font) {
  return WhyDrawing(model, why, font).draw();
}

}  // namespace sightline::cli
