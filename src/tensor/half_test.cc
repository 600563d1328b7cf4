#include "src/tensor/half.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
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

// How many floats at each end of a range are tried; SIGHTLINE_EXHAUSTIVE=1 tries all.
std::uint32_t tried_at_each_end() { return std::getenv("SIGHTLINE_EXHAUSTIVE") != nullptr ? UINT32_MAX : 64; }

// Narrowing gives `expected` for the magnitudes first..last, and its negative for theirs. True if so.
template <class Narrow>
bool narrows_to(Narrow narrow, std::uint32_t first, std::uint32_t last, std::uint16_t expected) {
  std::uint32_t wrong = 0;
  const auto try_range = [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t bits = begin; bits < end; ++bits) {
      const auto magnitude = static_cast<std::uint32_t>(bits);
      wrong += narrow(std::bit_cast<float>(magnitude)) != expected;
      wrong += narrow(std::bit_cast<float>(magnitude | 0x80000000u)) != (expected | 0x8000u);
    }
  };
  const std::uint64_t end = std::uint64_t{last} + 1, count = std::min<std::uint64_t>(tried_at_each_end(), end - first);
  try_range(first, first + count);
  try_range(std::max(first + count, end - count), end);
  return wrong == 0;
}

// Both formats are monotone: between two neighbours the lower one wins up to the midpoint, which goes to the even one.
// `infinity` is the pattern after the largest finite one, which is rounded to as if it were the next number.
template <class Narrow, class ValueOf>
void check_narrowing(Narrow narrow, ValueOf value_of, std::uint32_t infinity) {
  std::uint32_t first = 0;  // the lowest float that belongs to `half`
  for (std::uint32_t half = 0; half < infinity; ++half) {
    const double midpoint = (value_of(half) + value_of(half + 1)) / 2;
    const auto at = std::bit_cast<std::uint32_t>(static_cast<float>(midpoint));
    ASSERT_EQ(static_cast<double>(std::bit_cast<float>(at)), midpoint) << half;  // fp32 has it exactly
    const std::uint32_t last = half % 2 == 0 ? at : at - 1;
    ASSERT_TRUE(narrows_to(narrow, first, last, static_cast<std::uint16_t>(half))) << half;
    first = last + 1;
  }
  EXPECT_TRUE(narrows_to(narrow, first, 0x7F800000, static_cast<std::uint16_t>(infinity)));
}

// A NaN keeps its sign and the upper bits of its payload, and is quiet.
template <class Narrow>
void check_nan(Narrow narrow, std::uint32_t infinity, int dropped_bits) {
  const std::uint32_t step = std::getenv("SIGHTLINE_EXHAUSTIVE") != nullptr ? 1 : 251;
  const std::uint32_t quiet = (0x00400000u >> dropped_bits) | infinity, payload = 0x007FFFFFu >> dropped_bits;
  std::uint32_t wrong = 0;
  for (std::uint32_t bits = 0x7F800001; bits < 0x80000000u; bits += step) {
    const std::uint32_t expected = quiet | (bits >> dropped_bits & payload);
    wrong += narrow(std::bit_cast<float>(bits)) != expected;
    wrong += narrow(std::bit_cast<float>(bits | 0x80000000u)) != (expected | 0x8000u);
  }
  EXPECT_EQ(wrong, 0u);
}

TEST(Half, NarrowsToNearestEven) {
  // The number that would follow the largest finite one is 2^16.
  check_narrowing(
      f32_to_f16, [](std::uint32_t half) { return half == 0x7C00 ? 65536.0 : value_of_half(half); }, 0x7C00);
  check_nan(f32_to_f16, 0x7C00, 13);
}

TEST(Half, NarrowsToNearestEvenBf16) {
  const auto value_of = [](std::uint32_t bits) {
    return bits == 0x7F80 ? 0x1p128 : static_cast<double>(std::bit_cast<float>(bits << 16));
  };
  check_narrowing(f32_to_bf16, value_of, 0x7F80);
  check_nan(f32_to_bf16, 0x7F80, 16);
}

TEST(Half, NarrowsByHand) {
  EXPECT_EQ(f32_to_f16(1.0f), 0x3C00);
  EXPECT_EQ(f32_to_f16(-2.0f), 0xC000);
  EXPECT_EQ(f32_to_f16(65504.0f), 0x7BFF);
  EXPECT_EQ(f32_to_f16(65519.0f), 0x7BFF);
  EXPECT_EQ(f32_to_f16(65520.0f), 0x7C00);
  EXPECT_EQ(f32_to_f16(0x1p-24f), 0x0001);
  EXPECT_EQ(f32_to_f16(0x1p-25f), 0x0000);  // a tie, to even
  EXPECT_EQ(f32_to_f16(0x1.8p-24f), 0x0002);
  EXPECT_EQ(f32_to_f16(1 + 0x1p-11f), 0x3C00);
  EXPECT_EQ(f32_to_f16(1 + 0x3p-11f), 0x3C02);
  EXPECT_EQ(f32_to_bf16(1 + 0x1p-8f), 0x3F80);
  EXPECT_EQ(f32_to_bf16(1 + 0x3p-8f), 0x3F82);
  EXPECT_EQ(f32_to_bf16(-kInfinity), 0xFF80);
  EXPECT_EQ(f32_to_bf16(std::numeric_limits<float>::max()), 0x7F80);
}

}  // namespace
}  // namespace sightline
