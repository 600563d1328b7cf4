#include "src/tokenizer/json_text.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sightline/error.h"
#include "src/format/json.h"
#include "src/tokenizer/unicode.h"

namespace sightline::tokenizer {
namespace {

constexpr std::size_t kNone = std::string_view::npos;

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

// Where the member `key` of the object at `object` begins, if it is an object too or an array.
std::size_t find_member(std::string_view text, std::size_t object, std::string_view key) {
  std::size_t at = object + 1;
  while ((at = text.find_first_not_of(", \t\r\n", at)) != kNone && text[at] == '"') {
    const std::size_t key_begin = at + 1;
    const std::size_t key_end = skip_string(text, at);
    const std::size_t colon = text.find_first_not_of(kBlanks, key_end);
    if (colon == kNone || text[colon] != ':') return kNone;
    const std::size_t begin = text.find_first_not_of(kBlanks, colon + 1);
    if (begin == kNone) return kNone;
    const bool found = text.substr(key_begin, key_end - 1 - key_begin) == key;
    if (found) return text[begin] == '{' || text[begin] == '[' ? begin : kNone;
    at = skip_value(text, begin);
  }
  return kNone;
}

}  // namespace

std::optional<JsonText> take_from_model(std::string& json, std::string_view file, std::string_view member) {
  const std::size_t root = json.find_first_not_of(kBlanks);
  if (root == kNone || json[root] != '{') return std::nullopt;
  const std::size_t model = find_member(json, root, "model");
  if (model == kNone || json[model] != '{') return std::nullopt;
  const std::size_t begin = find_member(json, model, member);
  const std::size_t end = begin == kNone ? kNone : skip_value(json, begin);
  if (end == kNone) return std::nullopt;
  JsonText text{json.substr(begin, end - begin), std::string(file), begin};
  const auto inside = json.begin() + static_cast<std::ptrdiff_t>(begin) + 1;
  std::fill(inside, inside + static_cast<std::ptrdiff_t>(end - begin) - 2, ' ');
  return text;
}

std::string_view JsonCursor::read_string() {
  if (peek() != '"') fail("a string is missing");
  const std::size_t begin = at_;
  const std::size_t end = skip_string(text_.value, begin);
  if (end == kNone) fail("a string does not end");
  at_ = end;
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

char JsonCursor::peek() {
  at_ = text_.value.find_first_not_of(kBlanks, at_);
  if (at_ == kNone) fail(text_.value.size(), "the value does not end");
  return text_.value[at_];
}

bool JsonCursor::take(char c) {
  if (peek() != c) return false;
  ++at_;
  return true;
}

void JsonCursor::expect(char c) {
  if (!take(c)) fail(std::string("'") + c + "' is missing");
}

void JsonCursor::fail(std::size_t at, std::string_view what) const {
  throw BadFile(text_.file + ": " + format::quote(key_) + ": byte " + std::to_string(text_.position + at) + ": " +
                std::string(what));
}

}  // namespace sightline::tokenizer
