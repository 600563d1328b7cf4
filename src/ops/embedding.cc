#include "src/ops/embedding.h"

#include <string>
#include <vector>

#include "sightline/error.h"

namespace sightline::ops {

void add_embedding(const WeightMatrix& table, std::span<const std::int32_t> indexes, float* y) {
  check_weights(table, "embedding");
  if (table.transposed) throw BadArgument("embedding: a transposed table is not supported");
  std::vector<float> row(table.cols);
  for (const std::int32_t index : indexes) {
    if (index < 0 || index >= table.rows) {
      throw BadArgument("index " + std::to_string(index) + " is outside an embedding of " + std::to_string(table.rows) +
                        " rows");
    }
    widen(table.stored_row(index), table.dtype, row);
    for (std::int64_t i = 0; i < table.cols; ++i) y[i] += row[i];
    y += table.cols;
  }
}

}  // namespace sightline::ops
