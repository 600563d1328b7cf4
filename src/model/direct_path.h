#ifndef SIGHTLINE_MODEL_DIRECT_PATH_H_
#define SIGHTLINE_MODEL_DIRECT_PATH_H_

#include <cstdint>
#include <span>
#include <vector>

#include "src/model/contributions.h"
#include "src/model/feed_forward.h"
#include "src/model/frozen.h"
#include "src/model/layer_progress.h"
#include "src/model/pass.h"
#include "src/model/self_attention.h"
#include "src/model/trunk.h"

namespace sightline::model {

/// Follows an answer down the residual sums, from the last layer to the first: in each layer the rows are computed once
/// more from the whole pass's input, so that nothing is kept of layers but the direction that the answer has there.
class DirectPath {
 public:
  /// weights: of the vocabulary, or of the last hidden state. `rows`: what the sum over rows is divided by.
  DirectPath(Trunk& trunk, std::vector<double> weights, bool of_logits, double rows);

  /// A few rows at a time. Throws Cancelled.
  void run(PositionRange rows, Progress* progress);
  const Contributions& result() const { return result_; }

 private:
  // What a layer makes of some rows, [rows, width] each.
  struct LayerRows {
    std::vector<float> attended, attention_sum;  // what attention adds, and x with it
    std::vector<float> fed, output;  // what the MLP adds, and the sum with it: what comes out but for a norm
  };

  void run_some(std::int64_t begin, std::int64_t end, LayerProgress& progress);
  LayerRows compute(const Pass& pass, SelfAttention& attention, FeedForward& feed_forward, int layer);
  void begin_directions(const Pass& pass, std::span<const float> output, std::int64_t first);
  PulledBack through_head(const Pass& pass, std::span<const float> row) const;
  void take_layer(const Pass& pass, int layer, const LayerRows& rows);
  void take_heads(const Pass& pass, int layer, const ops::Linear& projection);
  // direction [width] of row `r` goes through a norm of `input` [rows, width]; what is constant is the rest's.
  void pull(const ops::Norm& norm, std::span<const float> input, std::int64_t r, std::vector<double>& direction);
  std::span<const float> row(std::span<const float> rows, std::int64_t r) const;

  Trunk& trunk_;
  const TransformerConfig& config_;
  const std::vector<double> weights_;
  const bool of_logits_;
  const double rows_;
  std::vector<double> head_direction_;  // [embedding width] weights_ through the output matrix
  double head_constant_ = 0;
  PassMemory memory_;
  std::vector<std::vector<double>> directions_;       // of each row, at what comes out of the layer under way
  std::vector<std::vector<double>> head_directions_;  // at what its attention's output projection gives
  Contributions result_;
};

}  // namespace sightline::model

#endif  // SIGHTLINE_MODEL_DIRECT_PATH_H_
