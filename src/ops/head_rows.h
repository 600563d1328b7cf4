#ifndef SIGHTLINE_OPS_HEAD_ROWS_H_
#define SIGHTLINE_OPS_HEAD_ROWS_H_

#include <cstdint>

namespace sightline::ops {

/// Heads within wider rows, to be changed in place: element i of head h of row r is data[r * row_stride +
/// h * head_stride + i].
struct HeadRows {
  float* data = nullptr;
  std::int64_t rows = 0, heads = 0;
  std::int64_t row_stride = 0, head_stride = 0;

  float* at(std::int64_t row, std::int64_t head) const { return data + row * row_stride + head * head_stride; }
};

}  // namespace sightline::ops

#endif  // SIGHTLINE_OPS_HEAD_ROWS_H_
