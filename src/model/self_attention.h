#ifndef SIGHTLINE_MODEL_SELF_ATTENTION_H_
#define SIGHTLINE_MODEL_SELF_ATTENTION_H_

#include <vector>

#include "src/model/edge_cuts.h"
#include "src/model/pass.h"
#include "src/model/weights.h"
#include "src/ops/head_rows.h"
#include "src/ops/rope.h"

namespace sightline::model {

/// The model's ropes for a text of `length` tokens, all positions.
std::vector<ops::RopeTable> rope_tables(const TransformerConfig& config, std::int64_t length, int threads);

/// The attention of a layer: projections, norms of heads, rope, attention() for each sequence, output projection.
class SelfAttention {
 public:
  explicit SelfAttention(const Pass& pass);

  /// x [rows, width], y [query rows, width].
  void run(int layer, const AttentionWeights& weights, const float* x, float* y);

 private:
  // Heads of all rows, where the projection put them.
  struct Heads {
    ops::HeadRows query, key, value;
  };

  Heads project(const AttentionWeights& weights, const float* x);
  Heads project_fused(const AttentionWeights& weights, const float* x);
  void project_rows(const ops::Linear& layer, const float* x, float* y) const;
  void turn(int layer, const AttentionWeights& weights, const Heads& heads) const;
  void attend(int layer, int sequence, const AttentionWeights& weights, const Heads& heads);
  void run_attention(const LayerAttention& call, const MutableTensorView& out, Observations see);
  AttentionProblem make_problem(int layer, int sequence, const AttentionWeights& weights, const Heads& heads);
  void place_queries(std::int64_t position, AttentionProblem& problem);

  const Pass& pass_;
  const EdgeCuts cuts_;
  std::vector<ops::RopeTable> ropes_;  // of config.ropes, for the pass's rows
  SequenceSpan span_;                  // of a problem whose queries are not its last rows
};

}  // namespace sightline::model

#endif  // SIGHTLINE_MODEL_SELF_ATTENTION_H_
