#include "cli/heads_picture.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "cli/display_text.h"
#include "cli/heads_view.h"
#include "cli/picture_parts.h"
#include "src/engine/look.h"

namespace sightline::cli {
namespace {

using format::Label;
using format::Picture;
using format::Theme;

constexpr std::int64_t kCellWidth = 260, kCellHeight = 108, kGap = 4;
constexpr double kInside = 12;  // from a cell's edge to its text

class RolesDrawing {
 public:
  RolesDrawing(const engine::HeadRoles& roles, std::string model, format::Font& font)
      : roles_(roles), model_(std::move(model)), font_(font) {}

  Picture draw() {
    const analysis::HeadScores& scores = roles_.scores;
    std::vector<std::string> lines = {fmt::format("{}: {} layers × {} heads", model_, scores.layers, scores.heads),
                                      halves_note(roles_)};
    if (!scores.complete) lines.push_back(texts_note(roles_));
    const std::int64_t header = add_header(picture_, "Roles of heads", lines);
    left_ = kMargin + 72;
    top_ = header + 56;
    picture_.width = left_ + scores.heads * kCellWidth + kMargin;
    for (std::int64_t head = 0; head < scores.heads; ++head) {
      add_number(head + 1, static_cast<double>(left_ + head * kCellWidth) + kCellWidth / 2.0,
                 static_cast<double>(top_) - 14, Label::Anchor::middle);
    }
    for (std::int64_t layer = 0; layer < scores.layers; ++layer) {
      add_number(layer + 1, static_cast<double>(left_) - 14, y_of(layer) + kCellHeight / 2.0 + 8, Label::Anchor::end);
      for (std::int64_t head = 0; head < scores.heads; ++head) add_head(layer, head);
    }
    add_foot(top_ + scores.layers * kCellHeight + 40);
    return std::move(picture_);
  }

 private:
  double y_of(std::int64_t layer) const { return static_cast<double>(top_ + layer * kCellHeight); }

  void add_label(const std::string& text, double x, double y, const format::TextStyle& style, format::Rgb colour,
                 Label::Anchor anchor = Label::Anchor::start) {
    picture_.labels.push_back({text, x, y, style, colour, anchor});
  }
  void add_number(std::int64_t number, double x, double y, Label::Anchor anchor) {
    add_label(std::to_string(number), x, y, {kSmallSize}, colours().soft, anchor);
  }

  void add_head(std::int64_t layer, std::int64_t head) {
    const auto map = static_cast<std::size_t>(layer * roles_.scores.heads + head);
    const std::optional<std::size_t>& role = roles_.choice.of_map[map];
    const analysis::Tally tally = role ? roles_.scores.reported(*role, map) : analysis::Tally();
    const format::Rgb paper = role ? format::weight_colour(tally.score(), Theme::light) : colours().paper;
    const std::int64_t x = left_ + head * kCellWidth, y = top_ + layer * kCellHeight;
    picture_.boxes.push_back({x, y, kCellWidth - kGap, kCellHeight - kGap, role ? paper : colours().line});
    if (!role) {
      picture_.boxes.push_back({x + 2, y + 2, kCellWidth - kGap - 4, kCellHeight - kGap - 4, paper});
      return;
    }
    const analysis::Role& named = roles_.scores.roles[*role];
    const format::Rgb ink = format::ink_on(paper);
    const auto inside = static_cast<double>(x) + kInside, line = static_cast<double>(y);
    add_label(fitted(named.name, true), inside, line + 32, {kSmallSize, true}, ink);
    add_label(fitted(named.from_to, false), inside, line + 60, {kSmallSize}, ink);
    add_label(fmt::format("{:.2f} / {:.2f}", tally.score(), tally.baseline()), inside, line + 90, {kSmallSize}, ink);
  }

  std::string fitted(const std::string& text, bool bold) {
    return fit(font_, displayable(text, true), {kSmallSize, bold}, kCellWidth - kGap - 2 * kInside);
  }

  void add_foot(std::int64_t y) {
    add_legend(picture_, {{0, "0"}, {0.25, "0.25"}, {0.5, "0.5"}, {0.75, "0.75"}, {1, "1"}},
               "score; in a cell: score / baseline; empty: none found", y);
    end_picture(picture_, font_, {std::string(engine::kCaveat), kRoleCaveat}, y + kLegendStep);
  }

  const engine::HeadRoles& roles_;
  std::string model_;
  format::Font& font_;
  std::int64_t left_ = 0, top_ = 0;
  Picture picture_;
};

}  // namespace

Picture draw_roles(const engine::HeadRoles& roles, const std::string& model, format::Font& font) {
  return RolesDrawing(roles, model, font).draw();
}

}  // namespace sightline::cli
