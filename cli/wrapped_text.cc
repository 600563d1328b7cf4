#include "cli/wrapped_text.h"

#include <algorithm>

#include "cli/display_text.h"
#include "src/tokenizer/grapheme.h"
#include "src/tokenizer/unicode.h"

namespace sightline::cli {
namespace {

int width_of(const ScreenLine& line) {
  int width = 0;
  for (const Stretch& stretch : line) width += display_width(stretch.text);
  return width;
}

bool is_marked(std::string_view cluster) { return cluster.find_first_of("\n\r\t") != std::string_view::npos; }

}  // namespace

WrappedText::WrappedText(int width, bool utf8) : width_(std::max(1, width)), utf8_(utf8), lines_(1) {}

void WrappedText::add(std::int64_t item, std::string_view text) {
  if (!tokenizer::is_utf8(text)) {  // no clusters to be found: bytes as escapes
    for (const char& byte : text) add_cluster(item, {&byte, 1});
    return;
  }
  const tokenizer::NormalizedString read(text);
  const tokenizer::CharSpan chars = read.chars();
  for (std::size_t at = 0; at < chars.size();) {
    const std::size_t end = tokenizer::grapheme_end(chars, at);
    add_cluster(item, text.substr(chars[at].begin, chars[end - 1].end - chars[at].begin));
    at = end;
  }
}

void WrappedText::add_cluster(std::int64_t item, std::string_view cluster) {
  const std::string shown = is_marked(cluster) ? with_marks(cluster, utf8_) : displayable(cluster, utf8_);
  const int columns = display_width(shown);
  if (cluster == " " && used_ + columns > width_) {  // a line's end stands for it
    break_ = here();
    next_line();
    return;
  }
  // What is wider than a line goes on it in parts.
  for (std::string_view rest = shown; !rest.empty();) {
    std::string part = columns <= width_ ? std::string(rest) : take_columns(rest, width_);
    if (columns <= width_ || part.empty()) rest = {};
    if (part.empty()) part = utf8_ ? "…" : "~";
    place(item, part, display_width(part));
  }
  if (cluster.find('\n') != std::string_view::npos) {
    break_ = {};
    lines_.emplace_back();
    used_ = 0;
  } else if (cluster == " " || (columns == 2 && utf8_)) {
    break_ = here();
  }
}

WrappedText::Break WrappedText::here() const {
  const ScreenLine& line = lines_.back();
  return line.empty() ? Break{} : Break{line.size() - 1, line.back().text.size()};
}

void WrappedText::place(std::int64_t item, std::string_view shown, int columns) {
  if (used_ + columns > width_ && columns == 2) break_ = here();  // before an ideograph
  while (used_ + columns > width_ && used_ > 0) next_line();
  ScreenLine& line = lines_.back();
  if (line.empty() || line.back().item != item) line.push_back({item, {}});
  line.back().text += shown;
  used_ += columns;
}

// The word that is being written moves to the next line, unless it fills one.
void WrappedText::next_line() {
  ScreenLine& line = lines_.back();
  ScreenLine moved;
  if (break_.any()) {
    moved.assign(line.begin() + static_cast<std::ptrdiff_t>(break_.stretches), line.end());
    line.resize(break_.stretches + 1);
    line.back().text.resize(break_.bytes);
    moved.front().text.erase(0, break_.bytes);
    if (moved.front().text.empty()) moved.erase(moved.begin());
  }
  break_ = {};
  used_ = width_of(moved);
  lines_.push_back(std::move(moved));
}

std::int64_t WrappedText::line_of(std::int64_t item) const {
  const auto begins_after = [](std::int64_t wanted, const ScreenLine& line) {
    return line.empty() ? false : wanted < line.front().item;
  };
  auto after = lines_.begin();
  for (auto low = lines_.begin(), high = lines_.end(); low < high;) {  // empty lines have no item to compare
    auto middle = low + (high - low) / 2;
    auto full = middle;
    while (full < high && full->empty()) ++full;
    if (full < high && !begins_after(item, *full)) {
      low = after = full + 1;
    } else {
      high = middle;
    }
  }
  return std::max<std::int64_t>(0, after - lines_.begin() - 1);
}

}  // namespace sightline::cli
