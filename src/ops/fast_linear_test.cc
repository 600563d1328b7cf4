#include "src/ops/fast_linear.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "sightline/error.h"
#include "src/attention/emulated_machine.h"
#include "src/cpu/target.h"
#include "src/ops/fast_linear_tiles-inl.h"
#include "src/ops/testing.h"

namespace sightline::ops {
namespace {

using testing::normal_values;
using testing::random_weights;
using testing::StoredWeights;

void round_plainly(const float* from, std::int64_t width, std::uint16_t* to) {
  for (std::int64_t i = 0; i < padded_columns(width); ++i) {
    to[i] = i < width ? f32_to_bf16(sightline::testing::flushed(from[i])) : std::uint16_t{0};
  }
}

using EmulatedTiles = LinearTiles<sightline::testing::EmulatedTileMachine>;
void pack_emulated(const float* x, std::int64_t in, std::int64_t rows, std::uint16_t* scratch, std::uint16_t* to) {
  EmulatedTiles::pack(x, in, rows, scratch, to, round_plainly);
}
constexpr FastLinear kEmulated = {"emulated tiles", pack_emulated, nullptr, EmulatedTiles::compute};
constexpr FastProducts kEmulatedProducts = {"emulated tiles", round_plainly, nullptr, nullptr, nullptr};

enum class Unit { avx512, amx, emulated };

class FastLinearTest : public ::testing::TestWithParam<Unit> {
 protected:
  void SetUp() override {
    const Unit unit = GetParam();
    if (unit == Unit::avx512 && !has_avx512_bf16()) GTEST_SKIP() << "this machine has no avx512_bf16";
    if (unit == Unit::amx && !has_amx_bf16()) GTEST_SKIP() << "this machine has no amx_bf16";
    unit_ = unit == Unit::avx512 ? avx512_linear() : unit == Unit::amx ? amx_linear() : &kEmulated;
    products_ = unit == Unit::avx512 ? avx512_products() : unit == Unit::amx ? amx_products() : &kEmulatedProducts;
  }

  std::vector<float> run(const StoredWeights& w, const std::vector<float>& bias, const std::vector<float>& x,
                         int threads = 1) const {
    const std::int64_t rows = static_cast<std::int64_t>(x.size()) / w.matrix.cols;
    std::vector<float> y(rows * w.matrix.rows, NAN);
    fast_linear(*unit_, *products_, {w.matrix, bias.empty() ? nullptr : bias.data()}, x.data(), rows, y.data(),
                threads);
    return y;
  }

