#include "src/model/forward.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sightline/error.h"
#include "src/ops/elementwise.h"
#include "src/ops/embedding.h"

namespace sightline::model {
namespace {

void check_ids(std::span<const std::int32_t> ids, std::int64_t limit, const char* what, std::size_t sequence) {
  const auto outside = [limit](std::int32_t id) { return id < 0 || id >= limit; };
  const auto found = std::ranges::find_if(ids, outside);
  if (found == ids.end()) return;
  throw BadArgument(fmt::format("sequence {}, position {}: {} {} is outside 0..{}", sequence, found - ids.begin(), what,
                                *found, limit - 1));
}

void check_sequence(const TransformerConfig& config, const TokenSequence& text, std::size_t sequence) {
  if (text.ids.empty()) throw BadArgument(fmt::format("sequence {} has no tokens", sequence));
  if (std::cmp_greater(text.ids.size(), config.max_positions)) {
    throw BadArgument(fmt::format("sequence {} has {} tokens, the model takes at most {}", sequence, text.ids.size(),
                                  config.max_positions));
  }
  check_ids(text.ids, config.vocabulary, "token id", sequence);
  if (text.type_ids.empty()) return;
  if (text.type_ids.size() != text.ids.size()) {
    throw BadArgument(
        fmt::format("sequence {} has {} tokens but {} token types", sequence, text.ids.size(), text.type_ids.size()));
  }
  check_ids(text.type_ids, std::max<std::int64_t>(config.token_types, 1), "token type", sequence);
}

// The rows of one sequence in a dense [rows, heads * head width], as attention sees them: [1, heads, length, head
// width].
template <class View, class T>
View heads_of(T* rows, std::int64_t length, std::int64_t heads, std::int64_t head_width) {
  const std::int64_t stride = heads * head_width;
  return {rows, DType::f32, {1, heads, length, head_width}, {length * stride, head_width, stride, 1}};
}

}  // namespace

void check_batch(const TransformerConfig& config, std::span<const TokenSequence> batch) {
  for (std::size_t s = 0; s < batch.size(); ++s) check_sequence(config, batch[s], s);
}

ForwardPass::ForwardPass(const TransformerConfig& config, const Weights& weights, std::span<const TokenSequence> batch,
                         const ForwardOptions& options)
    : config_(config), weights_(weights), batch_(batch), options_(options) {
  result_.width = config.width;
  result_.row_begin.push_back(0);
  for (const TokenSequence& text : batch) {
    result_.row_begin.push_back(rows() + static_cast<std::int64_t>(text.ids.size()));
  }
}

ForwardResult ForwardPass::run() {
  embed();
  for (std::size_t layer = 0; layer < weights_.layers.size(); ++layer) {
    if (options_.keep_hidden_states) result_.hidden_states.push_back(hidden_);
    run_layer(static_cast<int>(layer));
  }
  if (options_.keep_hidden_states) result_.hidden_states.push_back(hidden_);
  if (weights_.pooler) pool();
  if (options_.want_logits) compute_logits();
  result_.last_hidden_state = std::move(hidden_);
  return std::move(result_);
}

// Word, token type, position are added in this order, as the reference does.
void ForwardPass::embed() {
  hidden_.assign(rows() * config_.width, 0.0f);
  std::vector<std::int32_t> positions, no_types;
  for (std::size_t s = 0; s < batch_.size(); ++s) {
    const TokenSequence& text = batch_[s];
    float* rows = hidden_.data() + result_.row_begin[s] * config_.width;
    ops::add_embedding(weights_.word_embedding, text.ids, rows);
    if (config_.token_types > 0) {
      no_types.resize(text.ids.size());
      ops::add_embedding(weights_.token_type_embedding, text.type_ids.empty() ? no_types : text.type_ids, rows);
    }
    positions.resize(text.ids.size());
    for (std::size_t i = 0; i < positions.size(); ++i) positions[i] = static_cast<std::int32_t>(i);
    ops::add_embedding(weights_.position_embedding, positions, rows);
  }
  ops::layer_norm(weights_.embedding_norm, hidden_.data(), rows(), hidden_.data(), options_.threads);
}

void ForwardPass::run_layer(int layer) {
  const LayerWeights& weights = weights_.layers[layer];
  queries_ = apply(weights.query, hidden_);
  keys_ = apply(weights.key, hidden_);
  values_ = apply(weights.value, hidden_);
  attend(layer);
  add_and_normalise(apply(weights.attention_output, context_), weights.attention_norm);
  feed_forward(weights);
}

void ForwardPass::attend(int layer) {
  context_.resize(queries_.size());
  for (std::size_t s = 0; s < batch_.size(); ++s) attend_sequence(layer, static_cast<int>(s));
}

void ForwardPass::attend_sequence(int layer, int sequence) {
  const std::int64_t begin = result_.row_begin[sequence], length = result_.row_begin[sequence + 1] - begin;
  const std::int64_t head_width = config_.head_width;
  const auto rows_of = [&](Rows& rows, std::int64_t heads) {
    return heads_of<TensorView>(rows.data() + begin * heads * head_width, length, heads, head_width);
  };
  AttentionProblem problem;
  problem.q = rows_of(queries_, config_.query_heads);
  problem.k = rows_of(keys_, config_.kv_heads);
  problem.v = rows_of(values_, config_.kv_heads);
  problem.causal = config_.causal;
  const LayerAttention call{AttentionKind::self, layer, sequence, problem};
  const Observations see = options_.observer != nullptr ? options_.observer->request(call) : Observations{};
  const auto out = heads_of<MutableTensorView>(context_.data() + begin * config_.query_heads * head_width, length,
                                               config_.query_heads, head_width);
  attention(problem, out, see, {.threads = options_.threads, .progress = options_.progress});
  if (options_.observer != nullptr) options_.observer->done(call);
}

void ForwardPass::feed_forward(const LayerWeights& weights) {
  Rows inner = apply(weights.mlp_up, hidden_);
  activate(inner);
  add_and_normalise(apply(weights.mlp_down, inner), weights.mlp_norm);
}

// The first token of each sequence through a dense layer and tanh.
void ForwardPass::pool() {
  Rows first;
  for (std::size_t s = 0; s < batch_.size(); ++s) {
    const float* row = hidden_.data() + result_.row_begin[s] * config_.width;
    first.insert(first.end(), row, row + config_.width);
  }
  result_.pooled = apply(*weights_.pooler, first);
  ops::tanh(result_.pooled, options_.threads);
}

void ForwardPass::compute_logits() {
  const LanguageHead& head = *weights_.language_head;
  Rows transformed = apply(head.dense, hidden_);
  activate(transformed);
  ops::layer_norm(head.norm, transformed.data(), rows(), transformed.data(), options_.threads);
  result_.logits = apply(head.output, transformed);
}

ForwardPass::Rows ForwardPass::apply(const ops::Linear& layer, const Rows& input) const {
  const std::int64_t count = static_cast<std::int64_t>(input.size()) / layer.weight.cols;
  Rows output(count * layer.weight.rows);
  ops::linear(layer, input.data(), count, output.data(), options_.threads);
  return output;
}

void ForwardPass::activate(Rows& values) const {
  switch (config_.activation) {
    case Activation::gelu:
      return ops::gelu(values, options_.threads);
    case Activation::gelu_tanh:
      return ops::gelu_tanh(values, options_.threads);
    case Activation::relu:
      return ops::relu(values, options_.threads);
  }
}

void ForwardPass::add_and_normalise(const Rows& branch, const ops::LayerNorm& norm) {
  ops::add(hidden_, branch, options_.threads);
  ops::layer_norm(norm, hidden_.data(), rows(), hidden_.data(), options_.threads);
}

}  // namespace sightline::model
