// Any bytes as config.json: only errors of the library may come out, each one line, and a description that is accepted
// holds numbers that a model can have.

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "sightline/error.h"
#include "src/model/config.h"

namespace {

using sightline::model::HeadSizes;
using sightline::model::TransformerConfig;

void require(bool holds) {
  if (!holds) std::abort();
}

template <typename Action>
void expect_error_or_result(Action action) {
  try {
    action();
  } catch (const sightline::Error& error) {
    const std::string_view message = error.what();
    require(!message.empty() && message.find('\n') == message.npos);
  }
}

void check_heads(std::int64_t query_heads, std::int64_t kv_heads, std::int64_t head_width) {
  require(kv_heads >= 1 && query_heads >= kv_heads && query_heads % kv_heads == 0 && head_width >= 1);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  expect_error_or_result([&] {
    const TransformerConfig config = sightline::model::parse_config(text, "config.json");
    check_heads(config.query_heads, config.kv_heads, config.head_width);
    require(config.layers >= 1 && config.vocabulary >= 1 && config.inner_width >= 1 && config.max_positions >= 1);
    require(config.token_types >= 0 && config.norm_epsilon >= 0);
    require(config.head_width * config.query_heads == config.width);  // of all families that can be run so far
  });
  expect_error_or_result([&] {
    const HeadSizes heads = sightline::model::parse_head_sizes(text, "config.json");
    check_heads(heads.query_heads, heads.kv_heads, heads.head_width);
  });
  return 0;
}
