#include "src/ops/likelihood.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "src/ops/sampling.h"

namespace sightline::ops {
namespace {

std::vector<std::int32_t> ids_of(const Likelihood& likelihood) {
  std::vector<std::int32_t> ids;
  for (const LikelyToken& token : likelihood.likeliest) ids.push_back(token.id);
  return ids;
}

TEST(Likelihood, OfEvenLogitsIsThatOfADie) {
  for (const int sides : {1, 2, 6, 1000}) {
    const std::vector<float> logits(static_cast<std::size_t>(sides), 3.25f);
    for (const std::int32_t id : {0, sides / 2, sides - 1}) {
      const Likelihood got = likelihood(logits, id, 3);
      EXPECT_NEAR(got.log_probability, -std::log(sides), 1e-14);
      EXPECT_EQ(got.rank, id + 1) << "of equals the lower id is first";
      std::vector<std::int32_t> want(static_cast<std::size_t>(std::min(sides, 3)));
      std::iota(want.begin(), want.end(), 0);
      EXPECT_EQ(ids_of(got), want);
    }
  }
}

// Against long double, whole sorts and the sampler's own log-probability.
TEST(Likelihood, AgreesWithSortingAndSumming) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal(0, 4);
  for (const std::size_t size : {1u, 7u, 333u, 5000u}) {
    std::vector<float> logits(size);
    for (float& logit : logits) logit = std::round(normal(random) * 8) / 8;  // equal ones among them
    std::vector<std::int32_t> order(size);
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, std::ranges::greater{}, [&](std::int32_t id) { return logits[id]; });
    long double total = 0;
    for (const float logit : logits) total += std::exp(static_cast<long double>(logit));
    for (int trial = 0; trial < 20; ++trial) {
      const auto id = static_cast<std::int32_t>(random() % size);
      const Likelihood got = likelihood(logits, id, 64);
      EXPECT_NEAR(got.log_probability, static_cast<double>(logits[id] - std::log(total)), 1e-12);
      EXPECT_EQ(got.log_probability, log_probability(logits, id));
      EXPECT_EQ(got.rank, 1 + (std::ranges::find(order, id) - order.begin()));
      const std::vector<std::int32_t> first(order.begin(),
                                            order.begin() + std::min<std::ptrdiff_t>(64, std::ssize(order)));
      EXPECT_EQ(ids_of(got), first);
      for (const LikelyToken& token : got.likeliest)
        EXPECT_EQ(token.log_probability, log_probability(logits, token.id));
    }
  }
}

TEST(Likelihood, HiddenAndDamagedLogits) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const std::vector<float> hidden = {-kInfinity, 0, 0, -kInfinity};
  EXPECT_EQ(likelihood(hidden, 0, 1).log_probability, -kInfinity);
  EXPECT_EQ(likelihood(hidden, 0, 1).rank, 3);
  EXPECT_NEAR(likelihood(hidden, 1, 1).log_probability, -std::log(2.0), 1e-15);
  const std::vector<float> damaged = {1, std::nanf(""), 2};
  EXPECT_TRUE(std::isnan(likelihood(damaged, 1, 2).log_probability));
}

}  // namespace
}  // namespace sightline::ops
