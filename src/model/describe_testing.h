#ifndef SIGHTLINE_MODEL_DESCRIBE_TESTING_H_
#define SIGHTLINE_MODEL_DESCRIBE_TESTING_H_

// For tests alone: descriptions as JSON, so that whole ones can be compared and written down.

#include <nlohmann/json.hpp>

#include "src/model/config.h"

namespace sightline::model {

inline nlohmann::json describe(const Rope& rope) {
  nlohmann::json text = {{"base", rope.base}, {"width", rope.width}};
  const char* const names[] = {"none", "linear", "dynamic", "yarn", "longrope", "llama3", "divisors"};
  text["scaling"] = names[static_cast<int>(rope.scaling)];
  if (rope.adjacent_pairs) text["adjacent_pairs"] = true;
  if (rope.factor != 1) text["factor"] = rope.factor;
  const bool has_length =
      rope.scaling != RopeScaling::none && rope.scaling != RopeScaling::linear && rope.scaling != RopeScaling::divisors;
  if (has_length) text["original_positions"] = rope.original_positions;
  if (rope.attention_factor) text["attention_factor"] = *rope.attention_factor;
  if (rope.scaling == RopeScaling::llama3) {
    text["low"] = rope.low_frequency_factor;
    text["high"] = rope.high_frequency_factor;
  }
  if (rope.scaling == RopeScaling::yarn) {
    text["beta_fast"] = rope.beta_fast;
    text["beta_slow"] = rope.beta_slow;
    text["truncate"] = rope.truncate;
  }
  if (rope.mscale) text["mscale"] = {*rope.mscale, rope.mscale_all_dim.value_or(0)};
  if (!rope.short_factors.empty()) text["short"] = rope.short_factors;
  if (!rope.long_factors.empty()) text["long"] = rope.long_factors;
  return text;
}

/// All fields that are not what most decoders have: no window, no softcap, no bias, RMSNorm before each branch, ...
inline nlohmann::json describe(const TransformerConfig& config) {
  nlohmann::json text = {
      {"family", config.family},
      {"vocabulary", config.vocabulary},
      {"width", config.width},
      {"layers", config.layers},
      {"heads", {config.query_heads, config.kv_heads, config.head_width}},
      {"inner", config.inner_width},
      {"positions", config.max_positions},
      {"epsilon", config.norm_epsilon},
  };
  const char* const activations[] = {"gelu", "gelu_tanh", "relu", "silu"};
  text["activation"] = activations[static_cast<int>(config.activation)];
  const auto note = [&](bool differs, const char* name, auto value) {
    if (differs) text[name] = value;
  };
  note(config.embedding_width != config.width, "embedding_width", config.embedding_width);
  note(config.layer_groups != config.layers, "layer_groups", config.layer_groups);
  note(config.position_offset != 0, "position_offset", config.position_offset);
  note(config.token_types != 0, "token_types", config.token_types);
  note(config.position_embedding, "position_embedding", true);
  note(config.norm == NormKind::layer_norm, "norm", "layer");
  note(config.norm_place != NormPlace::before, "norms", config.norm_place == NormPlace::after ? "after" : "around");
  note(config.embedding_norm, "embedding_norm", true);
  note(!config.final_norm, "final_norm", false);
  note(config.parallel_residual, "parallel", true);
  note(config.mlp != MlpKind::gated, "mlp", config.mlp == MlpKind::plain ? "plain" : "experts");
  note(config.head_activation != config.activation, "head_activation",
       activations[static_cast<int>(config.head_activation)]);
  note(!config.causal, "causal", false);
  note(config.query_key_norm, "query_key_norm", true);
  note(config.sinks, "sinks", true);
  note(config.attention_scale.has_value(), "scale", config.attention_scale.value_or(0));
  note(config.attention_softcap != 0, "attention_softcap", config.attention_softcap);
  note(config.logit_softcap != 0, "logit_softcap", config.logit_softcap);
  note(config.embedding_scale != 1, "embedding_scale", config.embedding_scale);
  note(config.pooler, "pooler", true);
  note(config.tied_embeddings, "tied", true);
  const char* const heads[] = {"none", "output", "transform"};
  text["head"] = heads[static_cast<int>(config.language_head)];
  const BiasRules& biases = config.biases;
  const auto letter = [](Biases rule) { return rule == Biases::all ? "+" : rule == Biases::none ? "-" : "?"; };
  text["biases"] = std::string(letter(biases.attention_input)) + letter(biases.attention_output) + letter(biases.mlp);
  if (config.mlp == MlpKind::experts) {
    text["experts"] = {config.experts.count, config.experts.used, config.experts.swiglu_limit,
                       config.experts.swiglu_alpha};
  }
  for (const LayerPattern& layer : config.pattern) {
    text["windows"].push_back(layer.window);
    text["layer_ropes"].push_back(layer.rope);
  }
  for (const Rope& rope : config.ropes) text["ropes"].push_back(describe(rope));
  if (!config.unknown_keys.empty()) text["unknown"] = config.unknown_keys;
  return text;
}

}  // namespace sightline::model

#endif  // SIGHTLINE_MODEL_DESCRIBE_TESTING_H_
