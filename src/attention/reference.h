#ifndef SIGHTLINE_ATTENTION_REFERENCE_H_
#define SIGHTLINE_ATTENTION_REFERENCE_H_

#include <cstdint>
#include <vector>

#include "sightline/attention.h"

namespace sightline::reference {

/// What plain fp64 attention gives. Arrays are dense; see Observations for meanings.
struct Result {
  std::vector<double> out;      // [B, Hq, Nq, Dv]
  std::vector<double> weights;  // [B, Hq, Nq, Nk]
  std::vector<double> scores;   // [B, Hq, Nq, Nk] after bias and mask; hidden = -inf
  std::vector<double> row_max, row_sum, lse, entropy, position, distance;  // [B, Hq, Nq]
};

/// The four steps - score, scale, softmax, mix - in plain fp64 loops, n^2 memory. What every kernel is tested against.
Result attention(const AttentionProblem& problem);

}  // namespace sightline::reference

#endif  // SIGHTLINE_ATTENTION_REFERENCE_H_
