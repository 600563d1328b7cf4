#include "cli/weights.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "src/format/colour.h"

namespace sightline::cli {
namespace {

float value(std::int64_t row, std::int64_t col) { return static_cast<float>((row * 31 + col * 17) % 101) / 101; }

Weights made(std::int64_t rows, std::int64_t cols) {
  return {rows, cols, [cols](std::int64_t row_begin, std::int64_t row_end, std::span<float> out) {
            for (std::int64_t row = row_begin; row < row_end; ++row)
              for (std::int64_t col = 0; col < cols; ++col) out[(row - row_begin) * cols + col] = value(row, col);
          }};
}

TEST(Weights, PooledCellsAreMeansOfTheirBlocks) {
  constexpr std::int64_t kRows = 23, kCols = 38, kRowFactor = 4, kColFactor = 7;
  const Weights pools = pooled(made(kRows, kCols), kRowFactor, kColFactor);
  ASSERT_EQ(pools.rows, 6);
  ASSERT_EQ(pools.cols, 6);
  std::vector<float> read(36);
  pools.read(0, 6, read);
  for (std::int64_t a = 0; a < 6; ++a) {
    for (std::int64_t b = 0; b < 6; ++b) {
      double sum = 0;
      int count = 0;
      for (std::int64_t i = a * kRowFactor; i < std::min((a + 1) * kRowFactor, kRows); ++i)
        for (std::int64_t j = b * kColFactor; j < std::min((b + 1) * kColFactor, kCols); ++j)
          sum += value(i, j), ++count;
      EXPECT_NEAR(read[a * 6 + b], sum / count, 1e-7) << a << ", " << b;
    }
  }
  std::vector<float> part(12);
  pools.read(3, 5, part);
  EXPECT_TRUE(std::equal(part.begin(), part.end(), read.begin() + 18));
}

TEST(Weights, FactorLeavesAtMostSoMany) {
  EXPECT_EQ(pooling_factor(made(100, 100), 100), 1);
  EXPECT_EQ(pooling_factor(made(101, 7), 100), 2);
  EXPECT_EQ(pooling_factor(made(7, 1000), 99), 11);
  EXPECT_EQ(pooling_factor(made(0, 0), 99), 1);
}

TEST(Scale, EndsAtNoneAndAll) {
  for (const std::int64_t keys : {1, 14, 64, 65, 512, 100'000}) {
    const Scale scale{keys};
    EXPECT_EQ(scale.place(0), 0) << keys;
    EXPECT_NEAR(scale.place(1), 1, 1e-12) << keys;
    EXPECT_EQ(scale.place(NAN), 0) << keys;
  }
  EXPECT_EQ(Scale{64}.place(0.2), format::ease(0.2));
  EXPECT_GT(Scale{512}.place(1.0 / 512), 0.2);
}

}  // namespace
}  // namespace sightline::cli
