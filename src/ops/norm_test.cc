#include "src/ops/norm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "src/cpu/target.h"

namespace sightline::ops {
namespace {

struct Case {
  std::vector<float> scale, shift, x;
  Norm norm;
};

Case make_case(std::int64_t rows, std::int64_t width, float offset, bool centred = true) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  Case c;
  for (auto* values : {&c.scale, &c.shift}) {
    values->resize(width);
    for (float& v : *values) v = normal(random);
  }
  c.x.resize(rows * width);
  for (float& v : c.x) v = offset + normal(random);
  c.norm = {centred, c.scale.data(), centred ? c.shift.data() : nullptr, width, 1e-12f};
  return c;
}

std::vector<float> run(const Case& c, int threads) {
  std::vector<float> y(c.x.size());
  normalise(c.norm, c.x.data(), static_cast<std::int64_t>(c.x.size()) / c.norm.width, y.data(), threads);
  return y;
}

TEST(LayerNorm, AgreesWithFp64) {
  for (std::int64_t width : {2, 15, 16, 17, 48, 384, 1000}) {
    const std::int64_t rows = 5;
    const Case c = make_case(rows, width, /*offset=*/3);
    const std::vector<float> y = run(c, 1);
    for (std::int64_t r = 0; r < rows; ++r) {
      const float* x = &c.x[r * width];
      double mean = 0, variance = 0;
      for (std::int64_t i = 0; i < width; ++i) mean += x[i] / static_cast<double>(width);
      for (std::int64_t i = 0; i < width; ++i) variance += (x[i] - mean) * (x[i] - mean) / static_cast<double>(width);
      for (std::int64_t i = 0; i < width; ++i) {
        const double want = (x[i] - mean) / std::sqrt(variance + 1e-12) * c.scale[i] + c.shift[i];
        EXPECT_NEAR(want, y[r * width + i], 2e-5) << "width " << width;
      }
    }
  }
}

// The squared distances are summed from the mean: x^2 - mean^2 would leave no digit here.
TEST(LayerNorm, KeepsDigitsFarFromZero) {
  std::vector<float> x = {4096, 4097, 4098, 4099}, y(4), one(4, 1.0f), zero(4, 0.0f);
  normalise({true, one.data(), zero.data(), 4, 0.0f}, x.data(), 1, y.data(), 1);
  const double sigma = std::sqrt(1.25);
  for (int i = 0; i < 4; ++i) EXPECT_NEAR((i - 1.5) / sigma, y[i], 1e-6);
}

TEST(RmsNorm, AgreesWithFp64) {
  for (std::int64_t width : {1, 2, 15, 16, 17, 48, 640, 1000}) {
    const Case c = make_case(3, width, /*offset=*/3, /*centred=*/false);
    const std::vector<float> y = run(c, 1);
    for (std::int64_t r = 0; r < 3; ++r) {
      const float* x = &c.x[r * width];
      double square = 0;
      for (std::int64_t i = 0; i < width; ++i) square += static_cast<double>(x[i]) * x[i] / static_cast<double>(width);
      for (std::int64_t i = 0; i < width; ++i) {
        const double want = x[i] / std::sqrt(square + 1e-12) * c.scale[i];
        EXPECT_NEAR(want, y[r * width + i], 1e-6 * std::abs(want)) << "width " << width;
      }
    }
  }
}

TEST(LayerNorm, WorksWithoutAShift) {
  std::vector<float> x = {1, 2, 3, 4}, y(4), scale = {1, 2, 3, 4};
  normalise({true, scale.data(), nullptr, 4, 0.0f}, x.data(), 1, y.data(), 1);
  for (int i = 0; i < 4; ++i) EXPECT_NEAR((i - 1.5) / std::sqrt(1.25) * scale[i], y[i], 1e-6);
}

// Heads in place have the bits of rows that lie side by side, and what lies between them stays.
TEST(Norm, NormalisesStridedHeadsInPlace) {
  constexpr std::int64_t kRows = 37, kHeads = 3, kStride = 200, kHeadStride = 50;
  for (const bool centred : {true, false}) {
    for (std::int64_t width : {16, 24, 50}) {
      const Case c = make_case(kRows * kHeads, width, 1, centred);
      const std::vector<float> want = run(c, 1);
      std::vector<float> wide(kRows * kStride, 7.5e8f);
      const HeadRows heads{wide.data() + 20, kRows, kHeads, kStride, kHeadStride};
      for (std::int64_t i = 0; i < kRows * kHeads; ++i) {
        std::copy_n(&c.x[i * width], width, heads.at(i / kHeads, i % kHeads));
      }
      normalise_heads(c.norm, heads, 2);
      std::int64_t untouched = 0;
      for (float value : wide) untouched += value == 7.5e8f;
      EXPECT_EQ(static_cast<std::int64_t>(wide.size()) - kRows * kHeads * width, untouched);
      for (std::int64_t i = 0; i < kRows * kHeads; ++i) {
        const float* got = heads.at(i / kHeads, i % kHeads);
        ASSERT_EQ(0, std::memcmp(got, &want[i * width], width * sizeof(float))) << "width " << width << " row " << i;
      }
    }
  }
}

TEST(LayerNorm, GivesTheSameBitsOnEveryTargetAndInEveryCompany) {
  for (std::int64_t width : {1, 7, 16, 50, 384, 385}) {
    const Case c = make_case(70, width, 0, /*centred=*/width != 385);
    const std::vector<float> y = run(c, 1);
    for (const std::string& target : cpu::available_targets()) {
      cpu::force_target(target);
      const std::vector<float> other = run(c, 2);
      EXPECT_EQ(0, std::memcmp(y.data(), other.data(), y.size() * sizeof(float))) << target << " width " << width;
    }
    cpu::force_target("");
    std::vector<float> alone(width);
    normalise(c.norm, &c.x[69 * width], 1, alone.data(), 1);
    EXPECT_EQ(0, std::memcmp(&y[69 * width], alone.data(), width * sizeof(float)));
  }
}

TEST(LayerNorm, WorksInPlaceAndOnConstantRows) {
  std::vector<float> x = {5, 5, 5}, one(3, 1.0f), shift = {1, 2, 3};
  normalise({true, one.data(), shift.data(), 3, 1e-12f}, x.data(), 1, x.data(), 1);
  EXPECT_EQ(shift, x);
}

}  // namespace
}  // namespace sightline::ops
