#ifndef SIGHTLINE_ATTENTION_BACKWARD_GROUP_H_
#define SIGHTLINE_ATTENTION_BACKWARD_GROUP_H_

#include <cstdint>
#include <vector>

#include "src/attention/head_problem.h"
#include "src/attention/row_source.h"

namespace sightline {

/// One query head of one sequence and where its gradients go; null where they are not asked for.
struct BackwardHead {
  HeadProblem problem;  // scale, masks, positions
  RowSource q, dout;
  const float* row_max = nullptr;  // [rows] of the forward pass
  const float* row_sum = nullptr;  // [rows]
  const float* delta = nullptr;    // [rows] sum of out * dout
  Matrix<float> dq;                // [rows, width]
  Matrix<float> dbias;             // [rows, keys], strides 0 where the bias broadcasts; heads may share it
};

/// A key/value head of one sequence with the query heads that read it, in ascending order.
struct BackwardGroup {
  std::vector<BackwardHead> heads;
  RowSource k, v;
  std::int64_t rows = 0, keys = 0, width = 0, value_width = 0;
  std::int64_t key_position = 0;
  float scale = 0;
  std::int64_t tensor_keys = 0;  // rows of dk and dv, in use or not
  Matrix<float> dk, dv;          // [tensor_keys, width], [tensor_keys, value_width]
};

}  // namespace sightline

#endif  // SIGHTLINE_ATTENTION_BACKWARD_GROUP_H_
