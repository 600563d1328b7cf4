// Any bytes as generation_config.json, and behind a NUL byte as tokenizer_config.json: errors of Sightline are the only
// exceptions allowed, and ids are those of tokens.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "sightline/error.h"
#include "src/model/end_tokens.h"
#include "src/tokenizer/tokenizer_config.h"

namespace {

using sightline::format::JsonObject;

void read_generation(std::string_view text) {
  const auto json = sightline::format::parse_json(text, "generation_config.json");
  const auto ids = sightline::model::named_end_tokens(JsonObject(json, "generation_config.json"));
  if (std::ranges::any_of(ids, [](std::int32_t id) { return id < 0; })) std::abort();
}

void read_tokenizer(std::string_view text) {
  const auto json = sightline::format::parse_json(text, "tokenizer_config.json");
  sightline::tokenizer::config_token(JsonObject(json, "tokenizer_config.json"), "eos_token");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t nul = input.find('\0');
  try {
    read_generation(input.substr(0, nul));
  } catch (const sightline::Error&) {
  }
  try {
    if (nul != input.npos) read_tokenizer(input.substr(nul + 1));
  } catch (const sightline::Error&) {
  }
  return 0;
}
