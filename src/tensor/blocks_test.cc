#include "src/tensor/blocks.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "src/tensor/dtype.h"

namespace sightline {
namespace {

std::vector<std::byte> zeros(DType dtype) { return std::vector<std::byte>(block_layout(dtype).bytes); }

void put(std::vector<std::byte>& block, std::size_t at, std::uint8_t value) { block[at] = std::byte{value}; }
void put16(std::vector<std::byte>& block, std::size_t at, std::uint16_t value) {
  std::memcpy(block.data() + at, &value, sizeof value);
}

std::vector<float> decoded(DType dtype, const std::vector<std::byte>& blocks) {
  const BlockLayout layout = block_layout(dtype);
  std::vector<float> values(blocks.size() / layout.bytes * layout.width, NAN);
  decode_blocks(dtype, blocks.data(), values);
  return values;
}

// All zeros but for the elements named.
void expect_values(const std::vector<float>& values, float others,
                   std::initializer_list<std::pair<std::size_t, float>> named) {
  std::vector<float> expected(values.size(), others);
  for (const auto& [i, value] : named) expected[i] = value;
  EXPECT_EQ(expected, values);
}

constexpr std::uint16_t kOne = 0x3C00, kHalf = 0x3800, kTwo = 0x4000, kMinusOne = 0xBC00;

TEST(Blocks, FourBits) {
  std::vector<std::byte> block = zeros(DType::q4_0);
  put16(block, 0, kTwo);
  put(block, 2, 0x9F);   // elements 0 and 16: 15 and 9
  put(block, 17, 0x01);  // elements 15 and 31: 1 and 0
  expect_values(decoded(DType::q4_0, block), -16, {{0, 14.f}, {16, 2.f}, {15, -14.f}});

  block = zeros(DType::q4_1);
  put16(block, 0, kHalf);
  put16(block, 2, kMinusOne);
  put(block, 4, 0x9F);
  expect_values(decoded(DType::q4_1, block), -1, {{0, 6.5f}, {16, 3.5f}});

  block = zeros(DType::iq4_nl);
  put16(block, 0, kTwo);
  put(block, 2, 0x8F);
  expect_values(decoded(DType::iq4_nl, block), -254, {{0, 226.f}, {16, 2.f}});
}

TEST(Blocks, FiveBits) {
  std::vector<std::byte> block = zeros(DType::q5_0);
  put16(block, 0, kTwo);
  put(block, 2, 0x01);  // the fifth bit of element 0
  put(block, 5, 0x80);  // and of 31
  put(block, 6, 0x21);  // elements 0 and 16
  expect_values(decoded(DType::q5_0, block), -32, {{0, 2.f}, {16, -28.f}, {31, 0.f}});

  block = zeros(DType::q5_1);
  put16(block, 0, kTwo);
  put16(block, 2, kOne);
  put(block, 4, 0x01);
  put(block, 7, 0x80);
  put(block, 8, 0x21);
  expect_values(decoded(DType::q5_1, block), 1, {{0, 35.f}, {16, 5.f}, {31, 33.f}});
}

TEST(Blocks, EightBits) {
  std::vector<std::byte> block = zeros(DType::q8_0);
  put16(block, 0, kHalf);
  put(block, 2, 0x80);
  put(block, 33, 0x7F);
  expect_values(decoded(DType::q8_0, block), 0, {{0, -64.f}, {31, 63.5f}});
}

TEST(Blocks, TwoBitsWithScalesAndMinima) {
  std::vector<std::byte> block = zeros(DType::q2_k);
  put16(block, 80, kTwo);
  put16(block, 82, kOne);
  put(block, 0, 0x53);   // elements 0-15: scale 3, minimum 5
  put(block, 9, 0x01);   // elements 144-159: scale 1, minimum 0
  put(block, 16, 0x02);  // element 0: 2; 32, 64 and 96: 0
  put(block, 64, 0x03);  // byte 48 of the codes: 128 + 16, then 32 more each
  const std::vector<float> values = decoded(DType::q2_k, block);
  EXPECT_EQ(3 * 2 * 2 - 5, values[0]);
  EXPECT_EQ(-5, values[15]);
  EXPECT_EQ(0, values[16]);
  EXPECT_EQ(6, values[144]);
  EXPECT_EQ(0, values[145]);
}

TEST(Blocks, ThreeBits) {
  std::vector<std::byte> block = zeros(DType::q3_k);
  put16(block, 108, kOne);
  put(block, 96, 0x21);   // scale 0: low half 1; scale 8: low half 2
  put(block, 104, 0x23);  // scale 0: high bits 3; 4: 0; 8: 2; 12: 0
  put(block, 0, 0x10);    // third bits of element 0: clear; of 128: set
  put(block, 32, 0x03);   // element 0: 3
  put(block, 64, 0x02);   // element 128: 2
  const std::vector<float> values = decoded(DType::q3_k, block);
  EXPECT_EQ((49 - 32) * (3 - 4), values[0]);
  EXPECT_EQ((34 - 32) * (6 - 4), values[128]);
  EXPECT_EQ((34 - 32) * (0 - 4), values[129]);
  EXPECT_EQ(-32 * -4, values[16]);
}

// Scales of groups 1 and 6, by their definition: 6 has low halves in byte 10, high bits in bytes 2 and 6 of the twelve.
std::vector<std::byte> with_two_groups(DType dtype) {
  std::vector<std::byte> block = zeros(dtype);
  put16(block, 0, kOne);
  put16(block, 2, kTwo);
  put(block, 4 + 1, 63);
  put(block, 4 + 5, 7);
  put(block, 4 + 10, 0x95);
  put(block, 4 + 2, 0x80);  // scale 6: 5 + 32
  put(block, 4 + 6, 0xC0);  // minimum 6: 9 + 48
  return block;
}

TEST(Blocks, FourBitsWithScalesAndMinima) {
  std::vector<std::byte> block = with_two_groups(DType::q4_k);
  put(block, 16, 0xA0);               // element 32: 10
  put(block, 16 + 3 * 32 + 1, 0x0B);  // element 193: 11
  const std::vector<float> values = decoded(DType::q4_k, block);
  EXPECT_EQ(0, values[0]);
  EXPECT_EQ(63 * 10 - 2 * 7, values[32]);
  EXPECT_EQ(-2 * 7, values[33]);
  EXPECT_EQ(37 * 11 - 2 * 57, values[193]);
  EXPECT_EQ(-2 * 57, values[192]);
}

TEST(Blocks, FiveBitsWithScalesAndMinima) {
  std::vector<std::byte> block = with_two_groups(DType::q5_k);
  put(block, 16, 0x02);               // the fifth bit of element 32
  put(block, 17, 0x40);               // and of 193
  put(block, 48, 0xA0);               // element 32: 10
  put(block, 48 + 3 * 32 + 1, 0x0B);  // element 193: 11
  const std::vector<float> values = decoded(DType::q5_k, block);
  EXPECT_EQ(63 * 26 - 2 * 7, values[32]);
  EXPECT_EQ(-2 * 7, values[33]);
  EXPECT_EQ(37 * 27 - 2 * 57, values[193]);
}

TEST(Blocks, SixBits) {
  std::vector<std::byte> block = zeros(DType::q6_k);
  put16(block, 208, kHalf);
  put(block, 192, 0x80);       // scale of elements 0-15: -128
  put(block, 192 + 15, 0x7F);  // of 240-255
  put(block, 0, 0x0F);         // element 0: 15
  put(block, 128, 0x03);       // and its high bits
  put(block, 127, 0xE0);       // element 255: 14
  put(block, 128 + 63, 0x80);  // and its high bits, 2
  const std::vector<float> values = decoded(DType::q6_k, block);
  EXPECT_EQ(-128 * 31 / 2, values[0]);
  EXPECT_EQ(-128 * -32 / 2, values[1]);
  EXPECT_EQ(127 * (46 - 32) / 2, values[255]);
  EXPECT_EQ(0, values[16]);
}

TEST(Blocks, FourBitLevelsWithScales) {
  std::vector<std::byte> block = zeros(DType::iq4_xs);
  put16(block, 0, kOne);
  put16(block, 2, 0xC000 | 1);  // high bits of scales: 7 has 3, 0 has 1
  put(block, 4, 0x05);          // low halves: scale 0 has 5
  put(block, 7, 0xF0);          // 7 has 15
  put(block, 8, 0x0F);          // element 0: code 15
  put(block, 8 + 127, 0x70);    // element 255: code 7
  const std::vector<float> values = decoded(DType::iq4_xs, block);
  EXPECT_EQ((21 - 32) * 113, values[0]);
  EXPECT_EQ((21 - 32) * -127, values[16]);
  EXPECT_EQ(31 * -10, values[255]);
  EXPECT_EQ(-32 * -127, values[32]);
}

TEST(Blocks, FourBitFloats) {
  const float magnitudes[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};  // of E2M1
  for (int e : {0, 1, 2, 127, 128, 252}) {
    std::vector<std::byte> block = zeros(DType::mxfp4);
    put(block, 0, static_cast<std::uint8_t>(e));
    for (int i = 0; i < 16; ++i) put(block, 1 + i, static_cast<std::uint8_t>(i | (15 - i) << 4));
    const std::vector<float> values = decoded(DType::mxfp4, block);
    for (int code = 0; code < 16; ++code) {
      const float value = std::ldexp(code < 8 ? magnitudes[code] : -magnitudes[code - 8], e - 127);
      EXPECT_EQ(value, values[code]) << e;
      EXPECT_EQ(value, values[31 - code]) << e;
    }
  }
}

TEST(Blocks, ReadsOneBlockAfterTheOther) {
  std::vector<std::byte> blocks = zeros(DType::q8_0);
  blocks.resize(2 * blocks.size());
  put16(blocks, 34, kOne);
  put(blocks, 34 + 2, 5);
  expect_values(decoded(DType::q8_0, blocks), 0, {{32, 5.f}});
}

TEST(Blocks, AreWeightsBesideTheFloats) {
  for (DType dtype : {DType::f32, DType::f16, DType::bf16, DType::q4_1, DType::q8_0, DType::mxfp4}) {
    EXPECT_TRUE(is_weight_type(dtype)) << dtype_name(dtype);
  }
  for (DType dtype : {DType::i8_row, DType::f64, DType::u8, DType::f8_e4m3}) {
    EXPECT_FALSE(is_weight_type(dtype)) << dtype_name(dtype);
  }
}

}  // namespace
}  // namespace sightline
