#include "sightline/backward.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "src/attention/backward_driver.h"
#include "src/attention/backward_kernel.h"
#include "src/attention/entry.h"
#include "src/attention/geometry.h"
#include "src/attention/head_problem.h"
#include "src/attention/memory_use.h"
#include "src/cpu/parallel.h"
#include "src/tensor/aligned_buffer.h"
#include "src/tensor/dtype.h"

namespace sightline {
namespace {

using Shape = std::array<std::int64_t, 4>;

void refuse_unsupported(const AttentionProblem& p, const AttentionOptions& options) {
  require(!p.pages, "not supported: gradients of keys and values in pages");
  require(!is_packed(p.k.dtype) && !is_packed(p.v.dtype), "not supported: gradients of packed keys or values");
  require(p.score_function == nullptr, "not supported: gradients through a score function");
  require(options.precision == Precision::exact, "not supported: Precision::fast of a backward pass");
  require(options.workspace == nullptr, "not supported: a workspace for the backward pass");
  require(options.resume == nullptr && options.save == nullptr,
          "not supported: a backward pass that saves its state or resumes from one");
}

void check_input(const TensorView& tensor, const Shape& shape, const char* name) {
  require(tensor || tensor.shape == shape, [&] { return std::string(name) + " is missing"; });
  require(tensor.shape == shape, [&] { return std::string(name) + " does not have the shape of the output"; });
  const bool empty = shape[0] * shape[1] * shape[2] * shape[3] == 0;
  require(tensor || empty, [&] { return std::string(name) + " has no data"; });
  require(is_float(tensor.dtype),
          [&] { return std::string("not supported: ") + name + " in " + dtype_name(tensor.dtype); });
}

void check_gradient(const MutableTensorView& gradient, const TensorView& of, const char* name) {
  if (!gradient) return;
  require(static_cast<bool>(of),
          [&] { return std::string("the gradient of ") + name + " is asked for, but the problem has none"; });
  require(gradient.shape == of.shape,
          [&] { return std::string("the gradient of ") + name + " does not have its shape"; });
  require(gradient.dtype == DType::f32,
          [&] { return std::string("not supported: a gradient of ") + name + " that is not f32"; });
  require(!shares_memory_within(gradient), [&] {
    return std::string("the gradient of ") + name + " has strides at which its elements would share memory";
  });
}

void check_shared(const float* gradient, bool has, const char* name) {
  require(gradient == nullptr || has,
          [&] { return std::string("the gradient of ") + name + " is asked for, but the problem has none"; });
}

void refuse_overlaps(const AttentionProblem& p, const Geometry& g, const ForwardResult& forward, const TensorView& dout,
                     const Gradients& gradients) {
  MemoryUse use;
  use.reads_problem(p);
  use.reads("the output of the forward pass", forward.out);
  use.reads("dout", dout);
  const auto rows = static_cast<std::size_t>(g.batch * g.query_heads * g.queries);
  if (forward.row_max != nullptr) use.reads("row_max", {forward.row_max, rows});
  if (forward.row_sum != nullptr) use.reads("row_sum", {forward.row_sum, rows});
  use.writes("the gradient of q", gradients.q);
  use.writes("the gradient of k", gradients.k);
  use.writes("the gradient of v", gradients.v);
  use.writes("the gradient of bias", gradients.bias);
  use.writes("the gradient of sinks", gradients.sinks, {g.query_heads});
  use.writes("the gradient of alibi_slopes", gradients.alibi_slopes, {g.query_heads});
  use.writes("the gradient of relative_bias", gradients.relative_bias, {p.relative_bias.buckets, g.query_heads});
  use.check();
}

Geometry validate_backward(const AttentionProblem& p, const ForwardResult& forward, const TensorView& dout,
                           const Gradients& gradients, const AttentionOptions& options) {
  require_options(options);
  refuse_unsupported(p, options);
  Geometry g = validate(p, std::pmr::new_delete_resource());
  const Shape out = {g.batch, g.query_heads, g.queries, g.value_width};
  check_input(forward.out, out, "the output of the forward pass");
  check_input(dout, out, "dout");
  require(g.batch * g.query_heads * g.queries == 0 || (forward.row_max != nullptr && forward.row_sum != nullptr),
          "the backward pass needs row_max and row_sum of the forward pass");
  check_gradient(gradients.q, p.q, "q");
  check_gradient(gradients.k, p.k, "k");
  check_gradient(gradients.v, p.v, "v");
  check_gradient(gradients.bias, p.bias, "bias");
  check_shared(gradients.sinks, !p.sinks.empty(), "sinks");
  check_shared(gradients.alibi_slopes, !p.alibi_slopes.empty(), "alibi_slopes");
  check_shared(gradients.relative_bias, static_cast<bool>(p.relative_bias), "relative_bias");
  refuse_overlaps(p, g, forward, dout, gradients);
  return g;
}

Matrix<float> matrix_of(const MutableTensorView& tensor, std::int64_t batch, std::int64_t head, std::int64_t row) {
  if (!tensor) return {};
  const auto& stride = tensor.strides;
  return {static_cast<float*>(tensor.data) + batch * stride[0] + head * stride[1] + row * stride[2], stride[2],
          stride[3]};
}

// The gradients of a bias that one head of a sequence adds to.
Matrix<float> bias_of(const MutableTensorView& tensor, const SequencePlan& s, std::int64_t head) {
  if (!tensor) return {};
  const auto stride = [&](int axis) { return tensor.shape[axis] == 1 ? 0 : tensor.strides[axis]; };
  float* data = static_cast<float*>(tensor.data) + s.batch * stride(0) + head * stride(1);
  return {data + s.row_begin * stride(2) + s.key_begin * stride(3), stride(2), stride(3)};
}

void clear(const MutableTensorView& tensor, cpu::Workers workers) {
  if (!tensor) return;
  const std::int64_t heads = tensor.shape[1], rows = tensor.shape[2], columns = tensor.shape[3];
  cpu::parallel_for(tensor.shape[0] * heads, workers, [&](std::int64_t plane) {
    const Matrix<float> matrix = matrix_of(tensor, plane / heads, plane % heads, 0);
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < columns; ++j) matrix.at(i, j) = 0;
    }
  });
}

