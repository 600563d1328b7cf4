#include "src/ops/linear.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "sightline/error.h"
#include "src/cpu/target.h"
#include "src/ops/testing.h"

namespace sightline::ops {
namespace {

using testing::kWeightTypes;
using testing::normal_values;
using testing::random_weights;
using testing::StoredWeights;

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

class LinearTest : public ::testing::Test {
 protected:
  void TearDown() override { cpu::force_target(""); }
};

void expect_the_stated_order(const StoredWeights& w, std::int64_t rows, int threads, const std::string& what) {
  const std::int64_t out = w.matrix.rows, in = w.matrix.cols;
  const std::vector<float> x = normal_values(rows * in, 2), bias = normal_values(out, 3);
  const std::vector<float> y = run(w, bias, x, threads);
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t o = 0; o < out; ++o) {
      const float want = expected_element(&x[r * in], w.row(o), in, bias[o]);
      ASSERT_EQ(std::bit_cast<std::uint32_t>(want), std::bit_cast<std::uint32_t>(y[r * out + o]))
          << what << " " << dtype_name(w.matrix.dtype) << " rows " << rows << " out " << out << " in " << in << " at "
          << r << "," << o;
    }
  }
}

struct Shape {
  std::int64_t rows, out, in;
};

// One row, few, many; outputs and inputs that end within a tile; inputs beyond what a tile goes through at a time.
constexpr Shape kShapes[] = {{1, 1, 1},     {1, 5, 16},    {1, 301, 40}, {2, 4, 17},    {3, 7, 48},    {5, 66, 31},
                             {13, 130, 64}, {19, 12, 100}, {31, 65, 96}, {40, 9, 2100}, {200, 65, 384}};

TEST_F(LinearTest, KeepsTheStatedOrderOnEveryTarget) {
  for (const std::string& target : cpu::available_targets()) {
    cpu::force_target(target);
    for (const Shape& s : kShapes) {
      for (DType dtype : {DType::f32, DType::f16, DType::bf16}) {
        const StoredWeights w = random_weights(dtype, s.out, s.in, /*shift=*/3, /*seed=*/1);
        expect_the_stated_order(w, s.rows, 1, target);
        expect_the_stated_order(testing::stored_transposed(w, 1), s.rows, 2, std::string(target).append(" transposed"));
      }
    }
  }
}

TEST_F(LinearTest, KeepsTheStatedOrderForBlocks) {
  constexpr Shape kBlockShapes[] = {{1, 1, 256}, {1, 70, 512}, {3, 5, 256}, {9, 67, 256}, {30, 21, 1280}};
  for (const std::string& target : cpu::available_targets()) {
    cpu::force_target(target);
    for (DType dtype : kWeightTypes) {
      for (const Shape& s : kBlockShapes) {
        expect_the_stated_order(random_weights(dtype, s.out, s.in, 1, 4), s.rows, 2, target);
      }
    }
  }
}

TEST_F(LinearTest, KeepsTheStatedOrderForAnOddNumberOfSmallBlocks) {
  for (const std::string& target : cpu::available_targets()) {
    cpu::force_target(target);
    for (DType dtype : kWeightTypes) {
      if (block_layout(dtype).width != 32) continue;
      for (std::int64_t rows : {1, 4, 26})
        expect_the_stated_order(random_weights(dtype, 11, 96, 1, 5), rows, 1, target);
    }
  }
}

TEST_F(LinearTest, IsCloseToFp64) {
  const std::int64_t rows = 9, out = 33, in = 1536;
  for (DType dtype : kWeightTypes) {
    const StoredWeights w = random_weights(dtype, out, in, 0, 4);
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
}

void expect_rows_alone(const StoredWeights& w, std::int64_t rows) {
  const std::int64_t out = w.matrix.rows, in = w.matrix.cols;
  const std::vector<float> x = normal_values(rows * in, 7), bias = normal_values(out, 8);
  const std::vector<float> together = run(w, bias, x, 1);
  for (int threads : {2, 3, 7}) {
    EXPECT_EQ(0, std::memcmp(together.data(), run(w, bias, x, threads).data(), together.size() * sizeof(float)));
  }
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::vector<float> alone = run(w, bias, {x.begin() + r * in, x.begin() + (r + 1) * in}, 1 + r % 2);
    ASSERT_EQ(0, std::memcmp(&together[r * out], alone.data(), alone.size() * sizeof(float)))
        << dtype_name(w.matrix.dtype) << " row " << r;
  }
}

TEST_F(LinearTest, RowsDoNotDependOnTheirCompanyOrOnThreads) {
  for (DType dtype : kWeightTypes) {
    const StoredWeights w = random_weights(dtype, 150, 80, 1, 6);
    for (std::int64_t rows : {2, 11, 103}) expect_rows_alone(w, rows);
    if (!is_block(dtype)) expect_rows_alone(testing::stored_transposed(w, 1), 30);
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
  const StoredWeights w = random_weights(DType::f32, 6, in, 0, 9);
  std::vector<float> x = normal_values(2 * in, 10);
  x[19] = NAN;
  const std::vector<float> y = run(w, {}, x, 1);
  for (int o = 0; o < 6; ++o) {
    EXPECT_TRUE(std::isnan(y[o]));
    EXPECT_TRUE(std::isfinite(y[6 + o]));
  }
}

TEST_F(LinearTest, AcceptsNothingAndRefusesOtherTypes) {
  const StoredWeights w = random_weights(DType::f32, 4, 16, 0, 11);
  linear({w.matrix, nullptr}, nullptr, 0, nullptr, 1);
  WeightMatrix integers = w.matrix;
  integers.dtype = DType::i32;
  float x[16] = {}, y[4];
  EXPECT_THROW(linear({integers, nullptr}, x, 1, y, 1), BadArgument);
}

}  // namespace
}  // namespace sightline::ops
