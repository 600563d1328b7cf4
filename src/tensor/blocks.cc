#include "src/tensor/blocks.h"

#include <bit>

#include "src/tensor/element.h"

namespace sightline {
namespace {

// Each function below is the value of element i of a block.

unsigned byte_at(const std::byte* block, int at) { return std::to_integer<unsigned>(block[at]); }
int signed_byte_at(const std::byte* block, int at) { return static_cast<std::int8_t>(block[at]); }
float f16_at(const std::byte* block, int at) { return f16_to_f32(load_element<std::uint16_t>(block + at)); }

// Of `width` codes of 4 bits, the first half lies in the low halves of bytes, the second in the high ones.
unsigned nibble(const std::byte* codes, int i, int width) {
  const unsigned pair = byte_at(codes, i % (width / 2));
  return i < width / 2 ? pair & 15 : pair >> 4;
}

unsigned fifth_bit(const std::byte* bits, int i) { return load_element<std::uint32_t>(bits) >> i & 1; }

// f16 d, 16 bytes of codes.
float q4_0(const std::byte* block, int i) {
  return f16_at(block, 0) * static_cast<float>(static_cast<int>(nibble(block + 2, i, 32)) - 8);
}

// f16 d, f16 m, 16 bytes of codes.
float q4_1(const std::byte* block, int i) {
  return f16_at(block, 0) * static_cast<float>(nibble(block + 4, i, 32)) + f16_at(block, 2);
}

// f16 d, 32 fifth bits, 16 bytes of codes.
float q5_0(const std::byte* block, int i) {
  const unsigned code = nibble(block + 6, i, 32) | fifth_bit(block + 2, i) << 4;
  return f16_at(block, 0) * static_cast<float>(static_cast<int>(code) - 16);
}

// f16 d, f16 m, 32 fifth bits, 16 bytes of codes.
float q5_1(const std::byte* block, int i) {
  const unsigned code = nibble(block + 8, i, 32) | fifth_bit(block + 4, i) << 4;
  return f16_at(block, 0) * static_cast<float>(code) + f16_at(block, 2);
}

// f16 d, 32 signed codes.
float q8_0(const std::byte* block, int i) {
  return f16_at(block, 0) * static_cast<float>(signed_byte_at(block, 2 + i));
}

// Codes of 2 bits: a byte holds elements 32 apart of 128.
unsigned two_bits(const std::byte* codes, int i) {
  return byte_at(codes, i / 128 * 32 + i % 32) >> (2 * (i % 128 / 32)) & 3;
}

// 16 bytes of (scale, minimum) for 16 elements each, 64 bytes of codes, f16 d, f16 dmin.
float q2_k(const std::byte* block, int i) {
  const unsigned pair = byte_at(block, i / 16);
  return f16_at(block, 80) * static_cast<float>(pair & 15) * static_cast<float>(two_bits(block + 16, i)) -
         f16_at(block, 82) * static_cast<float>(pair >> 4);
}

// The sixth of 16 scales of 6 bits: 16 halves of bytes, then 4 bytes whose pairs of bits are 4 scales apart.
int q3_k_scale(const std::byte* scales, int group) {
  const unsigned low = nibble(scales, group, 16), high = byte_at(scales, 8 + group % 4) >> (2 * (group / 4)) & 3;
  return static_cast<int>(low | high << 4) - 32;
}

// 32 bytes of third bits (bit k: elements 32 k to 32 k + 31), 64 bytes of codes, 12 of scales, f16 d.
float q3_k(const std::byte* block, int i) {
  const unsigned third = byte_at(block, i % 32) >> (i / 32) & 1;
  const int code = static_cast<int>(two_bits(block + 32, i) | third << 2) - 4;
  return f16_at(block, 108) * static_cast<float>(q3_k_scale(block + 96, i / 16)) * static_cast<float>(code);
}

struct ScaleAndMinimum {
  unsigned scale, minimum;
};

// Eight of each, of 6 bits, in 12 bytes: groups 0 to 3 have theirs in the low bits of bytes 0-3 and 4-7; the others
// have 4 bits of both in bytes 8-11 and the rest in the two high bits of those.
ScaleAndMinimum scale_and_minimum(const std::byte* scales, int group) {
  if (group < 4) return {byte_at(scales, group) & 63, byte_at(scales, group + 4) & 63};
  const unsigned low = byte_at(scales, group + 4);
  return {(low & 15) | byte_at(scales, group - 4) >> 6 << 4, low >> 4 | byte_at(scales, group) >> 6 << 4};
}

float with_minimum(const std::byte* block, int group, unsigned code) {
  const ScaleAndMinimum of_group = scale_and_minimum(block + 4, group);
  return f16_at(block, 0) * static_cast<float>(of_group.scale) * static_cast<float>(code) -
         f16_at(block, 2) * static_cast<float>(of_group.minimum);
}

// f16 d, f16 dmin, 12 bytes of scales and minima for 32 elements each, 128 of codes: 32 bytes hold 64 elements.
float q4_k(const std::byte* block, int i) {
  return with_minimum(block, i / 32, nibble(block + 16 + i / 64 * 32, i % 64, 64));
}

// As q4_k, with 32 bytes of fifth bits before the codes (bit k: elements 32 k to 32 k + 31).
float q5_k(const std::byte* block, int i) {
  const unsigned fifth = byte_at(block, 16 + i % 32) >> (i / 32) & 1;
  return with_minimum(block, i / 32, nibble(block + 48 + i / 64 * 32, i % 64, 64) | fifth << 4);
}

// Of each 128 elements: 64 bytes of low halves, elements 64 apart in a byte; 32 bytes of the two high bits, elements 32
// apart. All low halves come first, then the high bits, 16 signed scales, f16 d.
float q6_k(const std::byte* block, int i) {
  const int part = i / 128, within = i % 128;
  const unsigned low = nibble(block + part * 64, within, 128);
  const unsigned high = byte_at(block, 128 + part * 32 + within % 32) >> (2 * (within / 32)) & 3;
  const int code = static_cast<int>(low | high << 4) - 32;
  return f16_at(block, 208) * static_cast<float>(signed_byte_at(block, 192 + i / 16)) * static_cast<float>(code);
}

// f16 d, 16 bytes of codes.
float iq4_nl(const std::byte* block, int i) {
  return f16_at(block, 0) * static_cast<float>(kIq4Levels[nibble(block + 2, i, 32)]);
}

// f16 d, 8 pairs of high bits and 8 low halves of the scales for 32 elements each, 128 bytes of codes.
float iq4_xs(const std::byte* block, int i) {
  const int group = i / 32;
  const unsigned low = byte_at(block, 4 + group / 2) >> (4 * (group % 2)) & 15;
  const unsigned high = load_element<std::uint16_t>(block + 2) >> (2 * group) & 3u;
  const int scale = static_cast<int>(low | high << 4) - 32;
  return f16_at(block, 0) * static_cast<float>(scale) *
         static_cast<float>(kIq4Levels[nibble(block + 8 + group * 16, i % 32, 32)]);
}

// 2^(e - 128), subnormal for the two smallest e.
float fp4_scale(unsigned e) { return std::bit_cast<float>(e < 2 ? 0x00200000u << e : (e - 1) << 23); }

// The exponent e, 16 bytes of codes.
float mxfp4(const std::byte* block, int i) {
  return fp4_scale(byte_at(block, 0)) * static_cast<float>(kFp4Levels[nibble(block + 1, i, 32)]);
}

using Value = float (*)(const std::byte* block, int i);

Value value_of(DType dtype) {
  switch (dtype) {
    case DType::q4_0:
      return q4_0;
    case DType::q4_1:
      return q4_1;
    case DType::q5_0:
      return q5_0;
    case DType::q5_1:
      return q5_1;
    case DType::q8_0:
      return q8_0;
    case DType::q2_k:
      return q2_k;
    case DType::q3_k:
      return q3_k;
    case DType::q4_k:
      return q4_k;
    case DType::q5_k:
      return q5_k;
    case DType::q6_k:
      return q6_k;
    case DType::iq4_nl:
      return iq4_nl;
    case DType::iq4_xs:
      return iq4_xs;
    default:
      return mxfp4;
  }
}

}  // namespace

void decode_blocks(DType dtype, const std::byte* from, std::span<float> to) {
  const BlockLayout layout = block_layout(dtype);
  const Value value = value_of(dtype);
  for (std::size_t i = 0; i < to.size(); ++i) {
    to[i] = value(from + i / layout.width * layout.bytes, static_cast<int>(i % layout.width));
  }
}

}  // namespace sightline
