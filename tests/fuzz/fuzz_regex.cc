// A pattern up to the first NUL byte, then a text: Sightline's exceptions are the ones allowed; matches come from the
// left, lie in the text and do not overlap, and none is empty where the last one ended.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "sightline/error.h"
#include "src/tokenizer/regex.h"
#include "src/tokenizer/unicode.h"

namespace {

using sightline::tokenizer::decode_char;
using sightline::tokenizer::NormalizedString;
using sightline::tokenizer::Regex;

// What is no character is left out.
std::string characters_of(std::string_view bytes) {
  std::string text;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t length = decode_char(bytes, at).length;
    text += bytes.substr(at, length);
    at += std::max<std::size_t>(length, 1);
  }
  return text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t end = std::min(input.find('\0'), size);
  const NormalizedString text(characters_of(input.substr(std::min(end + 1, size))));
  try {
    const Regex regex(characters_of(input.substr(0, end)), "fuzz.json: \"pattern\"");
    std::size_t done = 0;
    bool first = true;
    regex.for_each_match(text.chars(), [&](std::size_t begin, std::size_t match_end) {
      const bool in_order = begin >= done && begin <= match_end && match_end <= text.chars().size();
      if (!in_order || (!first && begin == match_end && begin == done)) std::abort();
      done = match_end;
      first = false;
    });
  } catch (const sightline::Error&) {
  }
  return 0;
}
