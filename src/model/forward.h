#ifndef SIGHTLINE_MODEL_FORWARD_H_
#define SIGHTLINE_MODEL_FORWARD_H_

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "src/model/feed_forward.h"
#include "src/model/pass.h"
#include "src/model/self_attention.h"
#include "src/model/weights.h"

namespace sightline::model {

/// How many rows' logits a LogitReader is given at a time: 64 MiB of them, which are 64 rows of the largest
/// vocabularies, enough for linear layers to take each weight from memory for many rows.
inline std::int64_t logit_rows_read(std::int64_t vocabulary) {
  return std::max<std::int64_t>(1, (std::int64_t{64} << 20) / (vocabulary * std::int64_t{sizeof(float)}));
}

/// One forward pass over checked sequences: embeddings, layers with their norms and residual sums, heads.
/// docs/forward.md has the order of operations.
class ForwardPass {
 public:
  ForwardPass(const TransformerConfig& config, const Weights& weights, std::span<PassSequence> sequences,
              const ForwardOptions& options, PassMemory& memory);

  ForwardResult run();

 private:
  using Rows = std::vector<float>;  // [rows, some width]

  void embed();
  void add_embeddings(std::size_t sequence, float* rows) const;
  void number_positions(const PassSequence& text, std::span<std::int32_t> indexes) const;
  void run_layer(int layer);
  void run_parallel(int layer, const LayerWeights& weights);
  void add_branch(const ops::Norm& post_norm);
  void keep_hidden();
  Rows asked(const Rows& rows) const;
  void pool();
  void compute_logits();
  Rows last_rows() const;
  void logits_of(const float* rows, std::int64_t count, Rows& logits) const;
  Rows transform(const float* rows, std::int64_t count) const;
  const float* normalised(const ops::Norm& norm);
  void normalise_hidden(const ops::Norm& norm);

  const Weights& weights_;
  const Pass pass_;
  SelfAttention attention_;
  FeedForward feed_forward_;
  ForwardResult result_;
  Rows hidden_;  // [rows, width]
};

}  // namespace sightline::model

#endif  // SIGHTLINE_MODEL_FORWARD_H_
