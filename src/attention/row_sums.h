#ifndef SIGHTLINE_ATTENTION_ROW_SUMS_H_
#define SIGHTLINE_ATTENTION_ROW_SUMS_H_

#include <cstdint>

#include "src/attention/head_problem.h"
#include "src/attention/head_sight.h"
#include "src/observe/chain_fold.h"
#include "src/tensor/aligned_buffer.h"

namespace sightline {

/// Sums over the rows of one head, in 16 sub-chains each; see observe/row_sums-inl.h.
struct RowSums {
  AlignedBuffer<float> mass;      // [keys, kChains]
  AlignedBuffer<float> overview;  // [overview cols, kChains] of the bin of rows that the next row falls in
};

/// The sub-chain that a row is added to.
inline int chain_of_row(const HeadProblem& head, std::int64_t row) {
  const std::int64_t position = head.query_position + row;
  return static_cast<int>(((position % kChains) + kChains) % kChains);
}

/// base^exponent by multiplications from the left, the same everywhere.
inline float power(float base, int exponent) {
  float result = 1;
  for (int i = 0; i < exponent; ++i) result *= base;
  return result;
}

/// What the 16 sums of a key come to after the head's last row.
class MassReader {
 public:
  MassReader(const HeadProblem& head, const HeadSight& sight) {
    const int last = chain_of_row(head, head.rows - 1);
    for (int r = 0; r < kChains; ++r) decay_[r] = power(sight.mass_decay, (last - r + kChains) % kChains);
  }

  /// sums: chain r at sums[r * stride].
  float read(const float* sums, std::int64_t stride) const {
    float chains[kChains];
    for (int r = 0; r < kChains; ++r) chains[r] = sums[r * stride] * decay_[r];
    return fold_chains(chains);
  }

 private:
  float decay_[kChains];  // since the chain's last row
};

}  // namespace sightline

#endif  // SIGHTLINE_ATTENTION_ROW_SUMS_H_
