#ifndef SIGHTLINE_MODEL_FROZEN_H_
#define SIGHTLINE_MODEL_FROZEN_H_

#include <span>
#include <vector>

#include "src/ops/norm.h"
#include "src/ops/weight_matrix.h"

namespace sightline::model {

// Linear maps taken backwards, in fp64: from a direction at their output to the one at their input that gives the same
// dot product.

/// A dot product with the output of an affine map: direction . x + constant for its input x.
struct PulledBack {
  std::vector<double> direction;
  double constant = 0;
};

double dot(std::span<const double> direction, std::span<const float> x);

/// Through a norm with the divisor that it has for x.
PulledBack through_norm(const ops::Norm& norm, std::span<const float> x, std::span<const double> direction);

/// direction [rows] times the matrix, [cols]: rows whose factor is 0 are not read.
std::vector<double> through_matrix(const ops::WeightMatrix& matrix, std::span<const double> direction);

/// Through an activation, which has given `activated` for x: factors activated / x.
std::vector<double> through_gate(std::span<const float> x, std::span<const float> activated,
                                 std::span<const double> direction);

}  // namespace sightline::model

#endif  // SIGHTLINE_MODEL_FROZEN_H_
