#include "cli/answer_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "cli/display_text.h"
#include "cli/view.h"
#include "src/format/colour.h"

namespace sightline::cli {
namespace {

constexpr int kLeastName = 5, kMostName = 12;  // columns of a segment, a space before it counted
constexpr int kAside = 7;
constexpr int kLeastLabel = 16, kMostLabel = 40;
constexpr std::size_t kOthers = SIZE_MAX;

// Shares of what is neither on special tokens nor on the first one.
struct Shares {
  std::vector<double> of_segment;
  double aside = 0;
};

Shares shares_of(const std::vector<double>& mass) {
  Shares shares{mass, mass[engine::kSegmentSpecial] + mass[engine::kSegmentFirst]};
  shares.of_segment[engine::kSegmentSpecial] = shares.of_segment[engine::kSegmentFirst] = 0;
  const double rest = std::accumulate(shares.of_segment.begin(), shares.of_segment.end(), 0.0);
  for (double& share : shares.of_segment) share = rest > 0 ? share / rest : 0;
  return shares;
}

class AnswerTable {
 public:
  AnswerTable(Painter& painter, std::span<const std::string> names, std::span<const engine::Answer> answers)
      : painter_(painter), names_(names), answers_(answers) {
    label_ = std::clamp(painter.terminal().width / 3, kLeastLabel, kMostLabel);
    choose_columns();
  }

  void add() {
    painter_.spaces(label_);
    for (const std::size_t column : columns_) {
      painter_.soft(" ").soft(pad_left(title(column), width(column) - 1, utf8()));
    }
    painter_.soft(pad_left("aside", kAside, utf8())).newline();
    for (const engine::Answer& answer : answers_) {
      add_row(answer.name, answer.whole, true);
      if (answer.sentences.size() < 2) continue;
      for (const engine::SegmentMeans& sentence : answer.sentences) add_row("  " + line_of(sentence), sentence, false);
    }
  }

 private:
  bool utf8() const { return painter_.terminal().utf8; }
  std::string title(std::size_t column) const {
    return column == kOthers ? "others" : displayable(names_[column], utf8());
  }
  int width(std::size_t column) const { return std::clamp(display_width(title(column)) + 1, kLeastName, kMostName); }

  std::string line_of(const engine::SegmentMeans& sentence) const {
    std::string line = sentence.text;
    while (!line.empty() && (line.back() == ' ' || line.back() == '\n')) line.pop_back();
    return displayable(line, utf8());
  }

  // All segments that got anything, in their order, for which sentences are cut shorter; or the heaviest that fit and
  // one for the others.
  void choose_columns() {
    std::vector<double> most(names_.size());
    for (const engine::Answer& answer : answers_) {
      const Shares shares = shares_of(answer.whole.segment_mass);
      for (std::size_t s = 0; s < most.size(); ++s) most[s] = std::max(most[s], shares.of_segment[s]);
    }
    for (std::size_t s = 0; s < most.size(); ++s) {
      if (most[s] > 0) columns_.push_back(s);
    }
    const auto room = [&] {
      int taken = label_ + kAside;
      for (const std::size_t column : columns_) taken += width(column);
      return painter_.terminal().width - taken;
    };
    label_ = std::clamp(label_ + std::min(room(), 0), kLeastLabel, label_);
    if (room() >= 0) return;
    columns_.push_back(kOthers);
    while (room() < 0 && columns_.size() > 2) {
      columns_.erase(std::ranges::min_element(columns_.begin(), columns_.end() - 1, {},
                                              [&](std::size_t column) { return most[column]; }));
    }
  }

  double share(const Shares& shares, std::size_t column) const {
    if (column != kOthers) return shares.of_segment[column];
    double rest = 1;
    for (const std::size_t shown : columns_) rest -= shown == kOthers ? 0 : shares.of_segment[shown];
    return std::max(rest, 0.0);
  }

  void add_row(const std::string& label, const engine::SegmentMeans& means, bool whole) {
    const Shares shares = shares_of(means.segment_mass);
    painter_.put(whole ? Ink::bold : Ink::plain, pad_right(displayable(label, utf8()), label_, utf8()));
    for (const std::size_t column : columns_) {
      const double part = share(shares, column);
      painter_.text(" ").tinted(format::ease(part), percent(part, width(column) - 1));
    }
    painter_.soft(percent(shares.aside, kAside)).newline();
  }

  Painter& painter_;
  std::span<const std::string> names_;
  std::span<const engine::Answer> answers_;
  int label_ = 0;
  std::vector<std::size_t> columns_;
};

std::string which_maps(const Options& options) {
  if (options.layer && options.head) return fmt::format("L{}H{}", *options.layer, *options.head);
  if (options.layer) return fmt::format("the mean of layer {}", *options.layer);
  if (options.head) return fmt::format("the mean of head {} of all layers", *options.head);
  return "the mean of all layers and heads";
}

}  // namespace

void add_answer_table(Painter& painter, std::span<const std::string> names, std::span<const engine::Answer> answers,
                      const Options& options) {
  std::vector<engine::Answer> said;
  for (const engine::Answer& answer : answers) {
    if (!answer.whole.segment_mass.empty()) said.push_back(answer);
  }
  if (said.empty()) return;
  painter.paragraph({{Ink::accent, "Where the answer looked"},
                     {Ink::plain, fmt::format(", per cent: {}. Special tokens and the first token are set aside: "
                                              "shares of the rest",
                                              which_maps(options))}});
  AnswerTable(painter, names, said).add();
}

}  // namespace sightline::cli
