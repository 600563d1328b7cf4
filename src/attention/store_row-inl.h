// Rows of the output in the type that the caller asked for.

#if defined(SIGHTLINE_ATTENTION_STORE_ROW_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SIGHTLINE_ATTENTION_STORE_ROW_INL_H_
#undef SIGHTLINE_ATTENTION_STORE_ROW_INL_H_
#else
#define SIGHTLINE_ATTENTION_STORE_ROW_INL_H_
#endif

#include <cstring>

#include "src/attention/head_sight.h"
#include "src/tensor/half.h"

HWY_BEFORE_NAMESPACE();
namespace sightline {
namespace HWY_NAMESPACE {

template <class T, class Narrow>
HWY_INLINE void store_columns(std::byte* to, std::int64_t stride, std::int64_t columns, const float* row,
                              const Narrow& narrow) {
  for (std::int64_t column = 0; column < columns; ++column) {
    const T value = narrow(row[column]);
    std::memcpy(to + column * stride * static_cast<std::int64_t>(sizeof(T)), &value, sizeof(T));
  }
}

inline void store_row(const HeadOutput& out, std::int64_t head, std::int64_t row, std::int64_t columns,
                      const float* values) {
  const std::int64_t elements = head * out.head_stride + row * out.row_stride;
  std::byte* to = out.data + elements * static_cast<std::int64_t>(dtype_size(out.dtype));
  if (out.dtype == DType::f16) return store_columns<std::uint16_t>(to, out.column_stride, columns, values, f32_to_f16);
  if (out.dtype == DType::bf16)
    return store_columns<std::uint16_t>(to, out.column_stride, columns, values, f32_to_bf16);
  if (out.column_stride == 1) {
    std::memcpy(to, values, static_cast<std::size_t>(columns) * sizeof(float));
    return;
  }
  store_columns<float>(to, out.column_stride, columns, values, [](float value) { return value; });
}

}  // namespace HWY_NAMESPACE
}  // namespace sightline
HWY_AFTER_NAMESPACE();

#endif  // SIGHTLINE_ATTENTION_STORE_ROW_INL_H_
