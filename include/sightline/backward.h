#ifndef SIGHTLINE_BACKWARD_H_
#define SIGHTLINE_BACKWARD_H_

#include "sightline/attention.h"

namespace sightline {

/// What the forward pass of the same problem left, f32.
struct ForwardResult {
  TensorView out;                  ///< [B, Hq, Nq, Dv]
  const float* row_max = nullptr;  ///< [B, Hq, Nq] Observations::row_max
  const float* row_sum = nullptr;  ///< [B, Hq, Nq] Observations::row_sum
};

/// Where gradients go; null: not asked for. They are written, not added to. f32.
struct Gradients {
  MutableTensorView q;     ///< [B, Hq, Nq, D]
  MutableTensorView k;     ///< [B, Hkv, Nk, D], summed over the query heads of a group
  MutableTensorView v;     ///< [B, Hkv, Nk, Dv]
  MutableTensorView bias;  ///< the shape of the bias, summed over the axes that it broadcasts; 0 where it is -inf
  float* sinks = nullptr;  ///< [Hq]
  float* alibi_slopes = nullptr;   ///< [Hq]
  float* relative_bias = nullptr;  ///< [buckets, Hq]
};

/// Gradients of a loss L from dout = dL/d(out), [B, Hq, Nq, Dv] in f32, f16 or bf16, any strides. One pass over the map
/// from the row state, with no memory of its size (Dao et al. 2022, section B.2); docs/backward.md has the algebra.
/// The same bits on any number of threads and SIMD target: dk and dv add tiles of 48 rows in ascending order, then the
/// query heads of a group; dq adds blocks of 64 keys in ascending order, then chunks of 4096. A row without a visible
/// key has gradients of 0. Queries, keys and values may be f32, f16 or bf16; packed keys, pages and score functions
/// have no derivative here and are refused. Throws BadArgument, OutOfMemory, and what a mask function throws.
void attention_backward(const AttentionProblem& problem, const ForwardResult& forward, const TensorView& dout,
                        const Gradients& gradients, const AttentionOptions& options = {});

}  // namespace sightline

#endif  // SIGHTLINE_BACKWARD_H_
