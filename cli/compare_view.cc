#include "cli/compare_view.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "cli/compare_text.h"
#include "cli/display_text.h"
#include "cli/view.h"

namespace sightline::cli {
namespace {

constexpr std::size_t kSideBySide = 3;  // rows shown whole
constexpr std::size_t kMostKeys = 24;   // words of such a row
constexpr std::size_t kMostFlips = 16;  // heads that a line names
constexpr int kWordLabel = 12, kKeyLabel = 14, kWidestBar = 18;
constexpr int kCellNumbers = 13;  // " 0.677 0.281"
constexpr int kRowNumbers = 18;   // columns of a row's divergence, shift and mark

std::string number(double value, int width) {
  return std::isnan(value) ? fmt::format("{:>{}}", "??", width) : fmt::format("{:>{}.3f}", value, width);
}

class CompareView {
 public:
  CompareView(Painter& painter, const engine::TextPair& pair, const engine::Comparison& comparison,
              const Options& options)
      : painter_(painter),
        pair_(pair),
        comparison_(comparison),
        shown_(comparison.shown()),
        of_one_item_(comparison.item && !comparison.unmoved),
        top_(std::min(static_cast<std::size_t>(options.top.value_or(kComparedRows)), shown_.size())) {}

  void add() {
    painter_.paragraph(
        {{Ink::accent, shown(title_of(pair_, comparison_))}, {Ink::plain, shown(", " + order_of(pair_, comparison_))}});
    add_text("A", pair_.a().text());
    add_text("B", pair_.b().text());
    painter_.note(shown(differences_of(pair_)));
    if (!pair_.first_difference()) return;
    painter_.newline();
    if (const std::string blindness = blindness_of(pair_, comparison_); !blindness.empty()) {
      painter_.paragraph({{Ink::plain, shown(blindness)}}).newline();
    }
    if (shown_.empty()) return add_incomplete();
    if (!comparison_.words.empty()) add_words();
    add_rows();
    add_flips();
    const std::size_t whole = std::min(top_, kSideBySide);
    for (std::size_t i = 0; i < whole; ++i) add_side_by_side(shown_[i]);
    add_notes();
  }

 private:
  bool utf8() const { return painter_.terminal().utf8; }
  std::string shown(const std::string& sentence) const { return displayable(sentence, utf8()); }
  std::string label(std::size_t item) const { return label_text(pair_.label(item), utf8()); }
  std::string name(std::size_t item) const { return label_text(pair_.name(item), utf8()); }

  // The name in so many columns; where the word is cut, its number is not.
  std::string fitted_name(std::size_t item, int width) const {
    const std::string full = name(item), plain = label(item);
    if (display_width(full) <= width || !full.starts_with(plain)) return fit_columns(full, width, utf8());
    const std::string of_several = full.substr(plain.size());
    const int left = width - static_cast<int>(of_several.size());
    return left < 2 ? fit_columns(full, width, utf8()) : fit_columns(plain, left, utf8()) + of_several;
  }

  void add_text(const char* which, const std::string& text) {
    painter_.bold(which).text("  ");
    painter_.text(fit_columns(displayable(text, utf8()), painter_.terminal().width - 3, utf8())).newline();
  }

  void add_words() {
    painter_.soft(
        fmt::format("{}{:>7}  {:<7}{:>13}", pad_right("word", kKeyLabel, utf8()), "JS", "in head", "mean of all"));
    painter_.newline();
    for (std::size_t i = 0; i < std::min(top_, comparison_.words.size()); ++i) {
      const engine::ItemContrast& word = comparison_.words[i];
      painter_.text(pad_right(fitted_name(word.item, kKeyLabel), kKeyLabel, utf8()));
      painter_.tinted(share_of_most(word.largest), number(word.largest, 7));
      painter_.text(fmt::format("  {:<7}", engine::map_name(word.map)));
      painter_.text(number(word.mean, 13)).newline();
    }
    painter_.newline();
  }

