#include "src/ops/rope.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstring>
#include <random>
#include <vector>

#include "src/cpu/target.h"

namespace sightline::ops {
namespace {

std::vector<double> plain_frequencies(std::int64_t pairs, double base) {
  std::vector<double> frequencies(pairs);
  for (std::int64_t i = 0; i < pairs; ++i) {
    frequencies[i] = std::pow(base, -static_cast<double>(i) / static_cast<double>(pairs));
  }
  return frequencies;
}

struct Case {
  explicit Case(std::int64_t pairs, std::int64_t rows = 33, std::int64_t head_stride = 300)
      : heads{nullptr, rows, 3, 3 * head_stride, head_stride} {
    std::mt19937 random(11);
    std::normal_distribution<float> normal;
    x.resize(rows * heads.row_stride);
    for (float& v : x) v = normal(random);
    append_positions(plain_frequencies(pairs, 10000), 1.25, 4000, rows, table, 2);
  }

  std::vector<float> turned(bool adjacent, int threads) const {
    std::vector<float> y = x;
    HeadRows rows = heads;
    rows.data = y.data();
    rotate(table, adjacent, rows, threads);
    return y;
  }

  HeadRows heads;
  std::vector<float> x;
  RopeTable table;
};

TEST(Rope, TurnsPairsAsComplexNumbers) {
  for (std::int64_t pairs : {1, 4, 12, 16, 20, 128}) {
    const Case c(pairs);
    const std::vector<double> frequencies = plain_frequencies(pairs, 10000);
    for (const bool adjacent : {false, true}) {
      const std::vector<float> y = c.turned(adjacent, 2);
      for (std::int64_t head = 0; head < c.heads.rows * c.heads.heads; ++head) {
        const float *from = &c.x[head * c.heads.head_stride], *to = &y[head * c.heads.head_stride];
        const double position = 4000 + static_cast<double>(head / c.heads.heads);
        for (std::int64_t i = 0; i < pairs; ++i) {
          const std::int64_t a = adjacent ? 2 * i : i, b = adjacent ? 2 * i + 1 : i + pairs;
          const std::complex<double> want =
              std::complex<double>(from[a], from[b]) * std::polar(1.25, position * frequencies[i]);
          ASSERT_NEAR(want.real(), to[a], 2e-6);
          ASSERT_NEAR(want.imag(), to[b], 2e-6);
        }
        for (std::int64_t i = 2 * pairs; i < c.heads.head_stride; ++i) ASSERT_EQ(from[i], to[i]);
      }
    }
  }
}

// R9-05 of the reports: x = 1..8 at position 3.
TEST(Rope, HasTheValuesOfAKnownCase) {
  const double halves[] = {-1.6955925369,   0.1375517382832, 2.788681599829, 3.975982036013,
                           -4.808842474942, 6.323059348076,  7.08683673685,  8.011963982027};
  const double interleaved[] = {-1.27223251272, -1.838864985141, 1.683928640731, 4.707906576486,
                                4.81777716753,  6.147277703506,  6.975968536024, 8.020963968527};
  RopeTable table;
  append_positions(plain_frequencies(4, 10000), 1, 3, 1, table, 1);
  for (const bool adjacent : {false, true}) {
    std::vector<float> x = {1, 2, 3, 4, 5, 6, 7, 8};
    rotate(table, adjacent, {x.data(), 1, 1, 8, 8}, 1);
    for (int i = 0; i < 8; ++i) EXPECT_NEAR((adjacent ? interleaved : halves)[i], x[i], 1e-6) << i;
  }
}

TEST(Rope, GivesTheSameBitsOnEveryTargetAndInEveryCompany) {
  for (std::int64_t pairs : {1, 12, 16, 20, 128}) {
    const Case c(pairs);
    for (const bool adjacent : {false, true}) {
      const std::vector<float> y = c.turned(adjacent, 1);
      for (const std::string& target : cpu::available_targets()) {
        cpu::force_target(target);
        const std::vector<float> other = c.turned(adjacent, 2);
        EXPECT_EQ(0, std::memcmp(y.data(), other.data(), y.size() * sizeof(float))) << target << " pairs " << pairs;
      }
      cpu::force_target("");
    }
    RopeTable alone;
    append_positions(plain_frequencies(pairs, 10000), 1.25, 4032, 1, alone, 1);
    EXPECT_EQ(0, std::memcmp(alone.sin.data(), &c.table.sin[32 * pairs], pairs * sizeof(float)));
    EXPECT_EQ(0, std::memcmp(alone.cos.data(), &c.table.cos[32 * pairs], pairs * sizeof(float)));
  }
}

}  // namespace
}  // namespace sightline::ops
