#ifndef SIGHTLINE_OPS_LINEAR_BLOCK_H_
#define SIGHTLINE_OPS_LINEAR_BLOCK_H_

#include <cstdint>

#include "src/ops/linear.h"

namespace sightline::ops {

/// What one task of a linear layer computes: y[row_begin, row_end) x [out_begin, out_end).
struct LinearBlock {
  const Linear* layer;
  const float* x;          // [rows, padded_in], zeros after `in`
  float* y;                // [rows, out]
  std::int64_t padded_in;  // a multiple of the 16 chains
  std::int64_t row_begin, row_end;
  std::int64_t out_begin, out_end;
  std::int64_t panel_outs;  // outputs whose weights are widened together; a multiple of 4

  float bias(std::int64_t out) const { return layer->bias == nullptr ? 0.0f : layer->bias[out]; }
};

}  // namespace sightline::ops

#endif  // SIGHTLINE_OPS_LINEAR_BLOCK_H_
