#include "src/model/feed_forward.h"

#include <algorithm>

#include "src/ops/elementwise.h"

namespace sightline::model {
void activate(Activation activation, std::span<float> values, int threads) {
  switch (activation) {
    case Activation::gelu:
      return ops::gelu(values, threads);
    case Activation::gelu_tanh:
      return ops::gelu_tanh(values, threads);
    case Activation::relu:
      return ops::relu(values, threads);
    case Activation::silu:
      return ops::silu(values, threads);
  }
}

void FeedForward::run(const LayerWeights& weights, const float* x, std::int64_t rows, float* y) {
  const std::int64_t width = pass_.config.width;
  for (std::int64_t row = 0; row < rows; row += kFeedForwardRows) {
    run_rows(weights, x + row * width, std::min(kFeedForwardRows, rows - row), y + row * width);
  }
}

void FeedForward::run_rows(const LayerWeights& weights, const float* x, std::int64_t rows, float* y) {
  switch (pass_.config.mlp) {
    case MlpKind::plain:
      return plain(weights.mlp, x, rows, y);
    case MlpKind::gated:
      return gated(weights.mlp, x, rows, y);
    case MlpKind::experts:
      return run_experts(weights, x, rows, y);
  }
}

void FeedForward::plain(const MlpWeights& mlp, const float* x, std::int64_t rows, float* y) {
  const std::int64_t values = rows * mlp.up.weight.rows;
  float* inner = pass_.memory.inner.of_size(values);
  apply(pass_, mlp.up, x, rows, inner);
  activate(pass_.config.activation, {inner, static_cast<std::size_t>(values)}, pass_.options.threads);
  apply(pass_, mlp.down, inner, rows, y);
}

void FeedForward::gated(const MlpWeights& mlp, const float* x, std::int64_t rows, float* y) {
  const std::int64_t values = rows * pass_.config.inner_width;
  float* inner = pass_.memory.inner.of_size(2 * values);
  if (mlp.layout == GateLayout::separate) {
    apply(pass_, mlp.gate, x, rows, inner);
    apply(pass_, mlp.up, x, rows, inner + values);
    gate(mlp, rows, inner, inner);
    return apply(pass_, mlp.down, inner, rows, y);
  }
  float* to = pass_.memory.gated.of_size(values);
  apply(pass_, mlp.fused, x, rows, inner);
  gate(mlp, rows, inner, to);
  apply(pass_, mlp.down, to, rows, y);
}

void FeedForward::gate(const MlpWeights& mlp, std::int64_t rows, const float* from, float* to) const {
  const std::int64_t width = pass_.config.inner_width;
  const int threads = pass_.options.threads;
  ops::GatedRows in{from, from + rows * width, rows, width, width, 1};
  if (mlp.layout == GateLayout::halves) in = {from, from + width, rows, width, 2 * width, 1};
  if (mlp.layout == GateLayout::interleaved) in = {from, from + 1, rows, width, 2 * width, 2};
  if (pass_.config.mlp == MlpKind::experts) {
    const ExpertSizes& sizes = pass_.config.experts;
    return ops::swiglu_gate(in, sizes.swiglu_limit, sizes.swiglu_alpha, to, threads);
  }
  switch (pass_.config.activation) {
    case Activation::gelu:
      return ops::gelu_gate(in, to, threads);
    case Activation::gelu_tanh:
      return ops::gelu_tanh_gate(in, to, threads);
    case Activation::relu:
      return ops::relu_gate(in, to, threads);
    case Activation::silu:
      return ops::silu_gate(in, to, threads);
  }
}

void FeedForward::run_experts(const LayerWeights& weights, const float* x, std::int64_t rows, float* y) {
  const ExpertSizes& sizes = pass_.config.experts;
  float* logits = pass_.memory.router.of_size(rows * sizes.count);
  apply(pass_, weights.router, x, rows, logits);
  const ops::ExpertChoice choice = ops::choose_experts(logits, rows, sizes.count, sizes.used);
  std::fill_n(y, rows * pass_.config.width, 0.0f);
  for (std::int64_t e = 0; e < sizes.count; ++e) run_expert(weights.experts[e], choice.rows[e], x, y);
}

void FeedForward::run_expert(const MlpWeights& expert, const std::vector<ops::ExpertRow>& chosen, const float* x,
                             float* y) {
  if (chosen.empty()) return;
  const std::int64_t width = pass_.config.width, count = static_cast<std::int64_t>(chosen.size());
  float *gathered = pass_.memory.gathered.of_size(2 * kFeedForwardRows * width), *result = gathered + count * width;
  for (std::int64_t i = 0; i < count; ++i) std::copy_n(x + chosen[i].row * width, width, gathered + i * width);
  gated(expert, gathered, count, result);
  ops::add_expert(chosen, result, width, y, pass_.options.threads);
}

}  // namespace sightline::model
