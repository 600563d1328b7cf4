#include "src/template/text_operations.h"

#include <algorithm>
#include <string>

#include "src/tokenizer/unicode.h"

namespace sightline::jinja {
namespace {

using tokenizer::decode_char;
using Piece = std::pair<std::size_t, std::size_t>;  // bytes of a text

Value list_of_pieces(const Text& text, const std::vector<Piece>& pieces, Budget& budget) {
  budget.make(text.size() + pieces.size() * (sizeof(Value) + sizeof(Text)));
  budget.spend(pieces.size());
  std::vector<Value> items;
  for (const auto& [begin, end] : pieces) items.emplace_back(text.slice(begin, end));
  return Sequence(Sequence::Kind::list, std::move(items));
}

std::vector<Piece> cut_at(std::string_view text, std::string_view separator, std::size_t most) {
  std::vector<Piece> pieces;
  std::size_t at = 0;
  for (std::size_t found = text.find(separator); found != text.npos && pieces.size() < most;
       found = text.find(separator, at)) {
    pieces.emplace_back(at, found);
    at = found + separator.size();
  }
  pieces.emplace_back(at, text.size());
  return pieces;
}

std::vector<Piece> cut_at_from_right(std::string_view text, std::string_view separator, std::size_t most) {
  std::vector<Piece> pieces;
  std::size_t end = text.size();
  while (pieces.size() < most && end >= separator.size()) {
    const std::size_t found = text.rfind(separator, end - separator.size());
    if (found == text.npos) break;
    pieces.emplace_back(found + separator.size(), end);
    end = found;
  }
  pieces.emplace_back(0, end);
  std::reverse(pieces.begin(), pieces.end());
  return pieces;
}

std::size_t skip_word(std::string_view text, std::size_t at) {
  while (at < text.size()) {
    const auto c = decode_char(text, at);
    if (is_space(c.code)) break;
    at += c.length;
  }
  return at;
}

std::vector<Piece> words(std::string_view text, std::size_t most) {
  std::vector<Piece> pieces;
  std::size_t at = skip_space(text, 0);
  while (at < text.size() && pieces.size() < most) {
    const std::size_t end = skip_word(text, at);
    pieces.emplace_back(at, end);
    at = skip_space(text, end);
  }
  if (at < text.size()) pieces.emplace_back(at, text.size());  // with the white space at its end, as in Python
  return pieces;
}

std::vector<Piece> words_from_right(std::string_view text, std::size_t most) {
  std::vector<Piece> all = words(text, text.size());
  if (all.size() > most) {
    const std::size_t merged = all.size() - most;
    all[merged - 1].first = 0;
    all.erase(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(merged) - 1);
  }
  return all;
}

bool is_line_end(char32_t c) {
  return (c >= 0x0A && c <= 0x0D) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 || c == 0x2029;
}

struct Line {
  std::size_t begin, end, behind;  // its text is [begin, end), the next one begins at `behind`
};

std::vector<Line> lines_of(std::string_view text) {
  std::vector<Line> lines;
  std::size_t begin = 0;
  for (std::size_t at = 0; at < text.size();) {
    const auto c = decode_char(text, at);
    std::size_t behind = at + c.length;
    if (is_line_end(c.code)) {
      if (c.code == '\r' && behind < text.size() && text[behind] == '\n') ++behind;
      lines.push_back({begin, at, behind});
      begin = behind;
    }
    at = behind;
  }
  if (begin < text.size()) lines.push_back({begin, text.size(), text.size()});
  return lines;
}

}  // namespace

Text strip(const Text& text, std::optional<std::string_view> chars, Sides sides) {
  const std::string_view bytes = text.bytes();
  const std::u32string set = chars ? tokenizer::to_chars(*chars) : std::u32string();
  const auto goes = [&](char32_t c) { return chars ? set.find(c) != set.npos : is_space(c); };
  std::size_t begin = 0, end = bytes.size();
  while (sides != Sides::right && begin < end) {
    const auto c = decode_char(bytes, begin);
    if (!goes(c.code)) break;
    begin += c.length;
  }
  while (sides != Sides::left && end > begin) {
    const std::size_t last = previous_character(bytes, end);
    if (!goes(decode_char(bytes, last).code)) break;
    end = last;
  }
  return text.slice(begin, end);
}

Value split(const Text& text, std::optional<std::string_view> separator, std::int64_t most, bool from_right,
            Budget& budget) {
  if (separator && separator->empty()) fail("an empty separator");
  const std::size_t limit = most < 0 ? text.size() + 1 : static_cast<std::size_t>(most);
  budget.spend(text.size() / 16);
  if (!separator) {
    return list_of_pieces(text, from_right ? words_from_right(text.bytes(), limit) : words(text.bytes(), limit),
                          budget);
  }
  return list_of_pieces(
      text, from_right ? cut_at_from_right(text.bytes(), *separator, limit) : cut_at(text.bytes(), *separator, limit),
      budget);
}

Value split_lines(const Text& text, bool keep_ends, Budget& budget) {
  std::vector<Piece> pieces;
  for (const Line& line : lines_of(text.bytes())) pieces.emplace_back(line.begin, keep_ends ? line.behind : line.end);
  return list_of_pieces(text, pieces, budget);
}

Text replace(const Text& text, std::string_view old_part, const Text& new_part, std::int64_t most, Budget& budget) {
  const std::string_view bytes = text.bytes();
  TextBuilder out;
  std::size_t at = 0;
  const auto put_new = [&] {
    budget.spend();
    budget.check_text(out.size() + new_part.size());
    budget.make(new_part.size());
    out.append(new_part);
  };
  std::int64_t left = most < 0 ? INT64_MAX : most;
  for (; left > 0; --left) {
    const std::size_t found = bytes.find(old_part, at);
    if (found == bytes.npos) break;
    // An empty one stands before each character and at the end.
    const std::size_t step = old_part.empty() && found < bytes.size() ? decode_char(bytes, found).length : 0;
    out.append(text, at, found);
    put_new();
    out.append(text, found, found + step);
    at = found + old_part.size() + step;
    if (old_part.empty() && step == 0) break;
  }
  budget.make(text.size());
  out.append(text, at, text.size());
  return out.take();
}

Text join(const std::vector<Text>& parts, const Text& between, Budget& budget) {
  TextBuilder out;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    budget.check_text(out.size() + between.size() + parts[i].size());
    if (i > 0) out.append(between);
    out.append(parts[i]);
  }
  budget.make(out.size());
  return out.take();
}

