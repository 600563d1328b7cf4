// The tests' own formats: what they store must be what the definitions say, for problems to hold the numbers that they
// are meant to.
#include "tests/attention/formats.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "src/attention/reference_operands.h"
#include "src/tensor/half.h"

namespace sightline::testing {
namespace {

TEST(TestFormats, HalvesComeBack) {
  for (int bits = 0; bits < 0x10000; ++bits) {
    const float f16 = f16_to_f32(static_cast<std::uint16_t>(bits));
    const float bf16 = bf16_to_f32(static_cast<std::uint16_t>(bits));
    EXPECT_TRUE(std::isnan(f16) || to_f16(f16) == bits) << bits;
    EXPECT_TRUE(!std::isnormal(bf16) || to_bf16(bf16) == bits) << bits;
  }
}

TEST(TestFormats, RoundToNearestTiesToEven) {
  EXPECT_EQ(to_f16(1 + 0x1p-11f), 0x3C00);
  EXPECT_EQ(to_f16(1 + 0x3p-11f), 0x3C02);
  EXPECT_EQ(to_f16(1 + 0x1.01p-11f), 0x3C01);
  EXPECT_EQ(to_f16(65519.9f), 0x7BFF);
  EXPECT_EQ(to_f16(65520), 0x7C00);
  EXPECT_EQ(to_f16(0x1p-25f), 0);
  EXPECT_EQ(to_f16(-0x1.8p-25f), 0x8001);
  EXPECT_EQ(to_bf16(1 + 0x1p-8f), 0x3F80);
  EXPECT_EQ(to_bf16(-1 - 0x3p-8f), 0xBF82);
  EXPECT_EQ(to_bf16(INFINITY), 0x7F80);
  EXPECT_TRUE(std::isnan(f16_to_f32(to_f16(NAN))) && std::isnan(bf16_to_f32(to_bf16(NAN))));
}

// Each number as the reference reads it, from rows of 40 numbers.
void expect_close(DType dtype, const std::vector<float>& values, float bound) {
  const EncodedRow row = encode_row(dtype, values);
  const auto width = static_cast<std::int64_t>(values.size());
  AttentionProblem p;
  p.q.shape = p.k.shape = {1, 1, 1, width};
  p.k.data = row.bytes.data();
  p.k.dtype = dtype;
  const auto query = reference::locate(p, 0, 0, 0);
  for (std::int64_t d = 0; d < width; ++d) EXPECT_NEAR(reference::key_at(p, query, 0, d), values[d], bound) << d;
}

TEST(TestFormats, PackedRowsAreNearTheirNumbers) {
  std::vector<float> values(40);
  for (int d = 0; d < 40; ++d) values[d] = std::sin(static_cast<float>(d)) + 0.25f;
  expect_close(DType::i8_row, values, 1.25f / 254 + 1e-6f);
  expect_close(DType::q4_1, values, 2.0f / 30 + 2e-3f);  // half a step, and a minimum and scale in 11 bits
  expect_close(DType::i8_row, std::vector<float>(40, 0), 0);
  expect_close(DType::q4_1, std::vector<float>(40, 3), 0);
}

TEST(TestFormats, WhatIsNotFiniteSpoilsWhatSharesItsScale) {
  std::vector<float> values(40, 1);
  values[35] = NAN;
  const EncodedRow bytes = encode_row(DType::i8_row, values), nibbles = encode_row(DType::q4_1, values);
  EXPECT_TRUE(std::isnan(bytes.magnitudes[0]));
  EXPECT_FALSE(std::isnan(nibbles.magnitudes[0]));
  EXPECT_TRUE(std::isnan(nibbles.magnitudes[32]));
}

}  // namespace
}  // namespace sightline::testing
