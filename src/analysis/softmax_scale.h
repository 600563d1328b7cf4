#ifndef SIGHTLINE_ANALYSIS_SOFTMAX_SCALE_H_
#define SIGHTLINE_ANALYSIS_SOFTMAX_SCALE_H_

#include <cstdint>
#include <span>

#include "sightline/attention.h"
#include "src/analysis/normal_numbers.h"

namespace sightline::analysis {

/// How far the softmax of a row of scores is from saturation.
struct Softness {
  double entropy = 0;    // -sum w ln w, nats
  double gradient = 0;   // Frobenius norm of the Jacobian of w by the scores, diag(w) - w w^T
  double saturated = 0;  // 1 where one weight is above kSaturated
};
inline constexpr double kSaturated = 0.99;

/// Of one row, in fp64; scores of -inf are hidden keys. A row of hidden keys alone has 0 and 0.
Softness softness(std::span<const double> scores);

/// Sums over rows of dots with a scale and without one.
struct ScaleSums {
  std::int64_t rows = 0;
  Softness scaled, plain;                // sums; mean() divides
  double dots = 0, dot = 0, square = 0;  // how many dots there were, their sum and that of their squares

  void add(const ScaleSums& more);
  ScaleSums mean() const;
  /// Of the dots about their mean.
  double variance() const;
};

/// Rows of `keys` dots of vectors of width d drawn from N(0, 1), in batches of as many queries as keys; the scale is
/// 1/sqrt(d).
ScaleSums drawn_scale_sums(std::int64_t d, std::int64_t keys, std::int64_t batches, NormalNumbers& draw);

/// Of one head of a problem: `rows` of its rows, evenly apart and the last one among them, with the problem's scale and
/// with 1 in its place. What hides keys or changes scores is the problem's in both; a sink is left out of both.
ScaleSums head_scale_sums(const AttentionProblem& problem, std::int64_t head, std::int64_t rows);

}  // namespace sightline::analysis

#endif  // SIGHTLINE_ANALYSIS_SOFTMAX_SCALE_H_
