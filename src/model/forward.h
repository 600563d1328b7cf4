#ifndef SIGHTLINE_MODEL_FORWARD_H_
#define SIGHTLINE_MODEL_FORWARD_H_

#include <cstdint>
#include <span>
#include <vector>

#include "src/model/transformer.h"
#include "src/model/weights.h"

namespace sightline::model {

/// Throws BadArgument: an empty sequence, one longer than the positions, an id or a type outside its embedding.
void check_batch(const TransformerConfig& config, std::span<const TokenSequence> batch);

/// One forward pass over a checked batch. The rows of all sequences stand one after the other, so that linear layers
/// see them as one matrix; attention is called for each sequence.
class ForwardPass {
 public:
  ForwardPass(const TransformerConfig& config, const Weights& weights, std::span<const TokenSequence> batch,
              const ForwardOptions& options);

  ForwardResult run();

 private:
  using Rows = std::vector<float>;  // [rows, some width]

  std::int64_t rows() const { return result_.row_begin.back(); }
  void embed();
  void run_layer(int layer);
  void attend(int layer);
  void attend_sequence(int layer, int sequence);
  void feed_forward(const LayerWeights& weights);
  void pool();
  void compute_logits();
  Rows apply(const ops::Linear& layer, const Rows& input) const;
  void activate(Rows& values) const;
  void add_and_normalise(const Rows& branch, const ops::LayerNorm& norm);

  const TransformerConfig& config_;
  const Weights& weights_;
  const std::span<const TokenSequence> batch_;
  const ForwardOptions& options_;
  ForwardResult result_;
  Rows hidden_;                   // [rows, width]
  Rows queries_, keys_, values_;  // [rows, heads * head width], of the layer at hand
  Rows context_;                  // as queries_: what attention gives
};

}  // namespace sightline::model

#endif  // SIGHTLINE_MODEL_FORWARD_H_
