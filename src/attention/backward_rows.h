#ifndef SIGHTLINE_ATTENTION_BACKWARD_ROWS_H_
#define SIGHTLINE_ATTENTION_BACKWARD_ROWS_H_

#include <cstdint>

#include "src/attention/row_source.h"

namespace sightline {

/// Rows [first, first + count) as fp32 times `factor`, [count, stride]; columns from `width` to `stride` are 0.
void widen_rows(const RowSource& source, std::int64_t first, std::int64_t count, std::int64_t width, float factor,
                std::int64_t stride, float* to);

}  // namespace sightline

#endif  // SIGHTLINE_ATTENTION_BACKWARD_ROWS_H_
