// Llama and those built like it: RMSNorm before each branch, ropes, a gated MLP.

#include "sightline/error.h"
#include "src/model/family.h"
#include "src/model/family_shared.h"

namespace sightline::model {
namespace {

constexpr Traits kTraits = {
    .norm = NormKind::rms_norm,
    .norm_place = NormPlace::before,
    .norm_epsilon = 1e-6,
    .final_norm = true,
    .mlp = MlpKind::gated,
    .activation = Activation::silu,
    .causal = true,
};

constexpr Traits kLlamaTraits = [] {
  Traits traits = kTraits;
  traits.attention_bias_key = traits.mlp_bias_key = true;
  return traits;
}();

constexpr Traits kMistralTraits = [] {
  Traits traits = kTraits;
  traits.windows = WindowRule::all_layers;
  return traits;
}();

constexpr Traits kQwen2Traits = [] {
  Traits traits = kTraits;
  traits.biases.attention_input = Biases::all;
  traits.windows = WindowRule::from_max_window_layer;
  traits.window = 4096;
  return traits;
}();

constexpr Traits kQwen3Traits = [] {
  Traits traits = kQwen2Traits;
  traits.biases = {};
  traits.attention_bias_key = true;
  traits.query_key_norm = true;
  return traits;
}();

constexpr Traits kPhi3Traits = [] {
  Traits traits = kMistralTraits;
  traits.norm_epsilon = 1e-5;
  return traits;
}();

constexpr Traits kGptOssTraits = [] {
  Traits traits = kTraits;
  traits.norm_epsilon = 1e-5;
  traits.mlp = MlpKind::experts;
  traits.biases = {Biases::all, Biases::all, Biases::all};
  traits.attention_bias_key = true;
  traits.sinks = true;
  traits.windows = WindowRule::even_layers;
  traits.window = 128;
  return traits;
}();

// Dropout acts in training alone; pretraining_tp cuts the same products into pieces; losses of routers belong to
// training. Qwen2 has biases whatever attention_bias says.
constexpr std::string_view kIdleKeys[] = {
    "attention_bias",
    "attention_dropout",
    "embd_pdrop",
    "experts_per_token",
    "initial_context_length",
    "is_decoder",
    "original_max_position_embeddings",
    "output_router_logits",
    "pretraining_tp",
    "resid_pdrop",
    "router_aux_loss_coef",
};

constexpr FixedKey kLlamaFixedKeys[] = {
    {"is_causal", "true"},
    {"rope_interleaved", "false"},
};

constexpr FixedKey kFixedKeys[] = {
    {"is_causal", "true"},
    {"mlp_bias", "false"},
    {"use_mrope", "false"},
};

constexpr FixedKey kUnbiasedFixedKeys[] = {
    {"is_causal", "true"},
    {"attention_bias", "false"},
    {"mlp_bias", "false"},
};

constexpr FixedKey kPhi3FixedKeys[] = {
    {"is_causal", "true"},     {"attention_bias", "false"}, {"mlp_bias", "false"},
    {"lm_head_bias", "false"}, {"full_attn_mod", "1"},      {"interpolate_factor", "1"},
};

constexpr NameMap kPhi3Names = [] {
  NameMap names = kLlamaNames;
  names.fused_heads = "layers.{}.self_attn.qkv_proj";
  names.heads = HeadLayout::blocks;
  names.fused_gates = "layers.{}.mlp.gate_up_proj";
  names.gates = GateLayout::halves;
  return names;
}();

constexpr NameMap kGptOssNames = [] {
  NameMap names = kLlamaNames;
  names.sinks = "layers.{}.self_attn.sinks";
  names.router = "layers.{}.mlp.router";
  names.fused_gates = "layers.{}.mlp.experts.gate_up_proj";
  names.gates = GateLayout::interleaved;
  names.down = "layers.{}.mlp.experts.down_proj";
  names.expert_bias = "_bias";
  names.transposed_experts = true;
  return names;
}();

constexpr NameMap kLlamaGgufNames = gguf_names({.adjacent_pairs = true});
constexpr NameMap kQwenGgufNames = gguf_names({});
constexpr NameMap kPhi3GgufNames = gguf_names({.heads = HeadLayout::blocks, .gates = GateLayout::halves});
constexpr NameMap kGptOssGgufNames = gguf_names({.experts = true});

void fill_swiglu(TransformerConfig& config) {
  config.experts.swiglu_limit = 7.0f;
  config.experts.swiglu_alpha = 1.702f;
}

void read_gpt_oss(const ConfigKeys& keys, TransformerConfig& config) {
  fill_swiglu(config);
  config.experts.count = keys.require_int("num_local_experts", 1, kMaxExperts);
  config.experts.used = keys.find_int("num_experts_per_tok", 1).value_or(4);
  if (config.experts.used > config.experts.count) {
    throw BadFile(keys.where("num_experts_per_tok") + " must be at most num_local_experts");
  }
  if (const auto limit = keys.find_positive("swiglu_limit")) config.experts.swiglu_limit = static_cast<float>(*limit);
  if (const auto alpha = keys.find_positive("swiglu_alpha")) config.experts.swiglu_alpha = static_cast<float>(*alpha);
  if (config.activation != Activation::silu) {
    throw UnsupportedModel(keys.where("hidden_act") + ": the experts of gpt_oss are computed with silu alone");
  }
}

constexpr Family kFamilies[] = {
    {.model_type = "llama",
     .gguf_architecture = "llama",
     .traits = kLlamaTraits,
     .keys = llama_size_keys(2048),
     .rope = {.base = 10000},
     .names = &kLlamaNames,
     .gguf_names = &kLlamaGgufNames,
     .class_stem = "Llama",
     .architectures = kDecoderClasses,
     .fixed_keys = kLlamaFixedKeys,
     .idle_keys = kIdleKeys},
    {.model_type = "mistral",
     .traits = kMistralTraits,
     .keys = llama_size_keys(131072),
     .rope = {.base = 10000},
     .names = &kLlamaNames,
     .class_stem = "Mistral",
     .architectures = kDecoderClasses,
     .fixed_keys = kUnbiasedFixedKeys,
     .idle_keys = kIdleKeys},
    {.model_type = "qwen2",
     .gguf_architecture = "qwen2",
     .traits = kQwen2Traits,
     .keys = llama_size_keys(32768),
     .rope = {.base = 10000},
     .names = &kLlamaNames,
     .gguf_names = &kQwenGgufNames,
     .class_stem = "Qwen2",
     .architectures = kDecoderClasses,
     .fixed_keys = kFixedKeys,
     .idle_keys = kIdleKeys},
    {.model_type = "qwen3",
     .gguf_architecture = "qwen3",
     .traits = kQwen3Traits,
     .keys = llama_size_keys(32768, 128),
     .rope = {.base = 10000},
     .names = &kLlamaNames,
     .gguf_names = &kQwenGgufNames,
     .class_stem = "Qwen3",
     .architectures = kDecoderClasses,
     .fixed_keys = kFixedKeys,
     .idle_keys = kIdleKeys},
    {.model_type = "phi3",
     .gguf_architecture = "phi3",
     .traits = kPhi3Traits,
     .keys = llama_size_keys(4096),
     .rope = {.base = 10000, .original_positions = 4096, .yarn_is_longrope = true},
     .names = &kPhi3Names,
     .gguf_names = &kPhi3GgufNames,
     .class_stem = "Phi3",
     .architectures = kDecoderClasses,
     .fixed_keys = kPhi3FixedKeys,
     .idle_keys = kIdleKeys},
    {.model_type = "gpt_oss",
     .gguf_architecture = "gpt-oss",
     .traits = kGptOssTraits,
     .keys = llama_size_keys(131072, 64),
     .rope = {.base = 150000,
              .absent_settings = R"({"rope_type": "yarn", "factor": 32.0, "truncate": false,
                                     "original_max_position_embeddings": 4096})",
              .truncate_in_gguf = false},
     .names = &kGptOssNames,
     .gguf_names = &kGptOssGgufNames,
     .class_stem = "GptOss",
     .architectures = kDecoderClasses,
     .fixed_keys = kFixedKeys,
     .idle_keys = kIdleKeys,
     .read = read_gpt_oss,
     .read_gguf = fill_swiglu},
};

}  // namespace

std::span<const Family> llama_families() { return kFamilies; }

}  // namespace sightline::model
