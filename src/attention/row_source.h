#ifndef SIGHTLINE_ATTENTION_ROW_SOURCE_H_
#define SIGHTLINE_ATTENTION_ROW_SOURCE_H_

#include <cstddef>
#include <cstdint>

#include "sightline/attention.h"

namespace sightline {

/// The rows of one head of queries, keys or values as they lie in memory: at a stride, or in pages.
struct RowSource {
  const std::byte* data = nullptr;
  DType dtype = DType::f32;
  std::int64_t row_stride = 0;     // bytes
  std::int64_t column_stride = 1;  // elements; 1 where a row is contiguous
  const std::int32_t* pages = nullptr;
  std::int64_t page_size = 1, page_stride = 0;  // rows, bytes

  const std::byte* row(std::int64_t index) const {
    if (pages == nullptr) return data + index * row_stride;
    return data + pages[index / page_size] * page_stride + index % page_size * row_stride;
  }
  /// Whether kernels can read rows in place.
  bool in_place() const { return dtype == DType::f32 && column_stride == 1; }
};

}  // namespace sightline

#endif  // SIGHTLINE_ATTENTION_ROW_SOURCE_H_
