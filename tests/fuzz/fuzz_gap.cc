// A table in GAP's format: Sightline's exceptions are the ones allowed; pronouns and names that were read are parts of
// their texts, and an empty line more at the end changes nothing.

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "sightline/error.h"
#include "src/format/gap.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const auto questions = sightline::format::parse_gap(text, "input");
    if (questions.empty()) std::abort();
    for (const auto& question : questions) {
      for (const auto& place : {question.pronoun, question.a, question.b}) {
        if (place.begin >= place.end || place.end > question.text.size()) std::abort();
      }
    }
    if (sightline::format::parse_gap(std::string(text) + "\n\n", "input") != questions) std::abort();
  } catch (const sightline::Error&) {
  }
  return 0;
}