  const FastLinear* unit_ = nullptr;
  const FastProducts* products_ = nullptr;
};

INSTANTIATE_TEST_SUITE_P(, FastLinearTest, ::testing::Values(Unit::avx512, Unit::amx, Unit::emulated),
                         [](const auto& unit) {
                           return unit.param == Unit::avx512 ? "avx512_bf16"
                                  : unit.param == Unit::amx  ? "amx_bf16"
                                                             : "emulated_amx";
                         });

float rounded(float x) { return bf16_to_f32(f32_to_bf16(x)); }

struct Shape {
  std::int64_t rows, out, in;
};
constexpr Shape kShapes[] = {{1, 1, 1},    {1, 37, 64},   {2, 16, 33},   {7, 20, 96},
                             {17, 33, 31}, {50, 70, 160}, {33, 300, 32}, {98, 5, 256}};

// A sum of n products has fewer than n roundings, each half a unit of at most the sum of magnitudes.
TEST_P(FastLinearTest, IsCloseToFp64OfWhatIsRounded) {
  for (const Shape& s : kShapes) {
    for (DType dtype : {DType::f32, DType::f16, DType::bf16, DType::q8_0, DType::q4_k}) {
      const StoredWeights w = random_weights(dtype, s.out, s.in, 1, 1);
      const std::int64_t in = w.matrix.cols;
      const std::vector<float> x = normal_values(s.rows * in, 2), bias = normal_values(s.out, 3);
      const std::vector<float> y = run(w, bias, x, 2);
      for (std::int64_t r = 0; r < s.rows; ++r) {
        for (std::int64_t o = 0; o < s.out; ++o) {
          double sum = bias[o], magnitude = std::abs(bias[o]);
          for (std::int64_t i = 0; i < in; ++i) {
            const double term = static_cast<double>(rounded(x[r * in + i])) * rounded(w.row(o)[i]);
            sum += term;
            magnitude += std::abs(term);
          }
          ASSERT_NEAR(sum, y[r * s.out + o], static_cast<double>(in + 5) * 0x1p-24 * magnitude)
              << dtype_name(dtype) << " rows " << s.rows << " out " << s.out << " in " << in << " at " << r << "," << o;
        }
      }
    }
  }
}

// Numbers of bf16 mean the same in every type and either way round: as they lie, rounded, or turned over.
TEST_P(FastLinearTest, TakesWeightsOfBf16AsTheyAre) {
  for (const Shape& s : kShapes) {
    const StoredWeights w = random_weights(DType::bf16, s.out, s.in, 1, 4);
    StoredWeights wide = w;
    wide.bytes.resize(w.values.size() * sizeof(float));
    std::memcpy(wide.bytes.data(), w.values.data(), wide.bytes.size());
    wide.matrix.data = wide.bytes.data();
    wide.matrix.dtype = DType::f32;
    const std::vector<float> x = normal_values(s.rows * s.in, 5), bias = normal_values(s.out, 6);
    const std::vector<float> y = run(w, bias, x);
    EXPECT_EQ(y, run(wide, bias, x));
    EXPECT_EQ(y, run(testing::stored_transposed(w, 1), bias, x, 2));
  }
}

TEST_P(FastLinearTest, RowsDoNotDependOnTheirCompanyOrOnThreads) {
  for (DType dtype : {DType::bf16, DType::q8_0}) {
    const std::int64_t rows = 101, out = 150;
    const StoredWeights w = random_weights(dtype, out, 96, 1, 7);
    const std::int64_t in = w.matrix.cols;
    const std::vector<float> x = normal_values(rows * in, 8), bias = normal_values(out, 9);
    const std::vector<float> together = run(w, bias, x);
    for (int threads : {2, 5}) EXPECT_EQ(together, run(w, bias, x, threads));
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::vector<float> alone = run(w, bias, {x.begin() + r * in, x.begin() + (r + 1) * in});
      ASSERT_EQ(0, std::memcmp(&together[r * out], alone.data(), alone.size() * sizeof(float))) << "row " << r;
    }
  }
}

TEST_P(FastLinearTest, KeepsWhatIsNotFiniteInItsRow) {
  const std::int64_t in = 40;
  const StoredWeights w = random_weights(DType::f32, 6, in, 0, 10);
  std::vector<float> x = normal_values(3 * in, 11);
  x[in + 39] = NAN;
  const std::vector<float> y = run(w, {}, x);
  for (int o = 0; o < 6; ++o) {
    EXPECT_TRUE(std::isfinite(y[o]));
    EXPECT_TRUE(std::isnan(y[6 + o]));
    EXPECT_TRUE(std::isfinite(y[12 + o]));
  }
}

class FastPrecision : public ::testing::Test {
 protected:
  void TearDown() override { force_products(nullptr); }
};

TEST_F(FastPrecision, IsThatOfTheMachinesInstruction) {
  if (!fast_available()) GTEST_SKIP() << "this machine has no instruction for it";
  const StoredWeights w = random_weights(DType::f32, 20, 64, 0, 12);
  const std::vector<float> x = normal_values(3 * 64, 13);
  std::vector<float> y(3 * 20), expected(3 * 20);
  linear({w.matrix, nullptr}, x.data(), 3, y.data(), 1, Precision::fast);
  const bool amx = fast_instruction() == "amx_bf16";
  fast_linear(amx ? *amx_linear() : *avx512_linear(), *products_of(Precision::fast), {w.matrix, nullptr}, x.data(), 3,
              expected.data(), 1);
  EXPECT_EQ(expected, y);
}

TEST_F(FastPrecision, IsRefusedWithoutAnInstruction) {
  static constexpr FastProducts kNone;
  force_products(&kNone);
  const StoredWeights w = random_weights(DType::f32, 2, 4, 0, 14);
  float x[4] = {}, y[2];
  EXPECT_THROW(linear({w.matrix, nullptr}, x, 1, y, 1, Precision::fast), BadArgument);
  linear({w.matrix, nullptr}, x, 1, y, 1);
}

}  // namespace
}  // namespace sightline::ops
