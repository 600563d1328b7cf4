#include "src/model/frozen.h"

#include <cmath>
#include <numeric>

namespace sightline::model {

double dot(std::span<const double> direction, std::span<const float> x) {
  return std::inner_product(direction.begin(), direction.end(), x.begin(), 0.0);
}

// y = (x - mean) / divisor * scale + shift, where the mean is linear in x, too; RMSNorms have none.
PulledBack through_norm(const ops::Norm& norm, std::span<const float> x, std::span<const double> direction) {
  const auto width = static_cast<double>(x.size());
  const double mean = norm.centred ? std::accumulate(x.begin(), x.end(), 0.0) / width : 0;
  double squares = 0;
  for (const float value : x) squares += (value - mean) * (value - mean);
  const double divisor = std::sqrt(squares / width + static_cast<double>(norm.epsilon));
  PulledBack back{std::vector<double>(x.size()), 0};
  for (std::size_t i = 0; i < x.size(); ++i) {
    back.direction[i] = direction[i] * static_cast<double>(norm.scale[i]) / divisor;
    if (norm.shift != nullptr) back.constant += direction[i] * static_cast<double>(norm.shift[i]);
  }
  if (!norm.centred) return back;
  const double centre = std::accumulate(back.direction.begin(), back.direction.end(), 0.0) / width;
  for (double& value : back.direction) value -= centre;
  return back;
}

std::vector<double> through_matrix(const ops::WeightMatrix& matrix, std::span<const double> direction) {
  std::vector<double> result(static_cast<std::size_t>(matrix.cols));
  std::vector<float> row(static_cast<std::size_t>(matrix.transposed ? matrix.rows : matrix.cols));
  for (std::int64_t r = 0; r < (matrix.transposed ? matrix.cols : matrix.rows); ++r) {
    const auto at = static_cast<std::size_t>(r);
    if (!matrix.transposed && direction[at] == 0) continue;
    ops::widen(matrix.stored_row(r), matrix.dtype, row);
    if (matrix.transposed) {
      result[at] = dot(direction, row);
    } else {
      for (std::size_t i = 0; i < row.size(); ++i) result[i] += direction[at] * static_cast<double>(row[i]);
    }
  }
  return result;
}

// Every activation here is x times a gate in [0, 1], or a little outside for the approximation with tanh; at 0 the
// gate's value has no effect on the sum, and half is what all smooth ones have there.
std::vector<double> through_gate(std::span<const float> x, std::span<const float> activated,
                                 std::span<const double> direction) {
  std::vector<double> result(direction.begin(), direction.end());
  for (std::size_t i = 0; i < x.size(); ++i) {
    result[i] *= x[i] != 0 ? static_cast<double>(activated[i]) / static_cast<double>(x[i]) : 0.5;
  }
  return result;
}

}  // namespace sightline::model
