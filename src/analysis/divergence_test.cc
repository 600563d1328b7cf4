#include "src/analysis/divergence.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace sightline::analysis {
namespace {

using Row = std::vector<double>;

// As the textbooks have it: each distribution's distance from their mean.
double by_definition(const Row& p, const Row& q) {
  const auto from_mean = [&](const Row& of) {
    double sum = 0;
    for (std::size_t i = 0; i < p.size(); ++i) sum += of[i] > 0 ? of[i] * std::log(2 * of[i] / (p[i] + q[i])) : 0;
    return sum;
  };
  return (from_mean(p) + from_mean(q)) / 2;
}

double binary_entropy(double x) { return x <= 0 || x >= 1 ? 0 : -x * std::log(x) - (1 - x) * std::log(1 - x); }

Row made_row(std::size_t keys) {
  Row row;
  double sum = 0;
  for (std::size_t i = 0; i < keys; ++i) {
    row.push_back(*rc::gen::inRange(0, 1000));
    sum += row.back();
  }
  for (double& weight : row) weight = sum > 0 ? weight / sum : 1 / static_cast<double>(keys);
  return row;
}

TEST(JensenShannon, IsNoughtOfEqualRowsAndLn2OfDisjointOnes) {
  const Row row = {0.1, 0.2, 0.3, 0.4, 0};
  EXPECT_EQ(jensen_shannon(row, row), 0);
  EXPECT_EQ(jensen_shannon({}, {}), 0);
  EXPECT_NEAR(jensen_shannon(Row{0.25, 0.75, 0, 0}, Row{0, 0, 0.5, 0.5}), std::log(2), 1e-16);
  EXPECT_NEAR(jensen_shannon(Row{1, 0}, Row{0, 1}), kMostDivergence, 1e-16);
}

// Of two points it is the entropy of the mean less the mean of the entropies.
TEST(JensenShannon, HasTheClosedFormOfTwoPoints) {
  for (int i = 0; i <= 100; ++i) {
    for (int j = 0; j <= 100; ++j) {
      const double a = i / 100.0, b = j / 100.0;
      const double expected = binary_entropy((a + b) / 2) - (binary_entropy(a) + binary_entropy(b)) / 2;
      EXPECT_NEAR(jensen_shannon(Row{a, 1 - a}, Row{b, 1 - b}), expected, 4e-16) << a << ' ' << b;
    }
  }
}

// Near to one another it is the sum of (p - q)^2 / (8 m), of which the definition leaves nothing but rounding.
TEST(JensenShannon, KeepsItsDigitsOfNearRows) {
  for (const double change : {1e-3, 1e-6, 1e-9}) {
    const double expected = change * change / 8 * (1 / (0.3 + change / 2) + 1 / (0.7 - change / 2));
    EXPECT_NEAR(jensen_shannon(Row{0.3, 0.7}, Row{0.3 + change, 0.7 - change}) / expected, 1, 1e-5) << change;
  }
}

RC_GTEST_PROP(JensenShannon, IsSymmetricAndBounded, ()) {
  const auto keys = *rc::gen::inRange<std::size_t>(1, 40);
  const Row p = made_row(keys), q = made_row(keys);
  const double divergence = jensen_shannon(p, q);
  RC_ASSERT(divergence == jensen_shannon(q, p));
  RC_ASSERT(divergence >= 0);
  RC_ASSERT(divergence <= kMostDivergence + 1e-15);
  RC_ASSERT(std::abs(divergence - by_definition(p, q)) < 1e-14);
  RC_ASSERT((divergence == 0) == (p == q));
}

TEST(JensenShannon, IsNotANumberWhereAWeightIsNone) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(std::isnan(jensen_shannon(Row{nan, 1}, Row{0, 1})));
  EXPECT_TRUE(std::isnan(jensen_shannon(Row{0, 1}, Row{0, nan})));
}

}  // namespace
}  // namespace sightline::analysis
