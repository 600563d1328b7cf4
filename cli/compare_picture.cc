#include "cli/compare_picture.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "cli/compare_text.h"
#include "cli/display_text.h"
#include "cli/picture_parts.h"
#include "cli/view.h"

namespace sightline::cli {
namespace {

using format::Label;
using format::Picture;

constexpr std::int64_t kCell = 64, kGap = 2, kBetween = 22;  // pixels; the last between the strips of two heads
constexpr double kReach = 300;                               // longest label
constexpr int kMostTitle = 90;                               // columns of a text in the header
constexpr Scale kScale{Scale::kShortKeys};

class CompareDrawing {
 public:
  CompareDrawing(const engine::TextPair& pair, const engine::Comparison& comparison, std::size_t top,
                 format::Font& font)
      : pair_(pair), comparison_(comparison), font_(font) {
    const auto& shown = comparison.shown();
    for (std::size_t i = 0; i < std::min(top, shown.size()); ++i) {
      contrasts_.push_back(&shown[i]);
      rows_.push_back(engine::read_rows(pair, shown[i].item, shown[i].map));
    }
    choose_items();
  }

  Picture draw() {
    const std::int64_t header = add_header(picture_, displayable(title_of(pair_, comparison_), true), lines());
    double names = 0, words = 0;
    for (std::size_t row = 0; row < rows_.size(); ++row)
      names =
          std::max({names, font_.width(name_of(row), {kTextSize, true}), font_.width(measure_of(row), {kSmallSize})});
    for (const std::size_t item : items_) words = std::max(words, font_.width(word(item), {kTextSize}));
    left_ = kMargin + static_cast<std::int64_t>(names) + 96;
    std::int64_t y = header + static_cast<std::int64_t>(0.72 * words) + 48;
    add_words(y);
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      add_strips(row, y);
      y += 2 * kCell + kBetween;
    }
    picture_.width =
        left_ + static_cast<std::int64_t>(items_.size()) * kCell + static_cast<std::int64_t>(0.72 * words) + kMargin;
    add_footer(picture_, font_, kScale, y + 12);
    return std::move(picture_);
  }

 private:
  // Words that weigh most in any of the rows.
  void choose_items() {
    engine::RowPair most;
    most.a.assign(pair_.items().size() + 1, 0);
    most.b = most.a;
    for (const engine::RowPair& row : rows_) {
      for (std::size_t i = 0; i < row.a.size(); ++i) most.a[i] = std::max({most.a[i], row.a[i], row.b[i]});
    }
    items_ = listed_items(most, kMostDrawnWords);
    left_out_ = listed_items(most, most.a.size()).size() - items_.size();
  }

  std::vector<std::string> lines() const {
    const auto text = [](const char* name, const std::string& of) {
      return fmt::format("{}: {}", name, fit_columns(displayable(of, true), kMostTitle, true));
    };
    std::vector<std::string> all = {displayable(order_of(pair_, comparison_), true), text("A", pair_.a().text()),
                                    text("B", pair_.b().text()), displayable(differences_of(pair_), true)};
    if (comparison_.unmoved) {
      all.push_back("Its row cannot see the difference and is identical in both: these are rows that can");
    }
    all.emplace_back(comparison_.by != engine::RankBy::shift
                         ? "JS: Jensen-Shannon divergence of the two rows in nats, from 0 to ln 2 = 0.693"
                     : comparison_.named.empty()
                         ? "shift: what the word that loses most and the one that gains most lose and gain together"
                         : "shift: how far the words that were named moved against one another");
    if (std::ranges::any_of(contrasts_, [](const engine::RowContrast* row) { return row->flip.has_value(); })) {
      all.emplace_back(
          comparison_.named.empty()
              ? "flip: of the word that loses most and the one that gains most, that leads in A and this in B"
              : "flip: of the words that were named, one leads in A and another in B");
    }
    if (std::ranges::any_of(items_, [this](std::size_t item) { return !pair_.items()[item].paired(); })) {
      all.emplace_back("grey: the text does not have the word");
    }
    if (!comparison_.complete) all.push_back(stopped_note("rows"));
    if (left_out_ > 0) all.push_back(fmt::format("{} more words weigh less in all of these rows", left_out_));
    return all;
  }

