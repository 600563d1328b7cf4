#ifndef SIGHTLINE_OPS_EMBEDDING_H_
#define SIGHTLINE_OPS_EMBEDDING_H_

#include <cstdint>
#include <span>

#include "src/ops/weight_matrix.h"

namespace sightline::ops {

/// y [indexes, table.cols] += the rows of `table` that `indexes` name, widened to fp32. Throws BadArgument for an index
/// outside the table, and for a transposed one.
void add_embedding(const WeightMatrix& table, std::span<const std::int32_t> indexes, float* y);

}  // namespace sightline::ops

#endif  // SIGHTLINE_OPS_EMBEDDING_H_
