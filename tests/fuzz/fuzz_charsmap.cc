// A SentencePiece table of characters ("precompiled_charsmap"), after a byte that says how many bytes of text stand
// before it: Sightline's exceptions are the ones allowed, places must lie in the text, and the text stays within
// bounds.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "sightline/error.h"
#include "src/tokenizer/charsmap.h"
#include "src/tokenizer/unicode.h"

namespace {

using sightline::tokenizer::Char;
using sightline::tokenizer::Charsmap;
using sightline::tokenizer::NormalizedString;

void use(const Charsmap& map, std::string_view text) {
  if (!sightline::tokenizer::is_utf8(text)) return;
  NormalizedString normalized(text);
  const std::size_t given = normalized.chars().size();
  map.apply(normalized);
  if (normalized.chars().size() > 64 * given + 1024) std::abort();
  for (const Char& c : normalized.chars()) {
    if (c.begin > c.end || c.end > text.size()) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string_view text = input.substr(0, data[0]);
  try {
    const Charsmap map(input.substr(text.size()), "fuzz");
    use(map, text);
    use(map, "Aé\r\n e\xCC\x81 \xEF\xAC\x81 \xE3\x8D\xBF \xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x9A\x92 ab");
  } catch (const sightline::Error&) {
  }
  return 0;
}
