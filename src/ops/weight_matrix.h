#ifndef SIGHTLINE_OPS_WEIGHT_MATRIX_H_
#define SIGHTLINE_OPS_WEIGHT_MATRIX_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "sightline/tensor.h"

namespace sightline::ops {

/// A matrix of weights as its file stores it: row-major, F32, F16, BF16 or blocks of quantised weights
/// (src/tensor/blocks.h), little-endian, at any byte alignment. It owns nothing; the bytes are read where they are
/// mapped.
struct WeightMatrix {
  const std::byte* data = nullptr;
  DType dtype = DType::f32;
  std::int64_t rows = 0;
  std::int64_t cols = 0;  // of blocks a multiple of their width
  /// It is stored the other way round, [cols, rows] row-major, as GPT-2's Conv1D has it; F32, F16 and BF16 alone.
  bool transposed = false;

  /// Of a row as it is stored: of `rows` elements where the matrix is transposed.
  std::int64_t row_bytes() const {
    return static_cast<std::int64_t>(sightline::row_bytes(dtype, transposed ? rows : cols));
  }
  const std::byte* stored_row(std::int64_t r) const { return data + r * row_bytes(); }
};

/// to.size() values of a stored row as fp32, exactly; of blocks a multiple of their width. The bits are those of
/// decode_blocks() on every target.
void widen(const std::byte* from, DType dtype, std::span<float> to);

/// Throws BadArgument, naming `what`, for a type that weights do not have, for rows that are no whole blocks, for
/// transposed blocks and for negative sizes.
void check_weights(const WeightMatrix& matrix, const char* what);

}  // namespace sightline::ops

#endif  // SIGHTLINE_OPS_WEIGHT_MATRIX_H_
