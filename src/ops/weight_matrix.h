#ifndef SIGHTLINE_OPS_WEIGHT_MATRIX_H_
#define SIGHTLINE_OPS_WEIGHT_MATRIX_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "sightline/tensor.h"

namespace sightline::ops {

/// A matrix of weights as its file stores it: row-major, F32, F16 or BF16, little-endian, at any byte alignment. It
/// owns nothing; the bytes are read where they are mapped.
struct WeightMatrix {
  const std::byte* data = nullptr;
  DType dtype = DType::f32;
  std::int64_t rows = 0;
  std::int64_t cols = 0;

  std::int64_t row_bytes() const { return cols * static_cast<std::int64_t>(dtype_size(dtype)); }
  const std::byte* row(std::int64_t r) const { return data + r * row_bytes(); }
};

/// to.size() values of type F32, F16 or BF16 as fp32, exactly.
void widen(const std::byte* from, DType dtype, std::span<float> to);

/// Throws BadArgument, naming `what`, for a dtype other than F32, F16 and BF16.
void check_weight_dtype(const WeightMatrix& matrix, const char* what);

}  // namespace sightline::ops

#endif  // SIGHTLINE_OPS_WEIGHT_MATRIX_H_
