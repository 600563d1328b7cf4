// Any bytes as config.json: only errors of the library may come out, each one line, and a description that is accepted
// holds numbers that a model can have.

#include <cstdint>
#include <string_view>

#include "tests/fuzz/config_checks.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using sightline::fuzz::expect_error_or_result;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  expect_error_or_result([&] {
    const sightline::model::TransformerConfig config = sightline::model::parse_config(text, "config.json");
    sightline::fuzz::check_config(config);
    sightline::fuzz::require(config.vocabulary >= 1);
  });
  expect_error_or_result(
      [&] { sightline::fuzz::check_heads(sightline::model::parse_head_sizes(text, "config.json")); });
  return 0;
}
