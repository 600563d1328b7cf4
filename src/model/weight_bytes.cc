#include "src/model/weights.h"

namespace sightline::model {
namespace {

std::int64_t bytes_of(const ops::Linear& layer) {
  const ops::WeightMatrix& matrix = layer.weight;
  return matrix.row_bytes() * (matrix.transposed ? matrix.cols : matrix.rows);
}

std::int64_t bytes_of(const AttentionWeights& weights) {
  return bytes_of(weights.query) + bytes_of(weights.key) + bytes_of(weights.value) + bytes_of(weights.fused) +
         bytes_of(weights.output);
}

std::int64_t bytes_of(const MlpWeights& weights) {
  return bytes_of(weights.gate) + bytes_of(weights.up) + bytes_of(weights.fused) + bytes_of(weights.down);
}

}  // namespace

std::int64_t token_weight_bytes(const Weights& weights, const TransformerConfig& config) {
  std::int64_t bytes = bytes_of(weights.embedding_projection);
  for (int l = 0; l < config.layers; ++l) {
    const LayerWeights& layer = weights.layer(l, config);
    bytes += bytes_of(layer.attention) + bytes_of(layer.mlp) + bytes_of(layer.router);
    if (!layer.experts.empty()) bytes += config.experts.used * bytes_of(layer.experts.front());  // all are of one shape
  }
  if (weights.language_head) bytes += bytes_of(weights.language_head->dense) + bytes_of(weights.language_head->output);
  return bytes;
}

}  // namespace sightline::model
