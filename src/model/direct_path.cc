#include "src/model/direct_path.h"

#include <algorithm>
#include <utility>

#include "src/ops/elementwise.h"

namespace sightline::model {
namespace {

// Rows at a time: each goes through the output projection once for every head.
constexpr std::int64_t kRows = 64;

std::vector<float> sum_of(std::span<const float> x, std::span<const float> y) {
  std::vector<float> sum(x.size());
  std::ranges::transform(x, y, sum.begin(), [](float a, float b) { return a + b; });
  return sum;
}

std::vector<float> normed(const Pass& pass, const ops::Norm& norm, std::span<const float> rows) {
  std::vector<float> to(rows.size());
  ops::normalise(norm, rows.data(), pass.rows(), to.data(), pass.options.threads);
  return to;
}

}  // namespace

DirectPath::DirectPath(Trunk& trunk, std::vector<double> weights, bool of_logits, double rows)
    : trunk_(trunk), config_(trunk.config()), weights_(std::move(weights)), of_logits_(of_logits), rows_(rows) {
  result_.heads.resize(static_cast<std::size_t>(config_.layers * config_.query_heads));
  result_.feed_forward.resize(static_cast<std::size_t>(config_.layers));
  if (!of_logits) return;
  const ops::Linear& output = trunk.model->weights.language_head->output;
  head_direction_ = through_matrix(output.weight, weights_);
  if (output.bias != nullptr) head_constant_ = dot(weights_, {output.bias, weights_.size()});
}

void DirectPath::run(PositionRange rows, Progress* progress) {
  const std::int64_t pieces = (rows.end - rows.begin + kRows - 1) / kRows;
  LayerProgress steps(progress, pieces * config_.layers);
  for (std::int64_t row = rows.begin; row < rows.end; row += kRows)
    run_some(row, std::min(row + kRows, rows.end), steps);
  for (auto* values : {&result_.heads, &result_.feed_forward}) {
    for (double& value : *values) value /= rows_;
  }
  for (double* value : {&result_.answer, &result_.embeddings, &result_.rest}) *value /= rows_;
}

std::span<const float> DirectPath::row(std::span<const float> rows, std::int64_t r) const {
  return rows.subspan(static_cast<std::size_t>(r * config_.width), static_cast<std::size_t>(config_.width));
}

void DirectPath::run_some(std::int64_t begin, std::int64_t end, LayerProgress& progress) {
  PassSequence text{
      std::span(trunk_.ids).subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin)), {}, begin};
  text.known = &*trunk_.keys;
  text.ropes = &trunk_.ropes;
  const ForwardOptions options{.threads = trunk_.threads, .progress = progress.hook()};
  const Pass pass(config_, {&text, 1}, options, memory_);
  SelfAttention attention(pass);
  FeedForward feed_forward(pass);
  for (int layer = static_cast<int>(config_.layers) - 1; layer >= 0; --layer) {
    const LayerRows rows = compute(pass, attention, feed_forward, layer);
    if (layer + 1 == config_.layers) begin_directions(pass, rows.output, begin);
    take_layer(pass, layer, rows);
    progress.add(1);
  }
  const std::span<const float> embedded = trunk_.rows(0, begin, end - begin);
  for (std::int64_t r = 0; r < pass.rows(); ++r) {
    result_.embeddings += dot(directions_[static_cast<std::size_t>(r)], row(embedded, r));
  }
}

// As LayerPass::run(), with all that it adds kept.
DirectPath::LayerRows DirectPath::compute(const Pass& pass, SelfAttention& attention, FeedForward& feed_forward,
                                          int layer) {
  const LayerWeights& weights = trunk_.model->weights.layer(layer, config_);
  const bool after = config_.norm_place == NormPlace::after, around = config_.norm_place == NormPlace::around;
  const std::span<const float> x = trunk_.rows(layer, pass.sequences.front().begin, pass.rows());
  LayerRows rows;
  rows.attended.resize(x.size());
  rows.fed.resize(x.size());
  const std::vector<float> normed_x = after ? std::vector<float>() : normed(pass, weights.attention_norm, x);
  attention.run(layer, weights.attention, after ? x.data() : normed_x.data(), rows.attended.data());
  rows.attention_sum = sum_of(x, around ? normed(pass, weights.attention_post_norm, rows.attended) : rows.attended);
  const std::vector<float> between =
      after ? normed(pass, weights.attention_norm, rows.attention_sum)
            : normed(pass, weights.mlp_norm, config_.parallel_residual ? x : rows.attention_sum);
  feed_forward.run(weights, between.data(), pass.rows(), rows.fed.data());
  rows.output =
      sum_of(after ? between : rows.attention_sum, around ? normed(pass, weights.mlp_post_norm, rows.fed) : rows.fed);
  return rows;
}

