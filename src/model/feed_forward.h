#ifndef SIGHTLINE_MODEL_FEED_FORWARD_H_
#define SIGHTLINE_MODEL_FEED_FORWARD_H_

#include <cstdint>
#include <span>

#include "src/model/pass.h"
#include "src/model/weights.h"
#include "src/ops/experts.h"

namespace sightline::model {

/// Rows that go through an MLP together: the inner rows, 4 to 8 times as wide as the model, need memory for so many
/// alone, and the weights are read once for that many.
inline constexpr std::int64_t kFeedForwardRows = 512;

/// values = activation(values).
void activate(Activation activation, std::span<float> values, int threads);

/// The MLP of a layer: plain, gated or of routed experts.
class FeedForward {
 public:
  explicit FeedForward(const Pass& pass) : pass_(pass) {}

  /// x, y [rows, width].
  void run(const LayerWeights& weights, const float* x, std::int64_t rows, float* y);

 private:
  void run_rows(const LayerWeights& weights, const float* x, std::int64_t rows, float* y);
  void run_experts(const LayerWeights& weights, const float* x, std::int64_t rows, float* y);
  void run_expert(const MlpWeights& expert, const std::vector<ops::ExpertRow>& chosen, const float* x, float* y);
  // One MLP, of x [rows, width] into y.
  void plain(const MlpWeights& mlp, const float* x, std::int64_t rows, float* y);
  void gated(const MlpWeights& mlp, const float* x, std::int64_t rows, float* y);
  void gate(const MlpWeights& mlp, std::int64_t rows, const float* from, float* to) const;

  const Pass& pass_;
};

}  // namespace sightline::model

#endif  // SIGHTLINE_MODEL_FEED_FORWARD_H_
