#include "src/attention/backward_rows.h"

#include <algorithm>

#include "src/tensor/half.h"

namespace sightline {
namespace {

template <class T, class Widen>
void widen_row(const std::byte* row, std::int64_t column_stride, std::int64_t width, float factor, float* to,
               const Widen& widen) {
  const T* from = reinterpret_cast<const T*>(row);
  if (column_stride == 1) {
    for (std::int64_t t = 0; t < width; ++t) to[t] = widen(from[t]) * factor;
  } else {
    for (std::int64_t t = 0; t < width; ++t) to[t] = widen(from[t * column_stride]) * factor;
  }
}

}  // namespace

void widen_rows(const RowSource& source, std::int64_t first, std::int64_t count, std::int64_t width, float factor,
                std::int64_t stride, float* to) {
  for (std::int64_t i = 0; i < count; ++i, to += stride) {
    const std::byte* row = source.row(first + i);
    switch (source.dtype) {
      case DType::f16:
        widen_row<std::uint16_t>(row, source.column_stride, width, factor, to, f16_to_f32);
        break;
      case DType::bf16:
        widen_row<std::uint16_t>(row, source.column_stride, width, factor, to, bf16_to_f32);
        break;
      default:
        widen_row<float>(row, source.column_stride, width, factor, to, [](float x) { return x; });
    }
    std::fill(to + width, to + stride, 0.0f);
  }
}

}  // namespace sightline
