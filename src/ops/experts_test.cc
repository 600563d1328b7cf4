#include "src/ops/experts.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "src/cpu/target.h"

namespace sightline::ops {
namespace {

TEST(Experts, TakesTheBestAndWeighsThemBySoftmax) {
  const std::vector<float> logits = {1, 3,   2,  0,   // experts 1 and 2
                                     5, 5,   5,  5,   // ties: 0 and 1
                                     0, NAN, -2, 1};  // NaN last: 3 and 0
  const ExpertChoice choice = choose_experts(logits.data(), 3, 4, 2);
  const auto weight_of = [&](std::size_t expert, std::int64_t row) {
    for (const ExpertRow& chosen : choice.rows[expert]) {
      if (chosen.row == row) return static_cast<double>(chosen.weight);
    }
    return 0.0;
  };
  const double e = std::exp(1.0);
  const double want[3][4] = {{0, e / (e + 1), 1 / (e + 1), 0}, {0.5, 0.5, 0, 0}, {1 / (e + 1), 0, 0, e / (e + 1)}};
  for (std::int64_t row = 0; row < 3; ++row) {
    for (std::size_t expert = 0; expert < 4; ++expert) EXPECT_NEAR(want[row][expert], weight_of(expert, row), 1e-7);
  }
}

TEST(Experts, AddsWeightedRowsAlikeOnEveryTarget) {
  constexpr std::int64_t kWidth = 37;
  std::vector<ExpertRow> chosen;
  std::vector<float> x;
  for (std::int64_t i = 0; i < 40; ++i) {
    chosen.push_back({3 * i, 0.1f * static_cast<float>(i)});
    for (std::int64_t c = 0; c < kWidth; ++c) x.push_back(std::sin(static_cast<float>(i * kWidth + c)));
  }
  const auto run = [&](int threads) {
    std::vector<float> y(120 * kWidth, 0.25f);
    add_expert(chosen, x.data(), kWidth, y.data(), threads);
    return y;
  };
  const std::vector<float> y = run(1);
  for (std::int64_t i = 0; i < 120 * kWidth; ++i) {
    const std::int64_t row = i / kWidth, from = row / 3;
    const double added = row % 3 == 0 ? static_cast<double>(chosen[from].weight) * x[from * kWidth + i % kWidth] : 0.0;
    ASSERT_NEAR(0.25 + added, y[i], 1e-6);
  }
  for (const std::string& target : cpu::available_targets()) {
    cpu::force_target(target);
    const std::vector<float> other = run(2);
    EXPECT_EQ(0, std::memcmp(y.data(), other.data(), y.size() * sizeof(float))) << target;
  }
  cpu::force_target("");
}

}  // namespace
}  // namespace sightline::ops
