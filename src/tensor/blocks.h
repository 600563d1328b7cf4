#ifndef SIGHTLINE_TENSOR_BLOCKS_H_
#define SIGHTLINE_TENSOR_BLOCKS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "sightline/tensor.h"

/// Blocks of quantised weights, as GGUF files store them: `width` elements side by side share their scales.
namespace sightline {

struct BlockLayout {
  std::size_t width;  // elements
  std::size_t bytes;
};

/// Of a type that is no block: {1, 0}.
constexpr BlockLayout block_layout(DType dtype) {
  switch (dtype) {
    case DType::q4_0:
      return {32, 18};
    case DType::q4_1:
      return {32, 20};
    case DType::q5_0:
      return {32, 22};
    case DType::q5_1:
      return {32, 24};
    case DType::q8_0:
      return {32, 34};
    case DType::q2_k:
      return {256, 84};
    case DType::q3_k:
      return {256, 110};
    case DType::q4_k:
      return {256, 144};
    case DType::q5_k:
      return {256, 176};
    case DType::q6_k:
      return {256, 210};
    case DType::iq4_nl:
      return {32, 18};
    case DType::iq4_xs:
      return {256, 136};
    case DType::mxfp4:
      return {32, 17};
    default:
      return {1, 0};
  }
}

constexpr bool is_block(DType dtype) { return block_layout(dtype).bytes > 0; }

/// Types that the matrices of a model may have: f32, f16, bf16 and the blocks.
constexpr bool is_weight_type(DType dtype) {
  return dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16 || is_block(dtype);
}

/// The values of the blocks at `from`, at any byte alignment; to.size() is a multiple of the type's width. This is the
/// definition of what a block is worth; src/ops/widen_blocks-inl.h computes the same bits with vectors.
///
/// A value is scale * code, or scale * code - minimum, where scale and minimum may be products themselves. None of
/// these products is ever rounded: an f16 has 11 bits, scales of groups at most 7 (and a sign), codes at most 7, and of
/// types with both kinds of scale the sum is at most 24 bits. So their order does not matter, and the subtraction (or
/// addition of a minimum) is the only step that rounds:
///
/// | type | value of element i |
/// |---|---|
/// | q4_0, q5_0, q8_0 | d * (q - 8), d * (q - 16), d * q |
/// | q4_1, q5_1 | d * q + m |
/// | q2_k, q4_k, q5_k | (d * scale) * q - dmin * minimum |
/// | q3_k, q6_k | (d * (scale - 32)) * (q - 4), (d * scale) * (q - 32) |
/// | iq4_nl, iq4_xs | d * level[q], (d * (scale - 32)) * level[q] |
/// | mxfp4 | 2^(e - 128) * level[q], levels being twice those of E2M1; e = 255 is a number as any other |
void decode_blocks(DType dtype, const std::byte* from, std::span<float> to);

/// What the codes 0 to 15 of iq4_nl and iq4_xs, and of mxfp4, stand for.
inline constexpr std::array<std::int8_t, 16> kIq4Levels = {-127, -104, -83, -65, -49, -35, -22, -10,
                                                           1,    13,   25,  38,  53,  69,  89,  113};
inline constexpr std::array<std::int8_t, 16> kFp4Levels = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

}  // namespace sightline

#endif  // SIGHTLINE_TENSOR_BLOCKS_H_
