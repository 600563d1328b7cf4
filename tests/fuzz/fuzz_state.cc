// Any bytes as the file of a saved state, with their checksum made to fit so that what is behind it is reached: errors
// of Sightline are the only exceptions allowed, and from what is accepted a generation goes on.

#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include "sightline/error.h"
#include "src/format/hash.h"
#include "src/format/safetensors.h"
#include "src/generation/state_format.h"

namespace {

using sightline::model::Model;

const Model& model() {
  static const Model tiny =
      sightline::model::open(std::filesystem::path(SIGHTLINE_SOURCE_DIR) / "tests/data/tiny-decoder");
  return tiny;
}

// The last 32 bytes are the checksum, where it is declared last.
void fit_checksum(std::string& bytes) {
  try {
    const auto file = sightline::format::SafetensorsFile::parse(std::as_bytes(std::span(bytes)), "fuzz");
    const auto text = file.metadata().find(sightline::model::kStateKey);
    const auto* sum = file.find("checksum");
    if (text == file.metadata().end() || sum == nullptr || sum->bytes.size() != 32) return;
    sightline::format::Hash hash;
    hash.add(std::string_view(text->second));
    for (const auto& [name, tensor] : file.tensors()) {
      if (name == "checksum") continue;
      hash.add(name);
      hash.add(std::string_view(sightline::dtype_name(tensor.dtype)));
      for (const std::int64_t size : tensor.shape) hash.add(size);
      hash.add(tensor.bytes);
    }
    const auto at = static_cast<std::size_t>(reinterpret_cast<const char*>(sum->bytes.data()) - bytes.data());
    bytes.replace(at, 32, hash.text());
  } catch (const sightline::Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  fit_checksum(bytes);
  try {
    auto state = sightline::model::parse_state(std::as_bytes(std::span(bytes)), "fuzz", model(), {.context = 64});
    sightline::model::GenerationOptions options;
    options.context = 64;
    options.cache = state.cache();
    options.max_tokens = 2;
    options.threads = 1;
    options.watch = sightline::model::WatchOptions{.top = 2, .key_mass = true};
    auto prompt = state.prompt();
    sightline::model::Generation generation(model(), std::move(prompt), options, std::move(state));
    generation.run([](const auto&) { return true; });
  } catch (const sightline::Error&) {
  }
  return 0;
}
