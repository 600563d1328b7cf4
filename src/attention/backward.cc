#include "sightline/backward.h"

#include <algorithm>
#include <array>
#include <new>
#include <string>
#include <vector>

#include "sightline/error.h"
#include "src/attention/backward_driver.h"
#include "src/attention/backward_rows.h"
#include "src/attention/geometry.h"
#include "src/attention/head_problem.h"
#include "src/cpu/fp_environment.h"
#include "src/cpu/parallel.h"
#include "src/cpu/target.h"
#include "src/tensor/aligned_buffer.h"

namespace sightline {
namespace {

using Shape = std::array<std::int64_t, 4>;

void require(bool holds, const std::string& otherwise) {
  if (!holds) throw BadArgument(otherwise);
}

bool is_float(DType dtype) { return dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16; }

void refuse_unsupported(const AttentionProblem& p) {
  require(!p.pages, "not supported: gradients of keys and values in pages");
  require(!is_packed(p.k.dtype) && !is_packed(p.v.dtype), "not supported: gradients of packed keys or values");
  require(p.score_function == nullptr, "not supported: gradients through a score function");
}

void check_input(const TensorView& tensor, const Shape& shape, const char* name) {
  require(tensor.shape == shape, std::string(name) + " does not have the shape of the output");
  const bool empty = shape[0] * shape[1] * shape[2] * shape[3] == 0;
  require(tensor || empty, std::string(name) + " has no data");
  require(is_float(tensor.dtype), std::string("not supported: ") + name + " in " + dtype_name(tensor.dtype));
}

void check_gradient(const MutableTensorView& gradient, const TensorView& of, const char* name) {
  if (!gradient) return;
  require(static_cast<bool>(of), std::string("the gradient of ") + name + " is asked for, but the problem has none");
  require(gradient.shape == of.shape, std::string("the gradient of ") + name + " does not have its shape");
  require(gradient.dtype == DType::f32, std::string("not supported: a gradient of ") + name + " that is not f32");
  const bool empty = std::find(gradient.shape.begin(), gradient.shape.end(), 0) != gradient.shape.end();
  for (int axis = 0; axis < 4; ++axis) {
    require(gradient.strides[axis] != 0 || gradient.shape[axis] <= 1 || empty,
            std::string("the gradient of ") + name + " has stride 0: its elements would share memory");
  }
}

Geometry validate_backward(const AttentionProblem& p, const ForwardResult& forward, const TensorView& dout,
                           const Gradients& gradients, const AttentionOptions& options) {
  refuse_unsupported(p);
  Geometry g = validate(p);
  const Shape out = {g.batch, g.query_heads, g.queries, g.value_width};
  check_input(forward.out, out, "the output of the forward pass");
  check_input(dout, out, "dout");
  require(g.batch * g.query_heads * g.queries == 0 || (forward.row_max != nullptr && forward.row_sum != nullptr),
          "the backward pass needs row_max and row_sum of the forward pass");
  check_gradient(gradients.q, p.q, "q");
  check_gradient(gradients.k, p.k, "k");
  check_gradient(gradients.v, p.v, "v");
  check_gradient(gradients.bias, p.bias, "bias");
  require(options.threads >= 0, "threads must be 0 (as many as the machine has) or more");
  return g;
}

// Rows of one head, from a tensor [batch, heads, rows, width].
RowSource rows_of(const TensorView& tensor, std::int64_t batch, std::int64_t head) {
  const auto size = static_cast<std::int64_t>(dtype_size(tensor.dtype));
  const auto* data = static_cast<const std::byte*>(tensor.data);
  return {data + (batch * tensor.strides[0] + head * tensor.strides[1]) * size, tensor.dtype, tensor.strides[2] * size,
          tensor.strides[3]};
}

Matrix<float> rows_of(const MutableTensorView& tensor, std::int64_t batch, std::int64_t head) {
  if (!tensor) return {};
  return {static_cast<float*>(tensor.data) + batch * tensor.strides[0] + head * tensor.strides[1], tensor.strides[2],
          tensor.strides[3]};
}

// The gradients of a bias that one head adds to.
Matrix<float> bias_of(const MutableTensorView& tensor, std::int64_t batch, std::int64_t head) {
  if (!tensor) return {};
  const auto stride = [&](int axis) { return tensor.shape[axis] == 1 ? 0 : tensor.strides[axis]; };
  return {static_cast<float*>(tensor.data) + batch * stride(0) + head * stride(1), stride(2), stride(3)};
}

BackwardGroup make_group(const AttentionProblem& p, const Geometry& g, std::int64_t batch, std::int64_t kv_head) {
  BackwardGroup group;
  group.k = rows_of(p.k, batch, kv_head);
  group.v = rows_of(p.v, batch, kv_head);
  group.rows = g.queries;
  group.keys = g.sequences[batch].key_count;
  group.width = g.width;
  group.value_width = g.value_width;
  group.key_position = g.sequences[batch].key_position;
  group.scale = g.scale;
  group.tensor_keys = g.keys;
  return group;
}

// All groups of a problem. delta: [B, Hq, Nq].
std::vector<BackwardGroup> make_groups(const AttentionProblem& p, const Geometry& g, const ForwardResult& forward,
                                       const TensorView& dout, const float* delta, const Gradients& gradients) {
  std::vector<BackwardGroup> groups;
  for (std::int64_t batch = 0; batch < g.batch; ++batch) {
    for (std::int64_t kv_head = 0; kv_head < g.kv_heads; ++kv_head) {
      BackwardGroup group = make_group(p, g, batch, kv_head);
      group.dk = rows_of(gradients.k, batch, kv_head);
      group.dv = rows_of(gradients.v, batch, kv_head);
      const std::int64_t heads = g.query_heads / g.kv_heads;
      for (std::int64_t head = kv_head * heads; head < (kv_head + 1) * heads; ++head) {
        const std::int64_t row = (batch * g.query_heads + head) * g.queries;
        group.heads.push_back({head_problem(p, g, batch, head), rows_of(p.q, batch, head), rows_of(dout, batch, head),
                               forward.row_max + row, forward.row_sum + row, delta + row,
                               rows_of(gradients.q, batch, head), bias_of(gradients.bias, batch, head)});
      }
      groups.push_back(std::move(group));
    }
  }
  return groups;
}

void clear(const MutableTensorView& tensor, int threads) {
  if (!tensor) return;
  const std::int64_t planes = tensor.shape[0], heads = tensor.shape[1], rows = tensor.shape[2],
                     columns = tensor.shape[3];
  cpu::parallel_for(planes * heads, threads, [&](std::int64_t plane) {
    const Matrix<float> matrix = rows_of(tensor, plane / heads, plane % heads);
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < columns; ++j) matrix.at(i, j) = 0;
    }
  });
}

