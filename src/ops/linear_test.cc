#include "src/ops/linear.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "sightline/error.h"
#include "src/cpu/target.h"

namespace sightline::ops {
namespace {

// Row-major weights as bytes that start `shift` bytes after an aligned address, and what they are worth.
struct StoredWeights {
  std::vector<std::byte> bytes;
  std::vector<float> values;
  WeightMatrix matrix;
};

template <typename T>
void append(std::vector<std::byte>& bytes, T value) {
  const auto* from = reinterpret_cast<const std::byte*>(&value);
  bytes.insert(bytes.end(), from, from + sizeof value);
}

// BF16 and F16 values are small multiples of 2^-6, exact in both, so that the test needs no rounding of its own.
StoredWeights make_weights(std::int64_t out, std::int64_t in, DType dtype, std::size_t shift, unsigned seed) {
  std::mt19937 random(seed);
  StoredWeights w;
  w.bytes.resize(shift);
  for (std::int64_t i = 0; i < out * in; ++i) {
    const int units = static_cast<int>(random() % 255) - 127;
    const float value =
        dtype == DType::f32 ? std::normal_distribution<float>()(random) : static_cast<float>(units) / 64;
    w.values.push_back(value);
    if (dtype == DType::f32) append(w.bytes, value);
    if (dtype == DType::bf16) append(w.bytes, static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16));
    if (dtype == DType::f16) {  // normal numbers alone: rebias the exponent, cut the mantissa
      const auto bits = std::bit_cast<std::uint32_t>(value);
      const std::uint32_t half =
          units == 0 ? 0 : (bits >> 16 & 0x8000) | (((bits >> 23 & 0xFF) - 112) << 10) | (bits >> 13 & 0x3FF);
      append(w.bytes, static_cast<std::uint16_t>(half));
    }
  }
  w.matrix = {w.bytes.data() + shift, dtype, out, in};
  return w;
}

std::vector<float> normal_values(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& v : values) v = normal(random);
  return values;
}

// The order of docs/linear.md, written out: 16 chains by index mod 16, folded by halves, then the bias.
float expected_element(const float* x, const float* w, std::int64_t in, float bias) {
  float chain[16] = {};
  const std::int64_t padded = (in + 15) / 16 * 16;
  for (std::int64_t i = 0; i < padded; ++i)
    chain[i % 16] = std::fma(i < in ? x[i] : 0, i < in ? w[i] : 0, chain[i % 16]);
  for (int half : {8, 4, 2, 1}) {
    for (int r = 0; r < half; ++r) chain[r] += chain[r + half];
  }
  return chain[0] + bias;
}

std::vector<float> run(const StoredWeights& w, const std::vector<float>& bias, const std::vector<float>& x,
                       int threads) {
  const std::int64_t rows = static_cast<std::int64_t>(x.size()) / w.matrix.cols;
  std::vector<float> y(rows * w.matrix.rows, NAN);
  linear({w.matrix, bias.empty() ? nullptr : bias.data()}, x.data(), rows, y.data(), threads);
  return y;
}

class LinearTest : public testing::Test {
 protected:
  void TearDown() override { cpu::force_target(""); }
};

TEST_F(LinearTest, KeepsTheStatedOrderOnEveryTarget) {
  const struct {
    std::int64_t rows, out, in;
  } shapes[] = {{1, 1, 1},   {1, 5, 16},    {2, 4, 17},    {3, 7, 48},
                {5, 66, 31}, {13, 130, 64}, {19, 12, 100}, {200, 65, 384}};
  for (const std::string& target : cpu::available_targets()) {
    cpu::force_target(target);
    for (const auto& s : shapes) {
      for (DType dtype : {DType::f32, DType::f16, DType::bf16}) {
        const StoredWeights w = make_weights(s.out, s.in, dtype, /*shift=*/3, /*seed=*/1);
        const std::vector<float> x = normal_values(s.rows * s.in, 2), bias = normal_values(s.out, 3);
        const std::vector<float> y = run(w, bias, x, 1);
        for (std::int64_t r = 0; r < s.rows; ++r) {
          for (std::int64_t o = 0; o < s.out; ++o) {
            const float want = expected_element(&x[r * s.in], &w.values[o * s.in], s.in, bias[o]);
            ASSERT_EQ(std::bit_cast<std::uint32_t>(want), std::bit_cast<std::uint32_t>(y[r * s.out + o]))
                << target << " " << dtype_name(dtype) << " rows " << s.rows << " out " << s.out << " in " << s.in
                << " at " << r << "," << o;
          }
        }
      }
    }
  }
}

