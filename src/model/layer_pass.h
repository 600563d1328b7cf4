#ifndef SIGHTLINE_MODEL_LAYER_PASS_H_
#define SIGHTLINE_MODEL_LAYER_PASS_H_

#include <span>

#include "src/model/feed_forward.h"
#include "src/model/pass.h"
#include "src/model/self_attention.h"
#include "src/model/weights.h"

namespace sightline::model {

/// The layers of a pass: attention and MLP with their norms and residual sums.
class LayerPass {
 public:
  LayerPass(const Weights& weights, const Pass& pass);

  /// hidden [rows, width], what goes into a layer, becomes what comes out of it: [query rows, width], at its beginning.
  std::span<float> run(int layer, std::span<float> hidden);

 private:
  std::span<float> run_parallel(int layer, const LayerWeights& weights, std::span<float> hidden);
  std::span<float> keep_query_rows(std::span<float> hidden) const;
  void add_branch(const ops::Norm& post_norm, std::span<float> hidden);
  const float* normalised(const ops::Norm& norm, std::span<const float> hidden);

  const Weights& weights_;
  const Pass& pass_;
  SelfAttention attention_;
  FeedForward feed_forward_;
};

/// rows [count, width] = norm(rows), in place.
void normalise_rows(const Pass& pass, const ops::Norm& norm, std::span<float> rows);

}  // namespace sightline::model

#endif  // SIGHTLINE_MODEL_LAYER_PASS_H_
