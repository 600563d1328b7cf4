#ifndef SIGHTLINE_MODEL_FAMILY_SHARED_H_
#define SIGHTLINE_MODEL_FAMILY_SHARED_H_

// What tables of several decoder families have in common.

#include "src/model/family.h"

namespace sightline::model {

inline constexpr ArchitectureEntry kDecoderClasses[] = {
    {"Model"},
    {"ForCausalLM", false, LanguageHead::output},
    {"ForSequenceClassification"},
    {"ForTokenClassification"},
    {"ForQuestionAnswering"},
};

/// What Llama and those built like it call their sizes, and two that families set themselves where a file does not.
constexpr SizeKeys llama_size_keys(std::int64_t positions, std::int64_t head_width = 0) {
  return {
      .width = {"hidden_size"},
      .layers = {"num_hidden_layers"},
      .query_heads = {"num_attention_heads"},
      .kv_heads = {"num_key_value_heads"},
      .head_width = {"head_dim", head_width},
      .inner_width = {"intermediate_size"},
      .max_positions = {"max_position_embeddings", positions},
      .norm_epsilon = "rms_norm_eps",
      .activation = "hidden_act",
  };
}

inline constexpr std::string_view kLlamaPrefixes[] = {"model."};
inline constexpr std::string_view kLlamaBuffers[] = {"rotary_emb.inv_freq"};
inline constexpr std::string_view kLlamaUnusedPrefixes[] = {"score.", "classifier.", "qa_outputs.",
                                                            "transformer.qa_outputs."};

/// Their tensors in the layout of Hugging Face.
inline constexpr NameMap kLlamaNames = {
    .prefixes = kLlamaPrefixes,
    .word_embedding = "embed_tokens",
    .attention_norm = "layers.{}.input_layernorm",
    .query = "layers.{}.self_attn.q_proj",
    .key = "layers.{}.self_attn.k_proj",
    .value = "layers.{}.self_attn.v_proj",
    .query_norm = "layers.{}.self_attn.q_norm",
    .key_norm = "layers.{}.self_attn.k_norm",
    .attention_output = "layers.{}.self_attn.o_proj",
    .mlp_norm = "layers.{}.post_attention_layernorm",
    .gate = "layers.{}.mlp.gate_proj",
    .up = "layers.{}.mlp.up_proj",
    .down = "layers.{}.mlp.down_proj",
    .final_norm = "norm",
    .head_output = "lm_head",
    .buffers = kLlamaBuffers,
    .unused_prefixes = kLlamaUnusedPrefixes,
};

/// How the tensors of an architecture in GGUF's layout differ from the common names.
struct GgufNameOptions {
  HeadLayout heads = HeadLayout::separate;
  GateLayout gates = GateLayout::separate;
  bool position_embedding = false;
  bool norms_around = false;  // post_attention_norm and post_ffw_norm are those of branches: Gemma
  bool experts = false;       // post_attention_norm is the norm before them: gpt-oss
  bool adjacent_pairs = false;
};

inline constexpr std::string_view kGgufBuffers[] = {"attn_rot_embd", "rope_freqs.weight", "rope_factors_long.weight",
                                                    "rope_factors_short.weight"};

constexpr NameMap gguf_names(const GgufNameOptions& options) {
  NameMap names = {
      .word_embedding = "token_embd",
      .attention_norm = "blk.{}.attn_norm",
      .query = "blk.{}.attn_q",
      .key = "blk.{}.attn_k",
      .value = "blk.{}.attn_v",
      .fused_heads = "blk.{}.attn_qkv",
      .query_norm = "blk.{}.attn_q_norm",
      .key_norm = "blk.{}.attn_k_norm",
      .attention_output = "blk.{}.attn_output",
      .sinks = "blk.{}.attn_sinks.weight",
      .mlp_norm = "blk.{}.ffn_norm",
      .gate = "blk.{}.ffn_gate",
      .up = "blk.{}.ffn_up",
      .fused_gates = "blk.{}.ffn_up",
      .down = "blk.{}.ffn_down",
      .router = "blk.{}.ffn_gate_inp",
      .expert_weight = ".weight",
      .expert_bias = ".bias",
      .final_norm = "output_norm",
      .head_output = "output",
      .heads = options.heads,
      .gates = options.gates,
      .adjacent_pairs = options.adjacent_pairs,
      .buffers = kGgufBuffers,
  };
  if (options.position_embedding) names.position_embedding = "position_embd";
  if (options.norms_around) {
    names.attention_post_norm = "blk.{}.post_attention_norm";
    names.mlp_post_norm = "blk.{}.post_ffw_norm";
  }
  if (options.experts) {
    names.mlp_norm = "blk.{}.post_attention_norm";
    names.gate = "blk.{}.ffn_gate_exps";
    names.up = "blk.{}.ffn_up_exps";
    names.down = "blk.{}.ffn_down_exps";
  }
  return names;
}

}  // namespace sightline::model

#endif  // SIGHTLINE_MODEL_FAMILY_SHARED_H_
