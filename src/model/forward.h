#ifndef SIGHTLINE_MODEL_FORWARD_H_
#define SIGHTLINE_MODEL_FORWARD_H_

#include <cstdint>
#include <span>
#include <vector>

#include "src/model/layer_pass.h"
#include "src/model/pass.h"
#include "src/model/weights.h"

namespace sightline::model {

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
  void keep_hidden();
  Rows asked(const Rows& rows) const;
  void pool();
  void compute_logits();
  Rows last_rows() const;

  const Weights& weights_;
  const Pass pass_;
  LayerPass layers_;
  ForwardResult result_;
  Rows hidden_;  // [rows, width]
};

}  // namespace sightline::model

#endif  // SIGHTLINE_MODEL_FORWARD_H_
