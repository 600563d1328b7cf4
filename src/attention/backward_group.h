#ifndef SIGHTLINE_ATTENTION_BACKWARD_GROUP_H_
#define SIGHTLINE_ATTENTION_BACKWARD_GROUP_H_

#include <cstdint>
#include <vector>

#include "src/attention/backward_biases.h"
#include "src/attention/head_problem.h"
#include "src/attention/row_source.h"

namespace sightline {

/// What the backward pass needs of each row, [rows]. The first two come from the forward pass.
struct BackwardRows {
  const float* row_max = nullptr;
  const float* row_sum = nullptr;
  float* reference = nullptr;  // weights are exp(score - reference) * inverse
  float* inverse = nullptr;
  float* delta = nullptr;  // sum of out * dout
};

/// One query head of one sequence and where its gradients go; null where they are not asked for.
struct BackwardHead {
  HeadProblem problem;  // of this head alone
  RowSource out, dout;
  BackwardRows rows;
  Matrix<float> dq;     // [rows, width]
  Matrix<float> dbias;  // [rows, keys], strides 0 where the bias broadcasts; heads may share it

  float out_scale() const { return problem.head_scale == nullptr ? 1 : *problem.head_scale; }
};

/// A key/value head of one sequence with the query heads that read it, in ascending order.
struct BackwardGroup {
  std::vector<BackwardHead> heads;
  std::int64_t tensor_keys = 0;              // rows of dk and dv, in use or not
  Matrix<float> dk, dv;                      // [tensor_keys, width], [tensor_keys, value_width]
  bool wants_slopes = false;                 // of ALiBi
  const DistanceBuckets* buckets = nullptr;  // where the gradient of the relative bias is asked for

  /// Sizes, keys, values and their positions are the same for all heads.
  const HeadProblem& problem() const { return heads.front().problem; }
};

}  // namespace sightline

#endif  // SIGHTLINE_ATTENTION_BACKWARD_GROUP_H_