  std::string word(std::size_t item) const {
    return fit(font_, label_text(pair_.label(item), true), {kTextSize}, kReach);
  }

  std::string name_of(std::size_t row) const {
    const std::string map = engine::map_name(contrasts_[row]->map);
    if (comparison_.item && !comparison_.unmoved) return map;
    return fit(font_, label_text(pair_.label(contrasts_[row]->item), true), {kTextSize, true}, kReach) + "  " + map;
  }

  std::string measure_of(std::size_t row) const {
    const engine::RowContrast& contrast = *contrasts_[row];
    const bool by_shift = comparison_.by == engine::RankBy::shift;
    const double measure = by_shift ? contrast.shift : contrast.divergence;
    return fmt::format("{} {}{}", by_shift ? "shift" : "JS", known_number(measure, fmt::format("{:.3f}", measure)),
                       contrast.flip ? " flip" : "");
  }

  void add_words(std::int64_t y) {
    for (std::size_t i = 0; i < items_.size(); ++i) {
      picture_.labels.push_back({word(items_[i]),
                                 middle(i) + 0.3 * kTextSize,
                                 static_cast<double>(y) - 14,
                                 {kTextSize, false, 45},
                                 pair_.is_special(items_[i]) ? colours().soft : colours().ink});
    }
  }

  void add_strips(std::size_t row, std::int64_t y) {
    const engine::RowContrast& contrast = *contrasts_[row];
    picture_.labels.push_back({name_of(row), kMargin, static_cast<double>(y) + 42, {kTextSize, true}, colours().ink});
    picture_.labels.push_back({measure_of(row),
                               kMargin,
                               static_cast<double>(y) + 84,
                               {kSmallSize},
                               contrast.flip ? colours().gaze : colours().soft});
    add_strip("A", rows_[row].a, y);
    add_strip("B", rows_[row].b, y + kCell);
  }

  void add_strip(const char* name, const std::vector<double>& weights, std::int64_t y) {
    picture_.labels.push_back({name,
                               static_cast<double>(left_) - 14,
                               static_cast<double>(y) + 42,
                               {kTextSize},
                               colours().soft,
                               Label::Anchor::end});
    std::vector<float> shown;
    std::vector<bool> missing;  // the text does not have the word
    for (const std::size_t item : items_) {
      shown.push_back(static_cast<float>(weights[item]));
      missing.push_back((name[0] == 'A' ? pair_.items()[item].a : pair_.items()[item].b) < 0);
    }
    Weights strip{1, std::ssize(shown),
                  [shown](std::int64_t, std::int64_t, std::span<float> out) { std::ranges::copy(shown, out.begin()); }};
    strip.cut = [missing](std::int64_t, std::int64_t col) { return missing[static_cast<std::size_t>(col)]; };
    picture_.cells.push_back(colour_cells(strip, kScale, left_, y, kCell, kGap));
    for (std::size_t i = 0; i < shown.size(); ++i) {
      add_weight_number(picture_, kScale, shown[i], middle(i), static_cast<double>(y) + (kCell - kGap) / 2.0);
    }
  }

  double middle(std::size_t item) const {
    return static_cast<double>(left_ + static_cast<std::int64_t>(item) * kCell) + (kCell - kGap) / 2.0;
  }

  const engine::TextPair& pair_;
  const engine::Comparison& comparison_;
  format::Font& font_;
  std::vector<const engine::RowContrast*> contrasts_;
  std::vector<engine::RowPair> rows_;
  std::vector<std::size_t> items_;
  std::size_t left_out_ = 0;
  std::int64_t left_ = 0;
  Picture picture_;
};

}  // namespace

Picture draw_comparison(const engine::TextPair& pair, const engine::Comparison& comparison, std::size_t top,
                        format::Font& font) {
  return CompareDrawing(pair, comparison, top, font).draw();
}

}  // namespace sightline::cli
