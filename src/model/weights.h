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

struct LayerWeights {
  ops::Linear query, key, value;  // [heads * head width, width]
  ops::Linear attention_output;   // [width, heads * head width]
  ops::LayerNorm attention_norm;
  ops::Linear mlp_up;    // [inner width, width]
  ops::Linear mlp_down;  // [width, inner width]
  ops::LayerNorm mlp_norm;
};

/// Logits: output(norm(activation(dense(hidden)))).
struct LanguageHead {
  ops::Linear dense;  // [width, width]
  ops::LayerNorm norm;
  ops::Linear output;  // [vocabulary, width]
};

/// The weights of a transformer by their part in it. Matrices stay where the file is mapped; vectors (biases and norms,
/// below a thousandth of a model) are widened to fp32.
struct Weights {
  ops::WeightMatrix word_embedding;        // [vocabulary, width]
  ops::WeightMatrix position_embedding;    // [max positions, width]
  ops::WeightMatrix token_type_embedding;  // [token types, width]; no rows without token types
  ops::LayerNorm embedding_norm;
  std::vector<LayerWeights> layers;
  std::optional<ops::Linear> pooler;  // [width, width]
  std::optional<LanguageHead> language_head;

  std::int64_t parameter_count = 0;
  std::vector<std::string> warnings;

  format::Checkpoint checkpoint;           // keeps the mapping
  std::deque<std::vector<float>> vectors;  // what biases and norms point at
};

/// Finds every tensor that `config` asks for in the checkpoint of `directory`, under any spelling that the family's
/// name map knows. Sets config.pooler and config.language_head to what the file holds. Throws BadFile: all missing
/// tensors in one message; a shape that does not fit, with the one expected; UnsupportedModel for an element type that
/// cannot be computed with.
Weights load_weights(const std::filesystem::path& directory, TransformerConfig& config);

}  // namespace sightline::model

#endif  // SIGHTLINE_MODEL_WEIGHTS_H_
