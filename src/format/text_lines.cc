#include "src/format/text_lines.h"

#include <unicode/utf8.h>

#include <algorithm>

#include "sightline/error.h"

namespace sightline::format {
namespace {

bool is_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    UChar32 c = 0;
    U8_NEXT(text.data(), at, text.size(), c);
    if (c < 0) return false;
  }
  return true;
}

}  // namespace

TextLines::TextLines(std::string_view text, std::string_view name) : rest_(text), name_(name) {
  if (rest_.starts_with("\xEF\xBB\xBF")) rest_.remove_prefix(3);
}

bool TextLines::next() {
  if (rest_.empty()) return false;
  ++number_;
  const std::size_t end = rest_.find('\n');
  line_ = rest_.substr(0, end);
  rest_.remove_prefix(end == rest_.npos ? rest_.size() : end + 1);
  if (line_.ends_with('\r')) line_.remove_suffix(1);
  if (!is_utf8(line_)) refuse("not UTF-8");
  return true;
}

void TextLines::refuse_line(std::size_t number, const std::string& what) const {
  throw BadFile(name_ + ": line " + std::to_string(number) + ": " + what);
}

std::vector<std::string_view> TextLines::cells(std::size_t columns) const {
  const auto count = static_cast<std::size_t>(std::ranges::count(line_, '\t')) + 1;
  if (count != columns) {
    refuse("there are " + std::to_string(columns) + " columns with a tab between any two, but this line has " +
           std::to_string(count));
  }
  std::vector<std::string_view> cells;
  for (std::size_t begin = 0; cells.size() < columns; begin += cells.back().size() + 1) {
    cells.push_back(line_.substr(begin, line_.find('\t', begin) - begin));
  }
  return cells;
}

}  // namespace sightline::format
