#include "src/analysis/fit.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sightline::analysis {

double fitted_exponent(std::span<const double> x, std::span<const double> y) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  const std::size_t count = std::min(x.size(), y.size());
  double mean_x = 0, mean_y = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (!(x[i] > 0) || !(y[i] > 0)) return kNone;
    mean_x += std::log(x[i]) / static_cast<double>(count);
    mean_y += std::log(y[i]) / static_cast<double>(count);
  }
  double square = 0, product = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double dx = std::log(x[i]) - mean_x;
    square += dx * dx;
    product += dx * (std::log(y[i]) - mean_y);
  }
  return square > 0 ? product / square : kNone;
}

}  // namespace sightline::analysis
