// Any bytes as the metadata of a GGUF model: as fuzz_config.cc.

#include <cstdint>
#include <span>

#include "src/format/gguf.h"
#include "tests/fuzz/config_checks.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  sightline::fuzz::expect_error_or_result([&] {
    const auto file = sightline::format::GgufFile::parse(std::as_bytes(std::span(data, size)), "fuzz.gguf");
    const sightline::model::TransformerConfig config = sightline::model::parse_gguf_config(file.metadata());
    sightline::fuzz::check_config(config);
    sightline::fuzz::require(config.vocabulary >= 0);  // 0: of the tensors
  });
  return 0;
}