  void add_rows() {
    choose_label_width();
    const std::string words = of_one_item_ ? "" : pad_right("row of", kWordLabel + 1, utf8());
    const std::string changes =
        comparison_.named.empty()
            ? (painter_.terminal().width < indent() + 30 ? "most lost, gained" : "loses and gains most, A and B")
            : "weights, A and B";
    painter_.soft(fmt::format("{:<7}{}{:>6}{:>7}    {}", "head", words, "JS", "shift", changes)).newline();
    for (std::size_t i = 0; i < top_; ++i) add_row(shown_[i]);
    if (of_one_item_ && top_ < shown_.size()) {
      painter_.note(fmt::format("{} more heads: --top {} lists all", shown_.size() - top_, shown_.size()));
    }
  }

  int indent() const { return 7 + (of_one_item_ ? 0 : kWordLabel + 1) + kRowNumbers; }

  // Two words a line where the labels leave room.
  void choose_label_width() {
    int longest = 1;
    for (std::size_t i = 0; i < top_; ++i) {
      for (const engine::Change& change : shown_[i].changes)
        longest = std::max(longest, display_width(name(change.item)));
    }
    const int room = std::max(0, painter_.terminal().width - indent());
    change_label_ = std::min(longest, std::max(4, room / 2 - kCellNumbers - 1));
  }

  void add_row(const engine::RowContrast& row) {
    painter_.bold(fmt::format("{:<7}", engine::map_name(row.map)));
    if (!of_one_item_) painter_.text(pad_right(fitted_name(row.item, kWordLabel), kWordLabel, utf8())).text(" ");
    painter_.tinted(share_of_most(row.divergence), number(row.divergence, 6)).text(number(row.shift, 7)).text(" ");
    painter_.accent(row.flip ? painter_.glyph("⇄", "x") : " ").spaces(2);
    int used = indent();
    for (const engine::Change& change : row.changes) {
      const int columns = change_label_ + kCellNumbers + 1;
      if (used > indent() && used + columns > painter_.terminal().width + 1) {
        painter_.newline().spaces(indent());
        used = indent();
      }
      used += columns;
      add_change(change);
    }
    painter_.newline();
  }

  void add_change(const engine::Change& change) {
    painter_.text(pad_left(fitted_name(change.item, change_label_), change_label_, utf8()));
    add_weight(change.a, has(change.item).a, 6);
    add_weight(change.b, has(change.item).b, 6);
    painter_.spaces(2);
  }

  struct Sides {
    bool a, b;
  };
  Sides has(std::size_t item) const { return {pair_.items()[item].a >= 0, pair_.items()[item].b >= 0}; }

  void add_weight(double weight, bool there, int width) {
    if (!there) {
      painter_.soft(fmt::format("{:>{}}", "-", width));
      return;
    }
    painter_.text(std::string(static_cast<std::size_t>(width - 5), ' '));
    painter_.tinted(format::ease(weight), number(weight, 5));
  }

  // The heads in which another word leads, over all that were compared.
  void add_flips() {
    if (comparison_.named.size() < 2) return;
    std::vector<engine::Flip> kinds;
    for (const engine::RowContrast& row : shown_) {
      if (row.flip &&
          std::ranges::none_of(kinds, [&](const auto& k) { return k.a == row.flip->a && k.b == row.flip->b; }))
        kinds.push_back(*row.flip);
    }
    for (const engine::Flip& kind : kinds) {
      std::string heads;
      std::size_t count = 0;
      for (const engine::RowContrast& row : shown_) {
        if (!row.flip || row.flip->a != kind.a || row.flip->b != kind.b) continue;
        if (++count <= kMostFlips) {
          heads += (count == 1 ? " " : ", ") + engine::map_name(row.map);
          if (!of_one_item_) heads += " (" + name(row.item) + ")";
        }
      }
      if (count > kMostFlips) heads += fmt::format(" and {} more", count - kMostFlips);
      painter_.paragraph(
          {{Ink::accent, std::string(painter_.glyph("⇄", "x"))},
           {Ink::plain, fmt::format(" \"{}\" leads in A, \"{}\" in B:{}", name(kind.a), name(kind.b), heads)}});
    }
    if (kinds.empty()) painter_.note("In no head does one of these words lead in A and another in B");
  }

