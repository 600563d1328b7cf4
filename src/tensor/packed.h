#ifndef SIGHTLINE_TENSOR_PACKED_H_
#define SIGHTLINE_TENSOR_PACKED_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "sightline/tensor.h"

namespace sightline {

/// Elements of a block of q4_1, and its bytes: an f16 scale, an f16 minimum, 16 bytes of two elements each.
inline constexpr std::int64_t kQ4BlockWidth = 32;
inline constexpr std::int64_t kQ4BlockBytes = 20;
/// The largest magnitudes that packed rows take: a block's minimum is an f16, and 127 scales must stay finite.
inline constexpr float kQ4Largest = 65504;
inline constexpr float kI8Largest = 0x1p127f;

/// Whether rows of keys and values may have this type: f32, f16, bf16, i8_row, q4_1.
bool is_row_type(DType dtype);

/// Column of the first element that a row of `dtype` cannot hold, -1 where it can hold all: packed types refuse NaN and
/// infinity, which would take their neighbours with them, and magnitudes above the limits above.
std::int64_t first_unencodable(DType dtype, std::span<const float> row);

/// Writes row_bytes(dtype, row.size()) bytes. The row can be held (see above); the thread rounds to nearest and honours
/// denormals. Errors against x:
/// f16, bf16: rounded to nearest, ties to even; f16 is infinite from 65520 on.
/// i8_row: |error| <= scale / 2 + 2^-23 max|x|, where scale = max|x| / 127 in fp32, but at least 2^-126, so that 127 of
/// it reach max|x|; a row of zeros has scale 0.
/// q4_1: |error| <= scale / 2 + 2^-21 max|x|. The minimum is rounded down and the scale, (max - minimum) / 15, up, so
/// that the 16 steps span the block: rounding to nearest would leave values outside, as far as half an ulp of the
/// minimum, where a block is far from zero and narrow. The last block is filled up with its last element.
void encode_row(DType dtype, std::span<const float> row, std::byte* out);

/// The values of a row: i8_row float(i8) * scale, q4_1 fma(q, scale, minimum), each rounded once.
void decode_row(DType dtype, const std::byte* row, std::span<float> out);

}  // namespace sightline

#endif  // SIGHTLINE_TENSOR_PACKED_H_
