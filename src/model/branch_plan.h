#ifndef SIGHTLINE_MODEL_BRANCH_PLAN_H_
#define SIGHTLINE_MODEL_BRANCH_PLAN_H_

#include <cstdint>
#include <span>
#include <vector>

#include "sightline/transformer.h"

namespace sightline::model {

/// Where a branch leaves the whole pass. Knock-outs of keys that a row does not see change nothing, and are passed
/// over, and so are those that leave the rows alone whose last hidden state is asked for.
struct BranchPlan {
  int layer = 0;  // the lowest one with an edge that is cut; config.layers: there is none
  std::vector<std::int64_t>
      rows;  // those that lose an edge in that layer, of the last layer those asked for, ascending
  // From this row on layers above may give something else: where rows see both ways 0, otherwise the first one that
  // loses an edge in any layer.
  std::int64_t first_row = 0;
};

BranchPlan plan_branch(const TransformerConfig& config, std::int64_t tokens, PositionRange asked,
                       std::span<const KnockOut> knock_outs);

}  // namespace sightline::model

#endif  // SIGHTLINE_MODEL_BRANCH_PLAN_H_