  void add_side_by_side(const engine::RowContrast& contrast) {
    const engine::RowPair rows = engine::read_rows(pair_, contrast.item, contrast.map);
    const std::vector<std::size_t> items = listed_items(rows, kMostKeys);
    // Of a row that is shown whole the order says which word is meant.
    const bool whole = listed_items(rows, rows.a.size()).size() == items.size();
    const auto label_of = [&](std::size_t item) { return whole ? label(item) : fitted_name(item, kKeyLabel); };
    int width = 6;
    for (const std::size_t item : items) width = std::max(width, display_width(label_of(item)));
    key_label_ = std::min(width, kKeyLabel);
    bar_ = std::clamp((painter_.terminal().width - key_label_ - 25) / 2, 0, kWidestBar);
    painter_.newline().bold(engine::map_name(contrast.map));
    painter_.text(fmt::format(": where \"{}\" looks", name(contrast.item))).newline();
    const std::string column(static_cast<std::size_t>(bar_ + 1), ' ');
    painter_
        .soft(fmt::format("{} {:>6}{} {:>6}{} {:>7}", pad_left("", key_label_, utf8()), "A", column, "B", column,
                          "change"))
        .newline();
    for (const std::size_t item : items) {
      add_key(label_of(item), pair_.is_special(item), {item, rows.a[item], rows.b[item]}, has(item));
    }
    add_rest(rows, items);
    if (rows.a.back() > 0 || rows.b.back() > 0)
      add_key("(sink)", true, {0, rows.a.back(), rows.b.back()}, {true, true});
  }

  void add_key(const std::string& name, bool quiet, const engine::Change& change, const Sides& there) {
    const std::string padded = pad_left(name, key_label_, utf8());
    quiet ? painter_.soft(padded) : painter_.text(padded);
    painter_.text(" ");
    add_weight(change.a, there.a, 6);
    painter_.text(" ").soft(share_bar(change.a, bar_, painter_)).text(" ");
    add_weight(change.b, there.b, 6);
    painter_.text(" ").soft(share_bar(change.b, bar_, painter_));
    if (there.a && there.b)
      painter_.text(std::isnan(change.change())
                        ? "      ??"
                        : fmt::format(" {:>+7.3f}", std::round(change.change() * 1000) / 1000 + 0.0));
    painter_.newline();
  }

  void add_rest(const engine::RowPair& rows, const std::vector<std::size_t>& listed) {
    const std::size_t seen = listed_items(rows, rows.a.size()).size();
    if (seen == listed.size()) return;
    double a = std::accumulate(rows.a.begin(), rows.a.end() - 1, 0.0),
           b = std::accumulate(rows.b.begin(), rows.b.end() - 1, 0.0);
    for (const std::size_t item : listed) {
      a -= rows.a[item];
      b -= rows.b[item];
    }
    add_key(fmt::format("{} more", seen - listed.size()), true, {0, std::max(a, 0.0), std::max(b, 0.0)}, {true, true});
  }

  void add_notes() {
    painter_.newline();
    painter_.note(
        "JS: Jensen-Shannon divergence of the two rows, in nats: 0 is the same row, ln 2 = 0.693 one that shares no "
        "key");
    painter_.note(comparison_.named.empty()
                      ? fmt::format("shift: what the one loses and the other gains; {}: that leads in A, and this in B",
                                    painter_.glyph("⇄", "x"))
                      : "shift: how far these words moved against one another");
    Options words;
    words.pieces = pair_.pieces();
    for (const std::string& note : axis_notes(pair_.a(), pair_.axis_a(), words, std::nullopt)) painter_.note(note);
    if (!comparison_.item) painter_.note("--token WORD ranks the heads by the row of one word");
    add_incomplete();
  }

  void add_incomplete() {
    if (!comparison_.complete) painter_.note(stopped_note("rows"));
  }

  Painter& painter_;
  const engine::TextPair& pair_;
  const engine::Comparison& comparison_;
  const std::vector<engine::RowContrast>& shown_;
  bool of_one_item_;
  std::size_t top_;
  int change_label_ = 4, key_label_ = 6, bar_ = kWidestBar;
};

}  // namespace

void add_compare_view(Painter& painter, const engine::TextPair& pair, const engine::Comparison& comparison,
                      const Options& options) {
  CompareView(painter, pair, comparison, options).add();
}

}  // namespace sightline::cli
