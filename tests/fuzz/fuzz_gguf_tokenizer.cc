// Any bytes as a GGUF file whose tokenizer encodes and decodes: Sightline's exceptions are the ones allowed, and tokens
// must lie in the text.

#include <cstdint>
#include <cstdlib>
#include <span>
#include <string_view>
#include <vector>

#include "sightline/error.h"
#include "src/format/gguf.h"
#include "src/tokenizer/tokenizer.h"

namespace {

using sightline::tokenizer::Encoding;
using sightline::tokenizer::Token;
using sightline::tokenizer::Tokenizer;

void use(const Tokenizer& tokenizer, bool parse_special) {
  constexpr std::string_view kText = "Né <s> 字a##b\xF0\x9F\xA6\x99 <|im_end|> 12,5";
  const Encoding encoding = tokenizer.encode(kText, {.parse_special = parse_special});
  std::vector<std::int32_t> ids;
  for (const Token& token : encoding.tokens) {
    if (token.begin > token.end || token.end > kText.size()) std::abort();
    ids.push_back(token.id);
  }
  tokenizer.decode(ids, true);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const auto file = sightline::format::GgufFile::parse(std::as_bytes(std::span(data, size)), "fuzz.gguf");
    const Tokenizer tokenizer = Tokenizer::from_gguf(file.metadata());
    use(tokenizer, false);
    use(tokenizer, true);
  } catch (const sightline::Error&) {
  }
  return 0;
}
