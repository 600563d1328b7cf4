#ifndef SIGHTLINE_ATTENTION_REFERENCE_BACKWARD_H_
#define SIGHTLINE_ATTENTION_REFERENCE_BACKWARD_H_

#include <vector>

#include "sightline/attention.h"

namespace sightline::reference {

/// Gradients of sum(out * dout), dense in the shapes of what they are of; empty where the problem has no such operand.
struct GradientResult {
  std::vector<double> q, k, v, bias;
  std::vector<double> sinks, alibi_slopes, relative_bias;
};

/// The chain rule through the four steps, last to first, in plain fp64 loops.
GradientResult gradients(const AttentionProblem& problem, const TensorView& dout);

}  // namespace sightline::reference

#endif  // SIGHTLINE_ATTENTION_REFERENCE_BACKWARD_H_