Text indent(const Text& text, const Text& indention, bool first, bool blank, Budget& budget) {
  TextBuilder out;
  const auto lines = lines_of(text.bytes() + "\n");
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const Line& line = lines[i];
    if (i > 0) out.append("\n");
    if (i == 0 ? first : blank || line.begin < line.end) out.append(indention);
    budget.spend();
    budget.check_text(out.size() + line.end - line.begin);
    out.append(text, line.begin, line.end);
  }
  budget.make(out.size());
  return out.take();
}

Text reversed(const Text& text) {
  TextBuilder out;
  for (std::size_t end = text.size(); end > 0;) {
    const std::size_t begin = previous_character(text.bytes(), end);
    out.append(text, begin, end);
    end = begin;
  }
  return out.take();
}

Text pad(const Text& text, std::int64_t width, const Text& fill, std::optional<Sides> filled, Budget& budget) {
  const auto count = static_cast<std::int64_t>(count_characters(text.bytes()));
  if (width <= count) return text;
  const std::int64_t missing = width - count;
  budget.make_text(text.size() + static_cast<std::size_t>(missing) * fill.size());
  const std::int64_t centred = missing / 2 + (missing & width & 1);  // as str.center has it
  const std::int64_t left = filled == Sides::left ? missing : filled == Sides::right ? 0 : centred;
  TextBuilder out;
  for (std::int64_t i = 0; i < left; ++i) out.append(fill);
  out.append(text);
  for (std::int64_t i = left; i < missing; ++i) out.append(fill);
  return out.take();
}

}  // namespace sightline::jinja
