#ifndef SIGHTLINE_TESTS_ATTENTION_ROW_BOUNDS_H_
#define SIGHTLINE_TESTS_ATTENTION_ROW_BOUNDS_H_

#include <vector>

#include "src/attention/reference.h"
#include "src/attention/reference_operands.h"
#include "tests/attention/random_problem.h"

namespace sightline::testing {

inline constexpr double kUnit = 0x1p-24;       // fp32 rounds by at most this much, relatively
inline constexpr double kSmallest = 0x1p-126;  // exp2 gives 0 below; smaller products may be lost

/// How far fp32 may be from the exact value in one row. A score is a chain of `width` fused multiply-adds on elements
/// that were rounded once when they were decoded, then a multiplication by the scale, a softcap, and additions: each
/// rounds once, relative to at most |scale| |q| |k|, to what is added, and to the score itself. That moves the exponent
/// of a weight; exp2, the sums and the rescaling by block add a few roundings each.
struct RowBounds {
  double score = 0;   // absolute, of any visible score
  double weight = 0;  // relative, of any weight, sum of weights or quotient of such
  bool nan = false;   // the row holds a NaN, and all of its sums are NaN
};

/// Of each row, [B, Hq, Nq].
std::vector<RowBounds> row_bounds(const RandomProblem& random, const reference::Result& expected);

/// Of a score before anything is added to it, for any pair of a query and key n of its sequence.
double raw_score_bound(const RandomProblem& random, const reference::Query& query, std::int64_t n);

/// The length of a value, its elements taken without signs.
double value_length(const RandomProblem& random, const reference::Query& query, std::int64_t n);

}  // namespace sightline::testing

#endif  // SIGHTLINE_TESTS_ATTENTION_ROW_BOUNDS_H_
