#include "src/analysis/rank_correlation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <utility>

#include "sightline/error.h"

namespace sightline::analysis {
namespace {

using Values = std::vector<double>;

TEST(AverageRanks, GivesEqualValuesTheMeanOfTheirRanks) {
  EXPECT_EQ(average_ranks(Values{}), Values{});
  EXPECT_EQ(average_ranks(Values{7}), Values{1});
  EXPECT_EQ(average_ranks(Values{30, 10, 20}), (Values{3, 1, 2}));
  EXPECT_EQ(average_ranks(Values{1, 2, 2, 3}), (Values{1, 2.5, 2.5, 4}));
  EXPECT_EQ(average_ranks(Values{5, 5, 5}), (Values{2, 2, 2}));
  EXPECT_EQ(average_ranks(Values{-0.0, 0.0, -1}), (Values{2.5, 2.5, 1}));
}

// The textbook example of IQ and hours of television (d sums to 194 in 10 pairs): 1 - 6 * 194 / (10 * 99).
TEST(RankCorrelation, MeetsATextbookExample) {
  const Values iq = {106, 100, 86, 101, 99, 103, 97, 113, 112, 110};
  const Values hours = {7, 27, 2, 50, 28, 29, 20, 12, 6, 17};
  EXPECT_NEAR(rank_correlation(iq, hours), -29.0 / 165, 1e-15);
}

TEST(RankCorrelation, CountsTiesByTheirMeanRank) {
  // Ranks 1, 2.5, 2.5, 4 with 1, 3, 2, 4: 4.5 / sqrt(4.5 * 5).
  EXPECT_NEAR(rank_correlation(Values{1, 2, 2, 3}, Values{10, 30, 20, 40}), 4.5 / std::sqrt(4.5 * 5), 1e-15);
  // Ranks 1.5, 1.5, 3.5, 3.5 with 1, 2, 3, 4: 4 / sqrt(4 * 5).
  EXPECT_NEAR(rank_correlation(Values{0, 0, 1, 1}, Values{1, 2, 3, 4}), 4 / std::sqrt(20.0), 1e-15);
  // Half and half against each other: no correlation at all.
  EXPECT_NEAR(rank_correlation(Values{0, 0, 1, 1}, Values{0, 1, 0, 1}), 0, 1e-15);
}

TEST(RankCorrelation, IsOneForAnyRisingFunctionAndMinusOneForAnyFallingOne) {
  const Values x = {0.1, 3, -2, 8, 5.5};
  Values rising, falling;
  for (const double value : x) {
    rising.push_back(std::exp(value));
    falling.push_back(-value * value * value);
  }
  EXPECT_EQ(rank_correlation(x, rising), 1);
  EXPECT_EQ(rank_correlation(x, falling), -1);
}

// Without ties Spearman's closed form holds: 1 - 6 sum d^2 / (n (n^2 - 1)).
TEST(RankCorrelation, MeetsTheClosedFormWithoutTies) {
  std::mt19937_64 random(3);
  for (const std::size_t n : {2, 3, 10, 257}) {
    Values x(n), y(n);
    std::iota(x.begin(), x.end(), 1);
    std::iota(y.begin(), y.end(), 1);
    std::ranges::shuffle(y, random);
    double squares = 0;
    for (std::size_t i = 0; i < n; ++i) squares += (x[i] - y[i]) * (x[i] - y[i]);
    const auto count = static_cast<double>(n);
    EXPECT_NEAR(rank_correlation(x, y), 1 - 6 * squares / (count * (count * count - 1)), 1e-12);
  }
}

TEST(RankCorrelation, IsNoNumberWhereItIsNotDefined) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(std::isnan(rank_correlation(Values{}, Values{})));
  EXPECT_TRUE(std::isnan(rank_correlation(Values{1}, Values{2})));
  EXPECT_TRUE(std::isnan(rank_correlation(Values{1, 2, 3}, Values{4, 4, 4})));
  EXPECT_TRUE(std::isnan(rank_correlation(Values{1, nan, 3}, Values{4, 5, 6})));
  EXPECT_THROW(rank_correlation(Values{1, 2}, Values{1}), BadArgument);
}

// Of all orders of n pairs, the share of those that reach a size, either way.
double share_of_orders(std::size_t n, double size) {
  Values x(n), y(n);
  std::iota(x.begin(), x.end(), 1);
  std::iota(y.begin(), y.end(), 1);
  double orders = 0, reach = 0;
  do {
    ++orders;
    reach += std::abs(rank_correlation(x, y)) >= size;
  } while (std::next_permutation(y.begin(), y.end()));
  return reach / orders;
}

TEST(ChanceRankCorrelation, IsReachedOneTimeInTwenty) {
  for (const std::int64_t n : {0, 1, 2, 3, 4}) EXPECT_TRUE(std::isnan(chance_rank_correlation(n))) << n;
  EXPECT_GT(share_of_orders(4, 1), 0.05);
  for (const std::size_t n : {5, 6, 7, 8}) {
    const double size = chance_rank_correlation(static_cast<std::int64_t>(n));
    EXPECT_LE(share_of_orders(n, size + 0.02), 0.05) << n;
    EXPECT_GT(share_of_orders(n, size - 0.1), 0.05) << n;  // few orders: one step of the correlation lies between
  }
  // Zar's table (1972) of critical values.
  const std::pair<std::int64_t, double> table[] = {{10, 0.648}, {12, 0.587}, {14, 0.538}, {20, 0.447}, {30, 0.362}};
  for (const auto& [n, size] : table) EXPECT_NEAR(chance_rank_correlation(n), size, 0.01) << n;
}

}  // namespace
}  // namespace sightline::analysis
