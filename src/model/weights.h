#ifndef SIGHTLINE_MODEL_WEIGHTS_H_
#define SIGHTLINE_MODEL_WEIGHTS_H_

#include <cstdint>
#include <deque>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "src/format/checkpoint.h"
#include "src/model/config.h"
#include "src/ops/linear.h"
#include "src/ops/norm.h"
#include "src/ops/weight_matrix.h"

namespace sightline::model {

/// How the heads of query, key and value lie in what the projections give for a token.
enum class HeadLayout : std::uint8_t {
  separate,  // three projections
  blocks,    // one: all query heads, then all key heads, then all value heads (GPT-2, Phi-3)
  grouped,   // one: query, key and value of head 0, then of head 1, ... (GPT-NeoX)
};

struct AttentionWeights {
  HeadLayout layout = HeadLayout::separate;
  ops::Linear query, key, value;   // separate: [heads * head width, width]
  ops::Linear fused;               // otherwise: [(query heads + 2 kv heads) * head width, width]
  ops::Norm query_norm, key_norm;  // [head width], with query_key_norm
  const float* sinks = nullptr;    // [query heads], or null
  ops::Linear output;              // [width, query heads * head width]
};

/// How gate and up lie in what the first linear layers of a gated MLP give for a token.
enum class GateLayout : std::uint8_t {
  separate,     // two layers
  halves,       // one: all of gate, then all of up (Phi-3)
  interleaved,  // one: gate 0, up 0, gate 1, ... (gpt-oss in Hugging Face's layout)
};

/// A plain MLP has `up` and `down` alone.
struct MlpWeights {
  GateLayout layout = GateLayout::separate;
  ops::Linear gate, up;  // separate: [inner width, width]
  ops::Linear fused;     // otherwise: [2 inner width, width]
  ops::Linear down;      // [width, inner width]
};

/// Norms that the block's NormPlace does not have are empty (scale null).
struct LayerWeights {
  ops::Norm attention_norm;       // before, around: of its input; after: of the sum
  ops::Norm attention_post_norm;  // around: of its output
  AttentionWeights attention;
  ops::Norm mlp_norm, mlp_post_norm;
  MlpWeights mlp;                   // one that every token goes through
  ops::Linear router;               // experts: [count, width]
  std::vector<MlpWeights> experts;  // experts: one each
};

struct LanguageHeadWeights {
  ops::Linear dense;   // transform: [embedding width, width]
  ops::Norm norm;      // transform
  ops::Linear output;  // [vocabulary, embedding width]
};

/// The weights of a transformer by their part in it. Matrices stay where the file is mapped; vectors (biases and norms,
/// below a thousandth of a model) are widened to fp32. Norms that count from 1 (Gemma in Hugging Face's layout) have
/// the 1 added.
struct Weights {
  ops::WeightMatrix word_embedding;        // [vocabulary, embedding width]
  ops::WeightMatrix position_embedding;    // [position offset + max positions, embedding width], or no rows
  ops::WeightMatrix token_type_embedding;  // [token types, embedding width]; no rows without token types
  ops::Norm embedding_norm;
  ops::Linear embedding_projection;  // [width, embedding width] where they differ
  std::vector<LayerWeights> groups;  // [layer groups]
  ops::Norm final_norm;
  std::optional<ops::Linear> pooler;  // [width, width]
  std::optional<LanguageHeadWeights> language_head;

  std::int64_t parameter_count = 0;
  std::vector<std::string> warnings;

  format::Checkpoint checkpoint;           // keeps the mapping
  std::deque<std::vector<float>> vectors;  // what biases and norms point at

  const LayerWeights& layer(std::int64_t l, const TransformerConfig& config) const {
    return groups[static_cast<std::size_t>(l * config.layer_groups / config.layers)];
  }
};

/// Finds every tensor that `config` asks for in `checkpoint`, which the weights keep, under any spelling that the
/// family's name map knows. Sets in `config` what only the tensors say: pooler and language head that the file holds,
/// and for GGUF files what parse_gguf_config() leaves open. Throws BadFile: all that is missing or misshapen in one
/// message, with the shapes expected; UnsupportedModel for an element type that cannot be computed with.
Weights load_weights(format::Checkpoint checkpoint, TransformerConfig& config);

/// Transformer::token_weight_bytes().
std::int64_t token_weight_bytes(const Weights& weights, const TransformerConfig& config);

}  // namespace sightline::model

#endif  // SIGHTLINE_MODEL_WEIGHTS_H_
