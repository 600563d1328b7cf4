#ifndef SIGHTLINE_TESTS_FUZZ_CONFIG_CHECKS_H_
#define SIGHTLINE_TESTS_FUZZ_CONFIG_CHECKS_H_

// What every description that a parser accepts must hold, for the fuzz programs.

#include <cmath>
#include <cstdlib>
#include <string_view>

#include "sightline/error.h"
#include "src/model/config.h"

namespace sightline::fuzz {

inline void require(bool holds) {
  if (!holds) std::abort();
}

/// Only errors of the library may come out, each one line.
template <typename Action>
void expect_error_or_result(Action action) {
  try {
    action();
  } catch (const Error& error) {
    const std::string_view message = error.what();
    require(!message.empty() && message.find('\n') == message.npos);
  }
}

inline bool is_number(double value) { return std::isfinite(value) && value > 0; }

inline void check_rope(const model::Rope& rope, const model::TransformerConfig& config) {
  require(rope.width >= 2 && rope.width % 2 == 0 && rope.width <= config.head_width);
  require(rope.base > 1 && is_number(rope.base) && is_number(rope.factor));
  require(is_number(rope.attention_factor.value_or(1)) && is_number(rope.mscale.value_or(1)));
  const bool is_long = rope.scaling == model::RopeScaling::longrope;
  const auto pairs = static_cast<std::size_t>(rope.width / 2);
  require(rope.short_factors.size() == (is_long ? pairs : 0) && rope.long_factors.size() == (is_long ? pairs : 0));
  for (const double factor : rope.short_factors) require(is_number(factor));
  for (const double factor : rope.long_factors) require(is_number(factor));
  if (rope.follows_length()) require(rope.original_positions >= 1);
  if (rope.scaling == model::RopeScaling::llama3) require(rope.high_frequency_factor > rope.low_frequency_factor);
}

inline void check_heads(const model::HeadSizes& heads) {
  require(heads.kv_heads >= 1 && heads.query_heads >= heads.kv_heads && heads.query_heads % heads.kv_heads == 0);
  require(heads.head_width >= 1);
}

inline void check_config(const model::TransformerConfig& config) {
  check_heads({config.query_heads, config.kv_heads, config.head_width});
  require(config.layers >= 1 && config.inner_width >= 1 && config.max_positions >= 1 && config.width >= 1);
  require(config.layer_groups >= 1 && config.layer_groups <= config.layers && config.embedding_width >= 1);
  require(config.token_types >= 0 && config.position_offset >= 0);
  require(config.norm_epsilon >= 0 && config.norm_epsilon < 1 && is_number(config.embedding_scale));
  require(is_number(config.attention_scale.value_or(1)));
  require(config.attention_softcap >= 0 && std::isfinite(config.attention_softcap));
  require(config.logit_softcap >= 0 && std::isfinite(config.logit_softcap));
  require(config.position_embedding == config.ropes.empty());
  require(config.pattern.size() == static_cast<std::size_t>(config.layers));
  for (const model::LayerPattern& layer : config.pattern) {
    require(layer.window >= 0 && layer.rope >= 0);
    require(config.ropes.empty() || static_cast<std::size_t>(layer.rope) < config.ropes.size());
  }
  for (const model::Rope& rope : config.ropes) check_rope(rope, config);
  if (config.mlp != model::MlpKind::experts) return;
  require(config.experts.used >= 1 && config.experts.used <= config.experts.count);
  require(is_number(config.experts.swiglu_limit) && is_number(config.experts.swiglu_alpha));
}

}  // namespace sightline::fuzz

#endif  // SIGHTLINE_TESTS_FUZZ_CONFIG_CHECKS_H_