TEST_F(LinearTest, IsCloseToFp64) {
  const std::int64_t rows = 9, out = 33, in = 1536;
  const StoredWeights w = make_weights(out, in, DType::f32, 0, 4);
  const std::vector<float> x = normal_values(rows * in, 5);
  const std::vector<float> y = run(w, {}, x, 2);
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t o = 0; o < out; ++o) {
      double sum = 0, magnitude = 0;
      for (std::int64_t i = 0; i < in; ++i) {
        const double term = static_cast<double>(x[r * in + i]) * w.values[o * in + i];
        sum += term;
        magnitude += std::abs(term);
      }
      // A chain of in/16 roundings and 4 of the tree, each half a unit of at most the sum of magnitudes.
      EXPECT_NEAR(sum, y[r * out + o], (in / 16.0 + 4) * 0x1p-24 * magnitude);
    }
  }
}

TEST_F(LinearTest, RowsDoNotDependOnTheirCompanyOrOnThreads) {
  const std::int64_t rows = 203, out = 150, in = 80;
  const StoredWeights w = make_weights(out, in, DType::f32, 1, 6);
  const std::vector<float> x = normal_values(rows * in, 7), bias = normal_values(out, 8);
  const std::vector<float> together = run(w, bias, x, 1);
  EXPECT_EQ(0, std::memcmp(together.data(), run(w, bias, x, 2).data(), together.size() * sizeof(float)));
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::vector<float> alone = run(w, bias, {x.begin() + r * in, x.begin() + (r + 1) * in}, 1);
    ASSERT_EQ(0, std::memcmp(&together[r * out], alone.data(), alone.size() * sizeof(float))) << "row " << r;
  }
}

TEST_F(LinearTest, MultipliesByTheTransposeOfWhatIsStored) {
  const std::vector<float> w = {1, 0, 2, 0, 1, -1, 3, 0, 1}, x = {1, 2, -1}, bias = {0.5f, -0.5f, 0};
  std::vector<float> y(3);
  linear({{reinterpret_cast<const std::byte*>(w.data()), DType::f32, 3, 3}, bias.data()}, x.data(), 1, y.data(), 1);
  EXPECT_EQ((std::vector<float>{-0.5f, 2.5f, 2}), y);
}

TEST_F(LinearTest, KeepsWhatIsNotFiniteInItsRow) {
  const std::int64_t in = 20;
  const StoredWeights w = make_weights(6, in, DType::f32, 0, 9);
  std::vector<float> x = normal_values(2 * in, 10);
  x[19] = NAN;
  const std::vector<float> y = run(w, {}, x, 1);
  for (int o = 0; o < 6; ++o) {
    EXPECT_TRUE(std::isnan(y[o]));
    EXPECT_TRUE(std::isfinite(y[6 + o]));
  }
}

TEST_F(LinearTest, AcceptsNothingAndRefusesOtherTypes) {
  const StoredWeights w = make_weights(4, 16, DType::f32, 0, 11);
  linear({w.matrix, nullptr}, nullptr, 0, nullptr, 1);
  WeightMatrix integers = w.matrix;
  integers.dtype = DType::i32;
  float x[16] = {}, y[4];
  EXPECT_THROW(linear({integers, nullptr}, x, 1, y, 1), BadArgument);
}

}  // namespace
}  // namespace sightline::ops