// sum of out * dout over the columns, [B, Hq, Nq]; in fp64, since what follows subtracts it.
void sum_deltas(const Geometry& g, const TensorView& out, const TensorView& dout, float* delta, int threads) {
  cpu::parallel_for(g.batch * g.query_heads, threads, [&](std::int64_t plane) {
    const RowSource outs = rows_of(out, plane / g.query_heads, plane % g.query_heads);
    const RowSource douts = rows_of(dout, plane / g.query_heads, plane % g.query_heads);
    AlignedBuffer<float> a(static_cast<std::size_t>(g.value_width)), b(static_cast<std::size_t>(g.value_width));
    for (std::int64_t row = 0; row < g.queries; ++row) {
      widen_rows(outs, row, 1, g.value_width, 1.0f, g.value_width, a.data());
      widen_rows(douts, row, 1, g.value_width, 1.0f, g.value_width, b.data());
      double sums[4] = {};
      for (std::int64_t t = 0; t < g.value_width; ++t)
        sums[t % 4] += static_cast<double>(a[t]) * static_cast<double>(b[t]);
      delta[plane * g.queries + row] = static_cast<float>((sums[0] + sums[2]) + (sums[1] + sums[3]));
    }
  });
}

void run(const AttentionProblem& problem, const ForwardResult& forward, const TensorView& dout,
         const Gradients& gradients, const AttentionOptions& options) {
  const Geometry g = validate_backward(problem, forward, dout, gradients, options);
  AlignedBuffer<float> delta(static_cast<std::size_t>(g.batch * g.query_heads * g.queries));
  sum_deltas(g, forward.out, dout, delta.data(), options.threads);
  clear(gradients.bias, options.threads);
  run_backward(make_groups(problem, g, forward, dout, delta.data(), gradients), options.threads);
}

}  // namespace

void attention_backward(const AttentionProblem& problem, const ForwardResult& forward, const TensorView& dout,
                        const Gradients& gradients, const AttentionOptions& options) {
  const cpu::ScopedFpEnvironment environment;  // the default scale is rounded too
  cpu::ensure_target();
  try {
    run(problem, forward, dout, gradients, options);
  } catch (const std::bad_alloc&) {
    throw OutOfMemory("no memory for the lists of heads and sequences of this problem");
  }
}

}  // namespace sightline
