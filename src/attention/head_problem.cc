#include "src/attention/head_problem.h"

#include <limits>

namespace sightline {
namespace {

template <class T>
Matrix<const T> plane(const TensorView& tensor, std::int64_t batch, std::int64_t head) {
  if (!tensor) return {};
  const auto stride = [&](int axis) { return tensor.shape[axis] == 1 ? 0 : tensor.strides[axis]; };
  const T* data = static_cast<const T*>(tensor.data) + batch * stride(0) + head * stride(1);
  return {data, stride(2), stride(3)};
}

}  // namespace

bool HeadProblem::visible(std::int64_t row, std::int64_t key) const {
  const KeyInterval seen = interval(row);
  if (key < seen.begin || key >= seen.end) return false;
  if (mask && mask.at(row, key) == 0) return false;
  return !bias || bias.at(row, key) != -std::numeric_limits<float>::infinity();
}

HeadProblem head_problem(const AttentionProblem& problem, const Geometry& g, std::int64_t batch, std::int64_t head) {
  const SequencePlan& sequence = g.sequences[batch];
  HeadProblem h;
  h.q = plane<float>(problem.q, batch, head);
  h.k = plane<float>(problem.k, batch, g.kv_head(head));
  h.v = plane<float>(problem.v, batch, g.kv_head(head));
  h.rows = g.queries;
  h.keys = sequence.key_count;
  h.width = g.width;
  h.value_width = g.value_width;
  h.scale = g.scale;
  h.causal = problem.causal;
  h.key_position = sequence.key_position;
  h.query_position = sequence.query_position;
  h.mask = plane<std::uint8_t>(problem.mask, batch, head);
  h.bias = plane<float>(problem.bias, batch, head);
  return h;
}

}  // namespace sightline
