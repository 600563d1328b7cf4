#include "src/model/layer_pass.h"

#include "src/ops/elementwise.h"

namespace sightline::model {

LayerPass::LayerPass(const Weights& weights, const Pass& pass)
    : weights_(weights), pass_(pass), attention_(pass), feed_forward_(pass) {}

void LayerPass::run(int layer, std::span<float> hidden) {
  const TransformerConfig& config = pass_.config;
  const LayerWeights& weights = weights_.layer(layer, config);
  if (config.parallel_residual) return run_parallel(layer, weights, hidden);
  const bool before = config.norm_place != NormPlace::after;
  float* branch = pass_.memory.branch.of_size(std::ssize(hidden));
  attention_.run(layer, weights.attention, before ? normalised(weights.attention_norm, hidden) : hidden.data(), branch);
  add_branch(weights.attention_post_norm, hidden);
  if (!before) normalise_rows(pass_, weights.attention_norm, hidden);
  feed_forward_.run(weights, before ? normalised(weights.mlp_norm, hidden) : hidden.data(), branch);
  add_branch(weights.mlp_post_norm, hidden);
  if (!before) normalise_rows(pass_, weights.mlp_norm, hidden);
}

// hidden += attention(norm(hidden)) + mlp(norm'(hidden)), both of the same hidden rows.
void LayerPass::run_parallel(int layer, const LayerWeights& weights, std::span<float> hidden) {
  const std::size_t values = hidden.size();
  float *attended = pass_.memory.branch.of_size(2 * std::ssize(hidden)), *fed = attended + values;
  attention_.run(layer, weights.attention, normalised(weights.attention_norm, hidden), attended);
  feed_forward_.run(weights, normalised(weights.mlp_norm, hidden), fed);
  ops::add({attended, values}, {fed, values}, pass_.options.threads);
  ops::add(hidden, {attended, values}, pass_.options.threads);
}

// hidden += branch, or norm(branch) where the norms stand around a block.
void LayerPass::add_branch(const ops::Norm& post_norm, std::span<float> hidden) {
  const std::span<float> branch{pass_.memory.branch.of_size(std::ssize(hidden)), hidden.size()};
  if (pass_.config.norm_place == NormPlace::around) normalise_rows(pass_, post_norm, branch);
  ops::add(hidden, branch, pass_.options.threads);
}

const float* LayerPass::normalised(const ops::Norm& norm, std::span<const float> hidden) {
  float* to = pass_.memory.normed.of_size(std::ssize(hidden));
  ops::normalise(norm, hidden.data(), pass_.rows(), to, pass_.options.threads);
  return to;
}

void normalise_rows(const Pass& pass, const ops::Norm& norm, std::span<float> rows) {
  const std::int64_t count = std::ssize(rows) / pass.config.width;
  ops::normalise(norm, rows.data(), count, rows.data(), pass.options.threads);
}

}  // namespace sightline::model
