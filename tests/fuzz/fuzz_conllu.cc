// A treebank: Sightline's exceptions are the ones allowed; sentences that were read have words with heads among them,
// and an empty line more at the end changes nothing.

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "sightline/error.h"
#include "src/format/conllu.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const auto sentences = sightline::format::parse_conllu(text, "input");
    if (sentences.empty()) std::abort();
    for (const auto& sentence : sentences) {
      if (sentence.empty()) std::abort();
      for (const auto& word : sentence) {
        if (word.form.empty() || word.head > sentence.size()) std::abort();
      }
    }
    if (sightline::format::parse_conllu(std::string(text) + "\n\n", "input") != sentences) std::abort();
  } catch (const sightline::Error&) {
  }
  return 0;
}
