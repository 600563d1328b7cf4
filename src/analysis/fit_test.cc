#include "src/analysis/fit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace sightline::analysis {
namespace {

TEST(FittedExponent, FindsThePowerOfAPower) {
  const std::vector<double> x = {1, 2, 4, 10, 300};
  for (const double power : {-1.5, 0.0, 1.0, 2.0}) {
    std::vector<double> y;
    for (const double at : x) y.push_back(7 * std::pow(at, power));
    EXPECT_NEAR(fitted_exponent(x, y), power, 1e-12);
  }
}

// Slope of (0, 0), (1, 2), (2, 1) in logarithms to base 2: (1 * 1) / 2.
TEST(FittedExponent, IsTheLeastSquaresSlopeOfTheLogarithms) {
  const std::vector<double> x = {1, 2, 4}, y = {1, 4, 2};
  EXPECT_NEAR(fitted_exponent(x, y), 0.5, 1e-12);
}

TEST(FittedExponent, IsNoNumberWhereNothingCanBeFitted) {
  const std::vector<double> one = {3}, same = {3, 3}, zero = {1, 0};
  EXPECT_TRUE(std::isnan(fitted_exponent(one, one)));
  EXPECT_TRUE(std::isnan(fitted_exponent(same, same)));
  EXPECT_TRUE(std::isnan(fitted_exponent(same, zero)));
  EXPECT_TRUE(std::isnan(fitted_exponent({}, {})));
}

}  // namespace
}  // namespace sightline::analysis