void clear_keys(const BackwardGroup& group, std::int64_t begin, std::int64_t end) {
  const HeadProblem& problem = group.problem();
  for (std::int64_t key = begin; key < end; ++key) {
    for (std::int64_t t = 0; group.dk && t < problem.width; ++t) group.dk.at(key, t) = 0;
    for (std::int64_t t = 0; group.dv && t < problem.value_width; ++t) group.dv.at(key, t) = 0;
  }
}

// Padding before the sequence, and what lies behind the keys in use.
void clear_unused_keys(const BackwardGroup& group) {
  const HeadProblem& problem = group.problem();
  clear_keys(group, 0, std::min(problem.first_key(), problem.keys));
  clear_keys(group, problem.keys, group.tensor_keys);
}

// One backward pass: what its groups point into.
class BackwardCall {
 public:
  BackwardCall(const AttentionProblem& problem, const Geometry& geometry, const Gradients& gradients)
      : p_(problem),
        g_(geometry),
        gradients_(gradients),
        tables_(problem, geometry, std::pmr::new_delete_resource()),
        row_numbers_(static_cast<std::size_t>(3 * row_count())) {
    if (gradients.relative_bias != nullptr) buckets_.emplace(problem.relative_bias);
  }

  void run(const ForwardResult& forward, const TensorView& dout, const BackwardWorkers& workers) {
    for (std::size_t s = 0; s < g_.sequences.size(); ++s) {
      for (std::int64_t head = 0; head < g_.query_heads; head += g_.group()) add_group(forward, dout, s, head);
    }
    prepare(workers.threads);
    clear(gradients_.q, workers.threads);  // what is added to
    clear(gradients_.bias, workers.threads);
    if (g_.query_heads == 0) {
      clear(gradients_.k, workers.threads);
      clear(gradients_.v, workers.threads);
    }
    for (const BackwardGroup& group : groups_) clear_unused_keys(group);
    write_shared(run_backward(groups_, workers));
  }

