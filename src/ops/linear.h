#ifndef SIGHTLINE_OPS_LINEAR_H_
#define SIGHTLINE_OPS_LINEAR_H_

#include <cstdint>

#include "sightline/execution.h"
#include "src/ops/weight_matrix.h"

namespace sightline::ops {

/// One linear layer: y = x W^T + b.
struct Linear {
  WeightMatrix weight;          // [out, in], or as it is stored [in, out]
  const float* bias = nullptr;  // [out], or null for none
};

/// y [rows, out] = x [rows, in] W^T + b, all dense. The bits of an output element depend on its row of x, its row of W
/// and its bias alone: not on how many rows are computed together, on threads, or on the SIMD target. docs/linear.md
/// states the order of summation and why it was chosen.
///
/// Precision::fast rounds x and W to bf16 and sums their products in fp32, by the instruction that
/// sightline::fast_instruction() names. Bits still do not depend on company and threads, but on that instruction.
///
/// Throws BadArgument (also for Precision::fast on a machine without an instruction), OutOfMemory.
void linear(const Linear& layer, const float* x, std::int64_t rows, float* y, int threads,
            Precision precision = Precision::exact);

}  // namespace sightline::ops

#endif  // SIGHTLINE_OPS_LINEAR_H_