// At what comes out of the last layer, before a final norm.
void DirectPath::begin_directions(const Pass& pass, std::span<const float> output, std::int64_t first) {
  const std::span<const float> last = trunk_.rows(static_cast<int>(config_.layers), first, pass.rows());
  directions_.clear();
  for (std::int64_t r = 0; r < pass.rows(); ++r) {
    PulledBack begun = of_logits_ ? through_head(pass, row(last, r)) : PulledBack{weights_, 0};
    result_.rest += begun.constant;
    result_.answer += begun.constant + dot(begun.direction, row(last, r));
    if (config_.final_norm) pull(trunk_.model->weights.final_norm, output, r, begun.direction);
    directions_.push_back(std::move(begun.direction));
  }
}

PulledBack DirectPath::through_head(const Pass& pass, std::span<const float> row) const {
  PulledBack back{head_direction_, head_constant_};
  if (config_.language_head != LanguageHead::transform) return back;
  const LanguageHeadWeights& head = *trunk_.model->weights.language_head;
  std::vector<float> dense(head_direction_.size());
  apply(pass, head.dense, row.data(), 1, dense.data());
  std::vector<float> activated = dense;
  activate(config_.head_activation, activated, pass.options.threads);
  const PulledBack normed = through_norm(head.norm, activated, back.direction);
  const std::vector<double> gated = through_gate(dense, activated, normed.direction);
  back.constant += normed.constant;
  if (head.dense.bias != nullptr) back.constant += dot(gated, {head.dense.bias, gated.size()});
  back.direction = through_matrix(head.dense.weight, gated);
  return back;
}

void DirectPath::pull(const ops::Norm& norm, std::span<const float> input, std::int64_t r,
                      std::vector<double>& direction) {
  PulledBack back = through_norm(norm, row(input, r), direction);
  result_.rest += back.constant;
  direction = std::move(back.direction);
}

void DirectPath::take_layer(const Pass& pass, int layer, const LayerRows& rows) {
  const LayerWeights& weights = trunk_.model->weights.layer(layer, config_);
  const bool after = config_.norm_place == NormPlace::after, around = config_.norm_place == NormPlace::around;
  head_directions_.clear();
  for (std::int64_t r = 0; r < pass.rows(); ++r) {
    std::vector<double>& direction = directions_[static_cast<std::size_t>(r)];
    if (after) pull(weights.mlp_norm, rows.output, r, direction);
    std::vector<double> of_fed = direction;
    if (around) pull(weights.mlp_post_norm, rows.fed, r, of_fed);
    result_.feed_forward[static_cast<std::size_t>(layer)] += dot(of_fed, row(rows.fed, r));
    if (after) pull(weights.attention_norm, rows.attention_sum, r, direction);
    std::vector<double>& of_heads = head_directions_.emplace_back(direction);
    if (around) pull(weights.attention_post_norm, rows.attended, r, of_heads);
  }
  take_heads(pass, layer, weights.attention.output);
}

// Each row once for every head, the others' columns 0.
void DirectPath::take_heads(const Pass& pass, int layer, const ops::Linear& projection) {
  const std::int64_t heads = config_.query_heads, d = config_.head_width, inner = heads * d;
  const float* mixed = pass.memory.mixed.of_size(pass.rows() * inner);  // of the attention that has just run
  std::vector<float> masked(static_cast<std::size_t>(pass.rows() * heads * inner));
  for (std::int64_t i = 0; i < pass.rows() * heads; ++i) {
    const std::int64_t column = i % heads * d;
    std::copy_n(mixed + i / heads * inner + column, d, masked.begin() + i * inner + column);
  }
  std::vector<float> projected(static_cast<std::size_t>(pass.rows() * heads * config_.width));
  ops::Linear without_bias = projection;
  without_bias.bias = nullptr;
  apply(pass, without_bias, masked.data(), pass.rows() * heads, projected.data());
  for (std::int64_t i = 0; i < pass.rows() * heads; ++i) {
    const std::vector<double>& direction = head_directions_[static_cast<std::size_t>(i / heads)];
    result_.heads[static_cast<std::size_t>(layer * heads + i % heads)] += dot(direction, row(projected, i));
  }
  if (projection.bias == nullptr) return;
  for (const std::vector<double>& direction : head_directions_) {
    result_.rest += dot(direction, {projection.bias, direction.size()});
  }
}

}  // namespace sightline::model
