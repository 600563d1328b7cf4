// Gemma 2 and 3: norms before and after each branch, scaled embeddings, layers with a window between layers without.

#include <cmath>

#include "src/model/family.h"
#include "src/model/family_shared.h"

namespace sightline::model {
namespace {

constexpr Traits kGemma2Traits = {
    .norm = NormKind::rms_norm,
    .norm_place = NormPlace::around,
    .norm_epsilon = 1e-6,
    .final_norm = true,
    .mlp = MlpKind::gated,
    .activation = Activation::gelu_tanh,
    .causal = true,
    .scaled_embedding = true,
    .tied = true,
    .attention_bias_key = true,
    .windows = WindowRule::even_layers,
    .window = 4096,
};

constexpr Traits kGemma3Traits = [] {
  Traits traits = kGemma2Traits;
  traits.query_key_norm = true;
  traits.windows = WindowRule::between_full_layers;
  return traits;
}();

constexpr SizeKeys kGemma2Keys = [] {
  SizeKeys keys = llama_size_keys(8192, 256);
  keys.activation = "hidden_activation";
  return keys;
}();

// Published files leave out most of what is as in these.
constexpr SizeKeys kGemma3Keys = [] {
  SizeKeys keys = kGemma2Keys;
  keys.vocabulary.absent = 262208;
  keys.width.absent = 2304;
  keys.layers.absent = 26;
  keys.query_heads.absent = 8;
  keys.kv_heads.absent = 4;
  keys.inner_width.absent = 9216;
  keys.max_positions.absent = 131072;
  return keys;
}();

constexpr FixedKey kFixedKeys[] = {
    {"use_bidirectional_attention", "false"},
    {"is_causal", "true"},
};

// hidden_act is what early files call hidden_activation, which counts.
constexpr std::string_view kIdleKeys[] = {
    "attention_dropout",      "cache_implementation",   "hidden_act", "is_decoder", "rope_local_base_freq",
    "sliding_window_pattern", "_sliding_window_pattern"};

// Of the language model alone, and within the one that sees pictures, as earlier and later files spell it.
constexpr std::string_view kPrefixes[] = {"language_model.model.", "model.language_model.", "language_model.",
                                          "model."};
constexpr std::string_view kBuffers[] = {"rotary_emb.inv_freq", "rotary_emb_local.inv_freq"};
constexpr std::string_view kUnusedPrefixes[] = {"score.", "classifier.", "qa_outputs.", "vision_tower.",
                                                "multi_modal_projector."};

constexpr NameMap kGemma2Names = [] {
  NameMap names = kLlamaNames;
  names.prefixes = kPrefixes;
  names.attention_post_norm = "layers.{}.post_attention_layernorm";
  names.mlp_norm = "layers.{}.pre_feedforward_layernorm";
  names.mlp_post_norm = "layers.{}.post_feedforward_layernorm";
  names.ones_left_out = true;
  names.buffers = kBuffers;
  names.unused_prefixes = kUnusedPrefixes;
  return names;
}();

constexpr NameMap kGgufNames = gguf_names({.norms_around = true});

void read_scalar(const ConfigKeys& keys, TransformerConfig& config) {
  const double scalar = keys.find_positive("query_pre_attn_scalar").value_or(256);
  config.attention_scale = static_cast<float>(1 / std::sqrt(scalar));
  config.embedding_scale = std::sqrt(static_cast<float>(config.width));
}

// A cap that is null is none; one that is left out is the family's.
float read_softcap(const ConfigKeys& keys, std::string_view key, double absent) {
  const bool said = keys.value().contains(std::string(key));
  const double value = keys.find_number(key).value_or(said ? 0 : absent);
  return check_softcap(value, keys.where(key));
}

void read_gemma2(const ConfigKeys& keys, TransformerConfig& config) {
  read_scalar(keys, config);
  config.attention_softcap = read_softcap(keys, "attn_logit_softcapping", 50);
  config.logit_softcap = read_softcap(keys, "final_logit_softcapping", 30);
}

void read_gemma3(const ConfigKeys& keys, TransformerConfig& config) {
  read_scalar(keys, config);
  config.attention_softcap = read_softcap(keys, "attn_logit_softcapping", 0);
  config.logit_softcap = read_softcap(keys, "final_logit_softcapping", 0);
}

// GGUF files have no key for query_pre_attn_scalar. It is the head width but for the models of 27 billion parameters,
// where it is width / heads; they are told by their layers.
void scale_of_27b(std::int64_t layers, TransformerConfig& config) {
  if (config.layers != layers) return;
  const double scalar = static_cast<double>(config.width) / static_cast<double>(config.query_heads);
  config.attention_scale = static_cast<float>(1 / std::sqrt(scalar));
}

void fill_gemma2(TransformerConfig& config) {
  scale_of_27b(46, config);
  config.attention_softcap = 50;
  config.logit_softcap = 30;
}

void fill_gemma3(TransformerConfig& config) { scale_of_27b(62, config); }

constexpr Family kFamilies[] = {
    {.model_type = "gemma2",
     .gguf_architecture = "gemma2",
     .traits = kGemma2Traits,
     .keys = kGemma2Keys,
     .rope = {.base = 10000},
     .names = &kGemma2Names,
     .gguf_names = &kGgufNames,
     .class_stem = "Gemma2",
     .architectures = kDecoderClasses,
     .fixed_keys = kFixedKeys,
     .idle_keys = kIdleKeys,
     .read = read_gemma2,
     .read_gguf = fill_gemma2},
    {.model_type = "gemma3_text",
     .gguf_architecture = "gemma3",
     .traits = kGemma3Traits,
     .keys = kGemma3Keys,
     .rope = {.base = 1000000, .window_base = 10000},
     .names = &kGemma2Names,
     .gguf_names = &kGgufNames,
     .class_stem = "Gemma3",
     .architectures = kDecoderClasses,
     .fixed_keys = kFixedKeys,
     .idle_keys = kIdleKeys,
     .read = read_gemma3,
     .read_gguf = fill_gemma3},
};

}  // namespace

std::span<const Family> gemma_families() { return kFamilies; }

}  // namespace sightline::model
