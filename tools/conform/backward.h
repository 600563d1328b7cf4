#ifndef SIGHTLINE_TOOLS_CONFORM_BACKWARD_H_
#define SIGHTLINE_TOOLS_CONFORM_BACKWARD_H_

#include "sightline/attention.h"
#include "tools/conform/arrays.h"

namespace sightline::conform {

/// What a backward pass gives, whichever engine computed it. Those that the problem has no operand for are empty.
struct GradientValues {
  Array out;                   // of the forward pass
  Array dq, dk, dv, dbias;     // in the shapes of what they are of
  Array dsink, dalibi_slopes;  // [Hq]
};

/// By the kernels of the SIMD target in use: forward, then backward from what it left.
GradientValues kernel_gradients(const AttentionProblem& problem, const TensorView& dout);
/// By the chain rule in plain fp64 loops.
GradientValues reference_gradients(const AttentionProblem& problem, const TensorView& dout);

}  // namespace sightline::conform

#endif  // SIGHTLINE_TOOLS_CONFORM_BACKWARD_H_
