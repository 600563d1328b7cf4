// GPT-2 and GPT-NeoX: LayerNorm before each branch, a plain MLP, heads in one projection.

#include "src/model/family.h"
#include "src/model/family_shared.h"

namespace sightline::model {
namespace {

constexpr Traits kTraits = {
    .norm_place = NormPlace::before,
    .norm_epsilon = 1e-5,
    .final_norm = true,
    .causal = true,
    .biases = {Biases::all, Biases::all, Biases::all},
};

constexpr Traits kGpt2Traits = [] {
  Traits traits = kTraits;
  traits.activation = Activation::gelu_tanh;
  traits.position_embedding = true;
  traits.tied = true;
  return traits;
}();

constexpr Traits kNeoXTraits = [] {
  Traits traits = kTraits;
  traits.attention_bias_key = true;
  return traits;
}();

constexpr SizeKeys kGpt2Keys = {
    .width = {"n_embd"},
    .layers = {"n_layer"},
    .query_heads = {"n_head"},
    .inner_width = {"n_inner"},
    .max_positions = {"n_positions", 1024},
    .norm_epsilon = "layer_norm_epsilon",
    .activation = "activation_function",
};

constexpr SizeKeys kNeoXKeys = {
    .width = {"hidden_size"},
    .layers = {"num_hidden_layers"},
    .query_heads = {"num_attention_heads"},
    .inner_width = {"intermediate_size"},
    .max_positions = {"max_position_embeddings", 2048},
    .norm_epsilon = "layer_norm_eps",
    .activation = "hidden_act",
};

constexpr ArchitectureEntry kGpt2Classes[] = {
    {"Model"},
    {"LMHeadModel", false, LanguageHead::output},
    {"DoubleHeadsModel", false, LanguageHead::output},
    {"ForSequenceClassification"},
    {"ForTokenClassification"},
    {"ForQuestionAnswering"},
};

constexpr FixedKey kGpt2FixedKeys[] = {
    {"scale_attn_by_inverse_layer_idx", "false"},
};

// Dropout acts in training alone, the summary in a head that is not run; reorder_and_upcast_attn says in which
// precision other software computes the scores; n_ctx is n_positions once more.
constexpr std::string_view kGpt2IdleKeys[] = {
    "attn_pdrop",
    "embd_pdrop",
    "is_decoder",
    "n_ctx",
    "reorder_and_upcast_attn",
    "resid_pdrop",
    "summary_activation",
    "summary_first_dropout",
    "summary_hidden_size",
    "summary_proj_to_labels",
    "summary_type",
    "summary_use_proj",
};

constexpr std::string_view kNeoXIdleKeys[] = {"attention_dropout", "hidden_dropout", "is_decoder", "rope_theta"};

constexpr std::string_view kGpt2Prefixes[] = {"transformer."};
constexpr std::string_view kGpt2Buffers[] = {"attn.bias", "attn.masked_bias"};
constexpr std::string_view kNeoXPrefixes[] = {"gpt_neox."};
constexpr std::string_view kNeoXBuffers[] = {"attention.bias", "attention.masked_bias", "attention.rotary_emb.inv_freq",
                                             "rotary_emb.inv_freq"};
constexpr std::string_view kUnusedPrefixes[] = {"score.", "classifier.", "qa_outputs.", "multiple_choice_head."};

constexpr NameMap kGpt2Names = {
    .prefixes = kGpt2Prefixes,
    .word_embedding = "wte",
    .position_embedding = "wpe",
    .attention_norm = "h.{}.ln_1",
    .fused_heads = "h.{}.attn.c_attn",
    .attention_output = "h.{}.attn.c_proj",
    .mlp_norm = "h.{}.ln_2",
    .up = "h.{}.mlp.c_fc",
    .down = "h.{}.mlp.c_proj",
    .final_norm = "ln_f",
    .head_output = "lm_head",
    .heads = HeadLayout::blocks,
    .transposed = true,
    .buffers = kGpt2Buffers,
    .unused_prefixes = kUnusedPrefixes,
};

constexpr NameMap kNeoXNames = {
    .prefixes = kNeoXPrefixes,
    .word_embedding = "embed_in",
    .attention_norm = "layers.{}.input_layernorm",
    .fused_heads = "layers.{}.attention.query_key_value",
    .attention_output = "layers.{}.attention.dense",
    .mlp_norm = "layers.{}.post_attention_layernorm",
    .up = "layers.{}.mlp.dense_h_to_4h",
    .down = "layers.{}.mlp.dense_4h_to_h",
    .final_norm = "final_layer_norm",
    .head_output = "embed_out",
    .heads = HeadLayout::grouped,
    .buffers = kNeoXBuffers,
    .unused_prefixes = kUnusedPrefixes,
};

constexpr NameMap kGpt2GgufNames = gguf_names({.heads = HeadLayout::blocks, .position_embedding = true});

void read_gpt2(const ConfigKeys& keys, TransformerConfig& config) {
  if (!keys.find_bool("scale_attn_weights").value_or(true)) config.attention_scale = 1.0f;
}

void read_neox(const ConfigKeys& keys, TransformerConfig& config) {
  config.parallel_residual = keys.find_bool("use_parallel_residual").value_or(true);
}

constexpr Family kFamilies[] = {
    {.model_type = "gpt2",
     .gguf_architecture = "gpt2",
     .traits = kGpt2Traits,
     .keys = kGpt2Keys,
     .names = &kGpt2Names,
     .gguf_names = &kGpt2GgufNames,
     .class_stem = "GPT2",
     .architectures = kGpt2Classes,
     .fixed_keys = kGpt2FixedKeys,
     .idle_keys = kGpt2IdleKeys,
     .read = read_gpt2},
    {.model_type = "gpt_neox",
     .traits = kNeoXTraits,
     .keys = kNeoXKeys,
     .rope = {.base = 10000, .base_key = "rotary_emb_base", .partial_key = "rotary_pct", .partial = 0.25},
     .names = &kNeoXNames,
     .class_stem = "GPTNeoX",
     .architectures = kDecoderClasses,
     .idle_keys = kNeoXIdleKeys,
     .read = read_neox},
};

}  // namespace

std::span<const Family> gpt_families() { return kFamilies; }

}  // namespace sightline::model