 private:
  std::int64_t row_count() const { return g_.batch * g_.query_heads * g_.queries; }

  void add_group(const ForwardResult& forward, const TensorView& dout, std::size_t sequence, std::int64_t first) {
    const SequencePlan& s = g_.sequences[sequence];
    BackwardGroup group;
    for (std::int64_t head = first; head < first + g_.group(); ++head) {
      const std::int64_t row = g_.first_row(sequence, head);
      float* numbers = row_numbers_.data() + row;
      const BackwardRows rows{forward.row_max + row, forward.row_sum + row, numbers, numbers + row_count(),
                              numbers + 2 * row_count()};
      group.heads.push_back({head_problem(p_, g_, tables_, sequence, head, 1),
                             rows_of(forward.out, s.batch, head, s.row_begin),
                             rows_of(dout, s.batch, head, s.row_begin), rows,
                             matrix_of(gradients_.q, s.batch, head, s.row_begin), bias_of(gradients_.bias, s, head)});
    }
    group.tensor_keys = s.keys;
    group.dk = matrix_of(gradients_.k, s.batch, first / g_.group(), s.key_begin);
    group.dv = matrix_of(gradients_.v, s.batch, first / g_.group(), s.key_begin);
    group.wants_slopes = gradients_.alibi_slopes != nullptr;
    group.buckets = buckets_ ? &*buckets_ : nullptr;
    groups_.push_back(std::move(group));
  }

  // Heads of all sequences are numbered as in [sequences, Hq].
  std::int64_t head_count() const { return static_cast<std::int64_t>(g_.sequences.size()) * g_.query_heads; }

  void prepare(cpu::Workers workers) {
    std::vector<double> sinks(static_cast<std::size_t>(head_count()));
    cpu::parallel_for(head_count(), workers, [&](std::int64_t index) {
      sinks[index] = prepare_rows(groups_[index / g_.group()].heads[index % g_.group()]);
    });
    if (gradients_.sinks == nullptr) return;
    for (std::int64_t head = 0; head < g_.query_heads; ++head) {
      double sum = 0;
      for (std::int64_t index = head; index < head_count(); index += g_.query_heads) sum += sinks[index];
      gradients_.sinks[head] = static_cast<float>(sum);
    }
  }

  // Gradients that all pairs of a head share, sequences ascending. sums: [sequences, Hq].
  void write_shared(const std::vector<BiasSums>& sums) const {
    const std::int64_t buckets = buckets_ ? buckets_->count() : 0;
    for (std::int64_t head = 0; head < g_.query_heads; ++head) {
      BiasSums all{0, std::vector<double>(static_cast<std::size_t>(buckets))};
      for (std::int64_t index = head; index < head_count(); index += g_.query_heads) all.add(sums[index]);
      if (gradients_.alibi_slopes != nullptr) gradients_.alibi_slopes[head] = static_cast<float>(all.slope);
      for (std::int64_t i = 0; i < buckets; ++i) {
        gradients_.relative_bias[i * g_.query_heads + head] = static_cast<float>(all.buckets[i]);
      }
    }
  }

  const AttentionProblem& p_;
  const Geometry& g_;
  const Gradients& gradients_;
  const ProblemTables tables_;
  std::optional<DistanceBuckets> buckets_;
  AlignedBuffer<float> row_numbers_;  // [3, B, Hq, Nq]
  std::vector<BackwardGroup> groups_;
};

void run(const AttentionProblem& problem, const ForwardResult& forward, const TensorView& dout,
         const Gradients& gradients, const AttentionOptions& options) {
  const Geometry g = validate_backward(problem, forward, dout, gradients, options);
  const BackwardWorkers workers{{options.threads, options.executor}, options.progress};
  BackwardCall(problem, g, gradients).run(forward, dout, workers);
}

}  // namespace

void attention_backward(const AttentionProblem& problem, const ForwardResult& forward, const TensorView& dout,
                        const Gradients& gradients, const AttentionOptions& options) {
  enter("no memory for the lists of heads and sequences of this problem",
        [&] { run(problem, forward, dout, gradients, options); });
}

}  // namespace sightline
