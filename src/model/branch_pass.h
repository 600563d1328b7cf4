#ifndef SIGHTLINE_MODEL_BRANCH_PASS_H_
#define SIGHTLINE_MODEL_BRANCH_PASS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "src/model/branch_plan.h"
#include "src/model/branches.h"
#include "src/model/layer_pass.h"
#include "src/model/layer_progress.h"
#include "src/model/pass.h"
#include "src/model/trunk.h"

namespace sightline::model {

struct PlannedBranch {
  std::span<const KnockOut> knock_outs;
  BranchPlan plan;
};

/// Bytes that a pass takes for each row of a branch.
std::int64_t branch_row_bytes(const TransformerConfig& config);

/// Some branches at once, layer by layer: each joins in the lowest layer that it cuts, with the rows that it cuts
/// there; above it all rows from its first one on go through, in the last layer from attention on those that are asked
/// for.
class BranchPass {
 public:
  /// done: the counter of operations, to be added to.
  BranchPass(Trunk& trunk, std::span<const PlannedBranch> branches, PassMemory& memory, LayerProgress& progress,
             double& done);
  ~BranchPass();

  void run();
  /// Tells of all branches in order, and gives them their logits, many at once. `first`: the number of the first one.
  void tell(std::size_t first, const Branches::Reader& read);

 private:
  struct Rows;  // rows of the text, of some branches, that go through a layer together

  std::int64_t width() const { return trunk_.config().width; }
  bool is_visible(std::size_t b) const { return branches_[b].plan.layer < trunk_.config().layers; }
  bool is_last(int layer) const { return layer + 1 == trunk_.config().layers; }
  PositionRange rows_of(std::size_t b) const;
  std::span<float> hidden_of(std::size_t b);
  std::int64_t joined_rows() const;
  void number_rows();
  void begin_rows(int layer);
  std::vector<std::int64_t> same_rows(int layer) const;
  void run_joined(int layer);
  void join(int layer, std::size_t end);
  void join_with(std::size_t b, int layer, const float* cut);
  void normalise_joined();
  std::vector<std::int64_t> logit_rows_of(std::size_t b) const;
  std::size_t tell_some(std::size_t begin, std::size_t first, const Branches::Reader& read);
  BranchResult result_of(std::size_t b, const std::vector<std::int64_t>& changed, std::span<const float> changed_logits,
                         std::vector<float>& all_logits);

  Trunk& trunk_;
  const std::span<const PlannedBranch> branches_;
  PassMemory& memory_;
  LayerProgress& progress_;
  double& done_;
  std::vector<std::size_t> order_;       // of the branches that cut something, by their lowest layer
  PositionRange held_;                   // rows of the text that stand in hidden_, of each branch from its first one on
  std::vector<std::int64_t> row_begin_;  // [branches] where rows of each stand in hidden_, by order_
  std::int64_t rows_held_ = 0;           // of all branches
  std::vector<float> hidden_;            // [rows of all branches, width]
  std::size_t joined_ = 0;               // of order_
  std::unique_ptr<Rows> rows_;           // of those that have joined
};

}  // namespace sightline::model

#endif  // SIGHTLINE_MODEL_BRANCH_PASS_H_
