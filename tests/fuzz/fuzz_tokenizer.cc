// A tokenizer.json up to the first NUL byte, then a text to encode: Sightline's exceptions are the ones allowed, and
// tokens must lie in the text and begin and end with whole characters.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "sightline/error.h"
#include "src/tokenizer/tokenizer.h"

namespace {

using sightline::tokenizer::Encoding;
using sightline::tokenizer::Token;
using sightline::tokenizer::Tokenizer;

bool is_boundary(std::string_view text, std::size_t at) {
  return at == text.size() || (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) != 0x80);
}

void check(const Encoding& encoding, std::string_view text) {
  for (const Token& token : encoding.tokens) {
    const bool inside = token.begin <= token.end && is_boundary(text, token.begin) && is_boundary(text, token.end);
    if (!inside || (token.special && token.sequence != -1)) std::abort();
  }
}

void use(const Tokenizer& tokenizer, std::string_view text) {
  const Encoding encoding = tokenizer.encode(text);
  check(encoding, text);
  check(tokenizer.encode(text, {.parse_special = true}), text);
  check(tokenizer.encode(text, text, {.add_special = false, .max_length = 7}), text);
  std::vector<std::int32_t> ids;
  for (const Token& token : encoding.tokens) ids.push_back(token.id);
  tokenizer.decode(ids, true);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t end = std::min(input.find('\0'), size);
  try {
    const Tokenizer tokenizer = Tokenizer::parse(input.substr(0, end), "fuzz.json");
    use(tokenizer, "Né [CLS] 字a##b\xF0\x9F\xA6\x99 12,5");
    if (end < size) use(tokenizer, input.substr(end + 1));
  } catch (const sightline::Error&) {
  }
  return 0;
}
