#include "src/format/gap.h"

#include <unicode/utf8.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>

#include "sightline/error.h"
#include "src/format/file.h"
#include "src/format/json.h"
#include "src/format/text_lines.h"

namespace sightline::format {
namespace {

constexpr std::size_t kMaxBytes = std::size_t{64} << 20, kMaxText = std::size_t{1} << 20;
constexpr std::string_view kHeader =
    "ID\tText\tPronoun\tPronoun-offset\tA\tA-offset\tA-coref\tB\tB-offset\tB-coref\tURL";
enum Column : std::uint8_t { kText = 1, kPronoun = 2, kA = 4, kIsA = 6, kB = 7, kIsB = 9, kColumns = 11 };

// Decimal digits and nothing else; an offset beyond any text is none.
std::optional<std::int32_t> offset_of(std::string_view digits) {
  std::int32_t offset = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, offset);
  return error == std::errc{} && stop == end && offset >= 0 ? std::optional(offset) : std::nullopt;
}

std::string lower(std::string_view ascii) {
  std::string text(ascii);
  std::ranges::transform(text, text.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; });
  return text;
}

// A row's cells, and what they say.
class GapRow {
 public:
  explicit GapRow(const TextLines& lines) : lines_(lines), cells_(lines.cells(kColumns)) {}

  GapQuestion question() const {
    if (cells_[kText].size() > kMaxText) {
      lines_.refuse("the text has more than the " + std::to_string(kMaxText) + " bytes that it may have");
    }
    return {std::string(cells_[kText]), place(kPronoun), place(kA), place(kB), truth(kIsA), truth(kIsB)};
  }

 private:
  // Where the text of that column stands; the next column is its offset.
  TextPlace place(std::size_t column) const {
    const std::string_view text = cells_[kText], name = cells_[column], digits = cells_[column + 1];
    const auto offset = offset_of(digits);
    if (!offset) lines_.refuse("an offset is " + quote(digits) + ", not a number of characters");
    const auto size = static_cast<std::int32_t>(text.size());
    std::int32_t begin = 0;
    U8_FWD_N(text.data(), begin, size, *offset);
    const auto at = static_cast<std::size_t>(begin);
    if (name.empty() || text.substr(at, name.size()) != name) {
      lines_.refuse(quote(name) + " does not stand at character " + std::to_string(*offset) + " of the text");
    }
    return {at, at + name.size()};
  }

  // Spreadsheets write "True".
  bool truth(std::size_t column) const {
    const std::string word = lower(cells_[column]);
    if (word != "true" && word != "false") {
      lines_.refuse("a coref column holds " + quote(cells_[column]) + ", not TRUE or FALSE");
    }
    return word == "true";
  }

  const TextLines& lines_;
  std::vector<std::string_view> cells_;
};

}  // namespace

std::vector<GapQuestion> parse_gap(std::string_view text, std::string_view name) {
  TextLines lines(text, name);
  if (!lines.next() || lines.line() != kHeader) {
    lines.refuse_line(1, "these are not the columns of GAP, which begin with ID, Text, Pronoun, Pronoun-offset");
  }
  std::vector<GapQuestion> questions;
  while (lines.next()) {
    if (!lines.line().empty()) questions.push_back(GapRow(lines).question());
  }
  if (questions.empty()) throw BadFile(std::string(name) + ": no row in it");
  return questions;
}

std::vector<GapQuestion> read_gap(const std::filesystem::path& path) {
  return parse_gap(read_file(path, kMaxBytes), path.string());
}

}  // namespace sightline::format
