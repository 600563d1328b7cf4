#include "src/tensor/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace sightline {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// The definition: an implicit leading bit and a bias of 15, or mantissa x 2^-24 where the exponent's field is 0.
double value_of_half(std::uint32_t bits) {
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  const int exponent = static_cast<int>((bits >> 10) & 31);
  const double mantissa = bits & 1023;
  if (exponent == 31) return mantissa == 0 ? sign * kInfinity : std::nan("");
  return sign * (exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25));
}

TEST(Half, WidensEveryPatternExactly) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const float widened = f16_to_f32(static_cast<std::uint16_t>(bits));
    const double expected = value_of_half(bits);
    ASSERT_EQ(std::signbit(widened), (bits & 0x8000) != 0) << bits;
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(widened)) << bits;
    } else {
      ASSERT_EQ(static_cast<double>(widened), expected) << bits;
    }
  }
}

TEST(Half, WidensBf16ByMovingItsBits) {
  EXPECT_EQ(bf16_to_f32(0x3F80), 1.0f);
  EXPECT_EQ(bf16_to_f32(0x4049), 3.140625f);
  EXPECT_EQ(bf16_to_f32(0xC2F7), -123.5f);
  EXPECT_EQ(bf16_to_f32(0x0001), 0x1p-133f);  // subnormal in both formats
  EXPECT_EQ(bf16_to_f32(0x7F80), kInfinity);
  EXPECT_EQ(bf16_to_f32(0xFF80), -kInfinity);
  EXPECT_EQ(bf16_to_f32(0x7F7F), 0xFFp120f);
  EXPECT_TRUE(std::isnan(bf16_to_f32(0x7FC0)));
  EXPECT_TRUE(std::signbit(bf16_to_f32(0x8000)));
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const float widened = bf16_to_f32(static_cast<std::uint16_t>(bits));
    ASSERT_EQ(std::bit_cast<std::uint32_t>(widened), bits << 16);
  }
}

}  // namespace
}  // namespace sightline
