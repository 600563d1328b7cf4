#include "src/model/layer_pass.h"

#include <algorithm>

#include "src/ops/elementwise.h"

namespace sightline::model {

LayerPass::LayerPass(const Weights& weights, const Pass& pass)
    : weights_(weights), pass_(pass), attention_(pass), feed_forward_(pass) {}

std::span<float> LayerPass::run(int layer, std::span<float> hidden) {
  const TransformerConfig& config = pass_.config;
  const LayerWeights& weights = weights_.layer(layer, config);
  if (config.parallel_residual) return run_parallel(layer, weights, hidden);
  const bool before = config.norm_place != NormPlace::after;
  float* branch = pass_.memory.branch.of_size(std::ssize(hidden));
  attention_.run(layer, weights.attention, before ? normalised(weights.attention_norm, hidden) : hidden.data(), branch);
  hidden = keep_query_rows(hidden);
  add_branch(weights.attention_post_norm, hidden);
  if (!before) normalise_rows(pass_, weights.attention_norm, hidden);
  feed_forward_.run(weights, before ? normalised(weights.mlp_norm, hidden) : hidden.data(), pass_.query_rows(), branch);
  add_branch(weights.mlp_post_norm, hidden);
  if (!before) normalise_rows(pass_, weights.mlp_norm, hidden);
  return hidden;
}

// hidden += attention(norm(hidden)) + mlp(norm'(hidden)), both of the same hidden rows.
std::span<float> LayerPass::run_parallel(int layer, const LayerWeights& weights, std::span<float> hidden) {
  float* attended = pass_.memory.branch.of_size(2 * std::ssize(hidden));
  attention_.run(layer, weights.attention, normalised(weights.attention_norm, hidden), attended);
  hidden = keep_query_rows(hidden);
  const std::size_t values = hidden.size();
  float* fed = attended + values;
  feed_forward_.run(weights, normalised(weights.mlp_norm, hidden), pass_.query_rows(), fed);
  ops::add({attended, values}, {fed, values}, pass_.options.threads);
  ops::add(hidden, {attended, values}, pass_.options.threads);
  return hidden;
}

// Moves them to the beginning, in order.
std::span<float> LayerPass::keep_query_rows(std::span<float> hidden) const {
  const std::int64_t width = pass_.config.width;
  if (pass_.query_rows() == pass_.rows()) return hidden;
  for (std::size_t s = 0; s < pass_.sequences.size(); ++s) {
    const PassSequence& text = pass_.sequences[s];
    const auto from = hidden.begin() + (pass_.row_begin[s] + text.query_begin() - text.begin) * width;
    std::copy_n(from, (text.query_end() - text.query_begin()) * width, hidden.begin() + pass_.query_begin[s] * width);
  }
  return hidden.first(static_cast<std::size_t>(pass_.query_rows() * width));
}

// hidden += branch, or norm(branch) where the norms stand around a block.
void LayerPass::add_branch(const ops::Norm& post_norm, std::span<float> hidden) {
  const std::span<float> branch{pass_.memory.branch.of_size(std::ssize(hidden)), hidden.size()};
  if (pass_.config.norm_place == NormPlace::around) normalise_rows(pass_, post_norm, branch);
  ops::add(hidden, branch, pass_.options.threads);
}

const float* LayerPass::normalised(const ops::Norm& norm, std::span<const float> hidden) {
  float* to = pass_.memory.normed.of_size(std::ssize(hidden));
  ops::normalise(norm, hidden.data(), std::ssize(hidden) / pass_.config.width, to, pass_.options.threads);
  return to;
}

void normalise_rows(const Pass& pass, const ops::Norm& norm, std::span<float> rows) {
  const std::int64_t count = std::ssize(rows) / pass.config.width;
  ops::normalise(norm, rows.data(), count, rows.data(), pass.options.threads);
}

}  // namespace sightline::model
