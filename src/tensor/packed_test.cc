#include "src/tensor/packed.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iostream>
#include <limits>
#include <random>
#include <vector>

#include "src/tensor/half.h"

namespace sightline {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<std::byte> encoded(DType dtype, const std::vector<float>& row) {
  std::vector<std::byte> bytes(row_bytes(dtype, static_cast<std::int64_t>(row.size())) + 1, std::byte{0xA5});
  encode_row(dtype, row, bytes.data());
  EXPECT_EQ(bytes.back(), std::byte{0xA5}) << "wrote past the row";
  bytes.pop_back();
  return bytes;
}

std::vector<float> decoded(DType dtype, const std::vector<std::byte>& bytes, std::size_t width) {
  std::vector<float> row(width);
  decode_row(dtype, bytes.data(), row);
  return row;
}

std::vector<float> through(DType dtype, const std::vector<float>& row) {
  return decoded(dtype, encoded(dtype, row), row.size());
}

template <class T>
T read(const std::vector<std::byte>& bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

double largest(std::span<const float> row) {
  double magnitude = 0;
  for (const float x : row) magnitude = std::max(magnitude, std::abs(static_cast<double>(x)));
  return magnitude;
}

// Values far apart in size, near to each other far from zero, subnormal, all equal, and of one sign.
std::vector<std::vector<float>> hard_rows(std::size_t width, float most) {
  std::mt19937_64 random(width);
  std::normal_distribution<float> normal;
  std::uniform_int_distribution<int> exponents(-149, static_cast<int>(std::log2(most)) - 1);
  const auto filled = [&](auto draw) {
    std::vector<float> row(width);
    for (float& x : row) x = std::clamp(draw(), -most, most);
    return row;
  };
  std::vector<std::vector<float>> rows;
  for (int repeat = 0; repeat < 50; ++repeat) {
    const float unit = std::ldexp(1.0f, exponents(random)), offset = 300 * normal(random);
    rows.push_back(filled([&] { return normal(random); }));
    rows.push_back(filled([&] { return unit * normal(random); }));
    rows.push_back(filled([&] { return std::ldexp(normal(random), exponents(random) % 40); }));
    rows.push_back(filled([&] { return offset + 0.01f * normal(random); }));
    rows.push_back(filled([&] { return offset; }));
    rows.push_back(filled([&] { return std::abs(normal(random)); }));
    rows.push_back(filled([&] { return random() % 2 == 0 ? most : -most; }));
  }
  rows.push_back(std::vector<float>(width, 0.0f));
  rows.push_back(std::vector<float>(width, -0.0f));
  rows.push_back(std::vector<float>(width, std::numeric_limits<float>::denorm_min()));
  return rows;
}

TEST(PackedRows, OfEightBitsByHand) {
  const std::vector<float> row = {-1, 0, 0.5f, 127.0f / 128, 1};
  const auto bytes = encoded(DType::i8_row, row);
  ASSERT_EQ(bytes.size(), 4u + 5u);
  EXPECT_EQ(read<float>(bytes, 0), 1.0f / 127);
  // 0.5 * 127 = 63.5 stands between two numbers, of which 64 is even; 127 * 127 / 128 = 126.008.
  const std::vector<int> expected = {-127, 0, 64, 126, 127};
  for (std::size_t i = 0; i < row.size(); ++i) EXPECT_EQ(read<std::int8_t>(bytes, 4 + i), expected[i]) << i;
  EXPECT_EQ(decoded(DType::i8_row, bytes, 5)[2], 64 * (1.0f / 127));
}

TEST(PackedRows, OfZerosHaveScaleZero) {
  for (const float zero : {0.0f, -0.0f}) {
    const std::vector<float> zeros(37, zero);
    EXPECT_EQ(read<float>(encoded(DType::i8_row, zeros), 0), 0.0f);
    EXPECT_EQ(read<std::uint16_t>(encoded(DType::q4_1, zeros), 0), 0);
    EXPECT_EQ(through(DType::i8_row, zeros), std::vector<float>(37, 0.0f));
    EXPECT_EQ(through(DType::q4_1, zeros), std::vector<float>(37, 0.0f));
  }
}

TEST(PackedRows, OfFourBitsByHand) {
  std::vector<float> row(33);
  for (int i = 0; i < 32; ++i) row[i] = static_cast<float>(i % 16) - 8;  // steps of 1 from -8: exact
  row[32] = 2.5f;                                                        // a block of one number: exact too
  const auto bytes = encoded(DType::q4_1, row);
  ASSERT_EQ(bytes.size(), 40u);
  EXPECT_NEAR(f16_to_f32(read<std::uint16_t>(bytes, 0)), 1, 0x1p-10);
  EXPECT_EQ(f16_to_f32(read<std::uint16_t>(bytes, 2)), -8);
  for (int i = 0; i < 16; ++i)
    EXPECT_EQ(read<std::uint8_t>(bytes, 4 + i), i | i << 4) << "elements " << i << ", " << i + 16;
  EXPECT_EQ(read<std::uint16_t>(bytes, 20), 0);
  EXPECT_EQ(f16_to_f32(read<std::uint16_t>(bytes, 22)), 2.5f);
  EXPECT_EQ(through(DType::q4_1, row)[32], 2.5f);
}

TEST(PackedRows, DecodeWithOneRounding) {
  // scale 3 (0x4200), minimum -1 (0xBC00), nibbles of byte n: low n, high 15 - n.
  std::vector<std::byte> block = {std::byte{0x00}, std::byte{0x42}, std::byte{0x00}, std::byte{0xBC}};
  for (int n = 0; n < 16; ++n) block.push_back(static_cast<std::byte>(n | (15 - n) << 4));
  const auto values = decoded(DType::q4_1, block, 32);
  for (int n = 0; n < 16; ++n) {
    EXPECT_EQ(values[n], 3 * n - 1);
    EXPECT_EQ(values[16 + n], 3 * (15 - n) - 1);
  }
  // 15 * 2^-24 * 2047 - 65504 needs 40 bits before it is rounded.
  block[0] = std::byte{0xFF}, block[1] = std::byte{0x07};  // 2047 * 2^-24
  block[2] = std::byte{0xFF}, block[3] = std::byte{0xFB};  // -65504
  EXPECT_EQ(decoded(DType::q4_1, block, 16)[15], static_cast<float>(15 * 2047 * 0x1p-24 - 65504));
}

// The bound that packed.h states, for scales as they were stored.
TEST(PackedRows, OfEightBitsKeepTheirBound) {
  for (const std::size_t width : {1, 2, 31, 64, 127, 576}) {
    for (const auto& row : hard_rows(width, kI8Largest)) {
      const auto bytes = encoded(DType::i8_row, row);
      const double scale = read<float>(bytes, 0), most = largest(row);
      const auto values = decoded(DType::i8_row, bytes, width);
      ASSERT_LE(std::abs(scale * 127 - most), std::max(most * 0x1p-23, 127 * 0x1p-126)) << width;
      for (std::size_t i = 0; i < width; ++i) {
        ASSERT_LE(std::abs(static_cast<double>(values[i]) - row[i]), scale / 2 + 0x1p-23 * most) << row[i];
        ASSERT_GE(read<std::int8_t>(bytes, 4 + i), -127);
      }
    }
  }
}

TEST(PackedRows, OfFourBitsKeepTheirBound) {
  for (const std::size_t width : {1, 2, 31, 32, 33, 64, 127, 576}) {
    for (const auto& row : hard_rows(width, kQ4Largest)) {
      const auto bytes = encoded(DType::q4_1, row);
      const auto values = decoded(DType::q4_1, bytes, width);
      for (std::size_t i = 0; i < width; ++i) {
        const std::size_t begin = i / 32 * 32;
        const double scale = f16_to_f32(read<std::uint16_t>(bytes, i / 32 * 20));
        const double most = largest(std::span(row).subspan(begin, std::min<std::size_t>(32, width - begin)));
        ASSERT_LE(std::abs(static_cast<double>(values[i]) - row[i]), scale / 2 + 0x1p-21 * most) << row[i];
      }
    }
  }
}

// A narrow block far from zero: f16 has steps of 1/4 there, the block a span of 1/8.
TEST(PackedRows, OfFourBitsSpanABlockFarFromZero) {
  std::vector<float> row(32);
  for (int i = 0; i < 32; ++i) row[i] = 300.01f + static_cast<float>(i) / 256;
  const auto values = through(DType::q4_1, row);
  for (int i = 0; i < 32; ++i) EXPECT_NEAR(values[i], row[i], (0.25 + 0.125) / 15 / 2 * 1.002) << i;
}

// What fills the last block up changes neither its scale nor its minimum.
TEST(PackedRows, FillUpTheLastBlock) {
  for (std::size_t width = 1; width < 32; ++width) {
    std::vector<float> row(width);
    for (std::size_t i = 0; i < width; ++i) row[i] = 5 + static_cast<float>(i * i % 7);
    std::vector<float> whole(32, row[0]);
    std::copy(row.begin(), row.end(), whole.begin());
    const auto short_bytes = encoded(DType::q4_1, row), whole_bytes = encoded(DType::q4_1, whole);
    EXPECT_EQ(read<std::uint32_t>(short_bytes, 0), read<std::uint32_t>(whole_bytes, 0)) << width;
  }
}

TEST(PackedRows, NameWhatTheyCannotHold) {
  for (const float bad : {kInfinity, -kInfinity, std::nanf(""), -std::nanf("")}) {
    for (const std::size_t at : {0, 5, 36}) {
      std::vector<float> row(37, 1.0f);
      row[at] = bad;
      EXPECT_EQ(first_unencodable(DType::i8_row, row), static_cast<std::int64_t>(at));
      EXPECT_EQ(first_unencodable(DType::q4_1, row), static_cast<std::int64_t>(at));
      EXPECT_EQ(first_unencodable(DType::f16, row), -1);
    }
  }
  const std::vector<float> edge = {kQ4Largest, -kQ4Largest}, beyond = {1, std::nextafter(-kQ4Largest, -kInfinity)};
  EXPECT_EQ(first_unencodable(DType::q4_1, edge), -1);
  EXPECT_EQ(first_unencodable(DType::q4_1, beyond), 1);
  EXPECT_EQ(first_unencodable(DType::i8_row, beyond), -1);
  EXPECT_EQ(first_unencodable(DType::i8_row, std::vector<float>{kI8Largest}), -1);
  EXPECT_EQ(first_unencodable(DType::i8_row, std::vector<float>{std::nextafter(kI8Largest, kInfinity)}), 0);
}

TEST(PackedRows, OfHalvesAreThoseOfHalf) {
  const std::vector<float> row = {1.0f, -2.5f, 1e9f, 1e-8f, std::nanf(""), -kInfinity, 0.1f};
  const auto f16 = encoded(DType::f16, row), bf16 = encoded(DType::bf16, row);
  for (std::size_t i = 0; i < row.size(); ++i) {
    EXPECT_EQ(read<std::uint16_t>(f16, 2 * i), f32_to_f16(row[i]));
    EXPECT_EQ(read<std::uint16_t>(bf16, 2 * i), f32_to_bf16(row[i]));
  }
  EXPECT_EQ(through(DType::f16, {0.5f, -3.0f}), (std::vector<float>{0.5f, -3.0f}));
  EXPECT_EQ(through(DType::bf16, {0.5f, -3.0f}), (std::vector<float>{0.5f, -3.0f}));
  EXPECT_EQ(through(DType::f32, row)[2], 1e9f);
}

// The figures of docs/cache.md, printed: root mean square and largest error for normally distributed rows of 128.
TEST(PackedRows, ErrorsOfNormalRows) {
  constexpr std::size_t kWidth = 128, kRows = 20000;
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  std::vector<float> row(kWidth);
  const auto measure = [&](DType dtype) {
    double squares = 0, most = 0;
    for (std::size_t n = 0; n < kRows; ++n) {
      for (float& x : row) x = normal(random);
      const auto values = through(dtype, row);
      for (std::size_t i = 0; i < kWidth; ++i) {
        const double error = std::abs(static_cast<double>(values[i]) - row[i]);
        squares += error * error;
        most = std::max(most, error);
      }
    }
    const double rms = std::sqrt(squares / (kWidth * kRows));
    std::cout << "  " << dtype_name(dtype) << ": rms " << rms << ", largest " << most << '\n';
    return rms;
  };
  // Rounding errors are uniform over a step: step / sqrt(12), the steps being about 2 * 2.6 / 254 and 2 * 2.07 / 15.
  EXPECT_NEAR(measure(DType::i8_row), 2 * 2.6 / 254 / std::sqrt(12.0), 0.001);
  EXPECT_NEAR(measure(DType::q4_1), 2 * 2.07 / 15 / std::sqrt(12.0), 0.005);
  EXPECT_LT(measure(DType::f16), 0x1p-12);
  EXPECT_LT(measure(DType::bf16), 0x1p-9);
}

}  // namespace
}  // namespace sightline
