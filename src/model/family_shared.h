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
