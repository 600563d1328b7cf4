#include "src/tokenizer/vocabulary_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "sightline/error.h"
#include "src/tokenizer/unicode.h"

namespace sightline::tokenizer {
namespace {

constexpr std::size_t kNone = std::string_view::npos;
constexpr std::string_view kBlanks = " \t\r\n";

// The end of the string that opens at `at`.
std::size_t skip_string(std::string_view text, std::size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at) {
    if (text[at] == '\\') ++at;
  }
  return at < text.size() ? at + 1 : kNone;
}

// The end of the value that begins at `at`, if it is well-formed as far as brackets and quotes go.
std::size_t skip_value(std::string_view text, std::size_t at) {
  std::size_t depth = 0;
  while (at < text.size()) {
    const char c = text[at];
    if (c == '"') {
      at = skip_string(text, at);
      if (depth == 0) return at;
      continue;
    }
    if (depth == 0 && (c == ',' || c == '}' || c == ']')) return at;
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    ++at;
    if (depth == 0 && (c == '}' || c == ']')) return at;
  }
  return kNone;
}

// Where the member `key` of the object at `object` begins, if it is an object too or, where asked for, an array.
std::size_t find_member(std::string_view text, std::size_t object, std::string_view key, bool array_too) {
  std::size_t at = object + 1;
  while ((at = text.find_first_not_of(", \t\r\n", at)) != kNone && text[at] == '"') {
    const std::size_t key_begin = at + 1;
    const std::size_t key_end = skip_string(text, at);
    const std::size_t colon = text.find_first_not_of(kBlanks, key_end);
    if (colon == kNone || text[colon] != ':') return kNone;
    const std::size_t begin = text.find_first_not_of(kBlanks, colon + 1);
    if (begin == kNone) return kNone;
    const bool found = text.substr(key_begin, key_end - 1 - key_begin) == key;
    if (found) return text[begin] == '{' || (array_too && text[begin] == '[') ? begin : kNone;
    at = skip_value(text, begin);
  }
  return kNone;
}

}  // namespace

std::optional<VocabularyText> take_vocabulary(std::string& json, std::string_view file) {
  const std::size_t root = json.find_first_not_of(kBlanks);
  if (root == kNone || json[root] != '{') return std::nullopt;
  const std::size_t model = find_member(json, root, "model", false);
  const std::size_t begin = model == kNone ? kNone : find_member(json, model, "vocab", true);
  const std::size_t end = begin == kNone ? kNone : skip_value(json, begin);
  if (end == kNone) return std::nullopt;
  VocabularyText text{json.substr(begin, end - begin), std::string(file), begin};
  const auto inside = json.begin() + static_cast<std::ptrdiff_t>(begin) + 1;
  std::fill(inside, inside + static_cast<std::ptrdiff_t>(end - begin) - 2, ' ');
  return text;
}

VocabularyReader::VocabularyReader(const VocabularyText& text) : text_(text), has_scores_(text.value.starts_with('[')) {
  expect(has_scores_ ? '[' : '{');
}

std::optional<VocabularyReader::Entry> VocabularyReader::next() {
  if (skip_blanks() == (has_scores_ ? ']' : '}')) return std::nullopt;
  if (count_++ > 0) expect(',');
  Entry entry;
  if (has_scores_) {
    read_pair(entry);
    return entry;
  }
  entry.piece = read_piece();
  expect(':');
  entry.id = read_id();
  return entry;
}

void VocabularyReader::read_pair(Entry& entry) {
  expect('[');
  entry.piece = read_piece();
  entry.id = count_ - 1;
  expect(',');
  entry.score = read_score();
  expect(']');
}

std::string_view VocabularyReader::read_piece() {
  if (skip_blanks() != '"') fail(at_, "a string is missing");
  const std::size_t begin = at_;
  at_ = skip_string(text_.value, begin);
  if (at_ == kNone) fail(begin, "a string does not end");
  const std::string_view literal = std::string_view(text_.value).substr(begin, at_ - begin);
  const std::string_view piece = literal.substr(1, literal.size() - 2);
  for (std::size_t i = 0; i < piece.size();) {
    const DecodedChar c = decode_char(piece, i);
    if (c.length == 0 || c.code < 0x20) fail(begin + 1 + i, "not valid JSON: a character that a string may not hold");
    i += c.length;
  }
  if (piece.find('\\') == kNone) return piece;
  const nlohmann::json value = nlohmann::json::parse(literal, nullptr, /*allow_exceptions=*/false);
  if (!value.is_string()) fail(begin, "not valid JSON: a string with a wrong escape");
  unescaped_ = value.get<std::string>();
  return unescaped_;
}

std::int32_t VocabularyReader::read_id() {
  skip_blanks();
  const char* begin = text_.value.data() + at_;
  std::int32_t id = 0;
  const auto [end, error] = std::from_chars(begin, text_.value.data() + text_.value.size(), id);
  const bool digits = error == std::errc() && *begin != '-' && (*begin != '0' || end == begin + 1);
  const bool ends = digits && (*end == ',' || *end == '}' || kBlanks.find(*end) != kNone);
  if (!ends) fail(at_, "an id must be a whole number from 0 to 2147483647");
  at_ += static_cast<std::size_t>(end - begin);
  return id;
}

double VocabularyReader::read_score() {
  const char first = skip_blanks();
  const char* begin = text_.value.data() + at_;
  double score = 0;
  const auto [end, error] = std::from_chars(begin, text_.value.data() + text_.value.size(), score);
  const bool number = error == std::errc() && (first == '-' || (first >= '0' && first <= '9')) && std::isfinite(score);
  if (!number || (*end != ']' && kBlanks.find(*end) == kNone)) fail(at_, "a score must be a number");
  at_ += static_cast<std::size_t>(end - begin);
  return score;
}

char VocabularyReader::skip_blanks() {
  at_ = text_.value.find_first_not_of(kBlanks, at_);
  if (at_ == kNone) fail(text_.value.size(), "the vocabulary does not end");
  return text_.value[at_];
}

void VocabularyReader::expect(char c) {
  if (skip_blanks() != c) fail(at_, std::string("'") + c + "' is missing");
  ++at_;
}

void VocabularyReader::fail(std::size_t at, std::string_view what) const {
  throw BadFile(text_.file + ": \"model.vocab\": byte " + std::to_string(text_.position + at) + ": " +
                std::string(what));
}

}  // namespace sightline::tokenizer
