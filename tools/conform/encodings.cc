#include "tools/conform/encodings.h"

#include <fmt/format.h>

#include <algorithm>

#include "tools/conform/recorder.h"

namespace sightline::conform {
namespace {

using nlohmann::json;

template <class Column>
json column(const tokenizer::Encoding& encoding, const Column& of) {
  json values = json::array();
  for (const tokenizer::Token& token : encoding.tokens) values.push_back(of(token));
  return values;
}

// Code points before byte `end` of UTF-8 text: its bytes that are not continuations.
std::size_t code_points(std::string_view text, std::size_t end) {
  return std::count_if(text.begin(), text.begin() + end, [](char c) { return (c & 0xC0) != 0x80; });
}

std::string ascii(const json& value) { return value.dump(-1, ' ', true, json::error_handler_t::replace); }

}  // namespace

json pieces(const tokenizer::Encoding& encoding) {
  return column(encoding, [](const auto& token) { return token.piece; });
}

json ids(const tokenizer::Encoding& encoding) {
  return column(encoding, [](const auto& token) { return token.id; });
}

json special_mask(const tokenizer::Encoding& encoding) {
  return column(encoding, [](const auto& token) { return token.special ? 1 : 0; });
}

json type_ids(const tokenizer::Encoding& encoding) {
  return column(encoding, [](const auto& token) { return token.type_id; });
}

json offsets(const tokenizer::Encoding& encoding, std::string_view text, std::string_view pair) {
  return column(encoding, [&](const auto& token) {
    if (token.sequence < 0) return json{0, 0};
    const std::string_view source = token.sequence == 0 ? text : pair;
    expect(token.begin <= token.end && token.end <= source.size(), "offsets: outside the text");
    return json{code_points(source, token.begin), code_points(source, token.end)};
  });
}

void expect_equal(std::string_view what, const json& got, const json& expected) {
  if (got == expected) return;
  if (!got.is_array() || !expected.is_array()) {
    throw Mismatch(fmt::format("{}: expected {}, got {}", what, ascii(expected), ascii(got)));
  }
  std::size_t at = 0;
  while (at < got.size() && at < expected.size() && got[at] == expected[at]) ++at;
  const auto element = [at](const json& values) { return at < values.size() ? ascii(values[at]) : "nothing"; };
  throw Mismatch(fmt::format("{}[{}]: expected {}, got {} ({} and {} elements)", what, at, element(expected),
                             element(got), expected.size(), got.size()));
}

}  // namespace sightline::conform
