#include "src/model/self_attention.h"

#include <algorithm>
#include <utility>

#include "src/model/rope.h"

namespace sightline::model {
namespace {

// The rows of one sequence as attention sees them, [1, heads, length, head width].
TensorView tensor_of(const ops::HeadRows& heads, std::int64_t begin, std::int64_t length, std::int64_t head_width) {
  return {heads.at(begin, 0),
          DType::f32,
          {1, heads.heads, length, head_width},
          {length * heads.row_stride, heads.head_stride, heads.row_stride, 1}};
}

// Of the positions that a text's rows stand at.
void append_table(const TransformerConfig& config, std::size_t rope, const PassSequence& text, int threads,
                  ops::RopeTable& table) {
  if (text.ropes == nullptr) {
    const RopeFrequencies frequencies = rope_frequencies(config.ropes[rope], text.begin + text.length());
    return ops::append_positions(frequencies.angle, frequencies.factor, text.begin, text.length(), table, threads);
  }
  const ops::RopeTable& all = (*text.ropes)[rope];
  table.pairs = all.pairs;
  const auto append = [&](const std::vector<float>& from, std::vector<float>& to) {
    const auto first = from.begin() + text.begin * all.pairs;
    to.insert(to.end(), first, first + text.length() * all.pairs);
  };
  append(all.cos, table.cos);
  append(all.sin, table.sin);
}

}  // namespace

std::vector<ops::RopeTable> rope_tables(const TransformerConfig& config, std::int64_t length, int threads) {
  std::vector<ops::RopeTable> tables;
  for (const Rope& rope : config.ropes) {
    const RopeFrequencies frequencies = rope_frequencies(rope, length);
    ops::append_positions(frequencies.angle, frequencies.factor, 0, length, tables.emplace_back(), threads);
  }
  return tables;
}

SelfAttention::SelfAttention(const Pass& pass) : pass_(pass), cuts_(pass), ropes_(pass.config.ropes.size()) {
  for (std::size_t rope = 0; rope < ropes_.size(); ++rope) {
    for (const PassSequence& text : pass.sequences) {
      append_table(pass.config, rope, text, pass.options.threads, ropes_[rope]);
    }
  }
}

void SelfAttention::run(int layer, const AttentionWeights& weights, const float* x, float* y) {
  const TransformerConfig& config = pass_.config;
  const Heads heads = project(weights, x);
  turn(layer, weights, heads);
  float* mixed = pass_.memory.mixed.of_size(pass_.query_rows() * config.query_heads * config.head_width);
  for (std::size_t s = 0; s < pass_.sequences.size(); ++s) attend(layer, static_cast<int>(s), weights, heads);
  apply(pass_, weights.output, mixed, pass_.query_rows(), y);
}

// Norms and ropes of queries and keys.
void SelfAttention::turn(int layer, const AttentionWeights& weights, const Heads& heads) const {
  const TransformerConfig& config = pass_.config;
  const bool keys = !pass_.queries_alone();
  if (config.query_key_norm) {
    ops::normalise_heads(weights.query_norm, heads.query, pass_.options.threads);
    if (keys) ops::normalise_heads(weights.key_norm, heads.key, pass_.options.threads);
  }
  if (ropes_.empty()) return;
  const auto rope = static_cast<std::size_t>(config.pattern[layer].rope);
  ops::rotate(ropes_[rope], config.ropes[rope].adjacent_pairs, heads.query, pass_.options.threads);
  if (keys) ops::rotate(ropes_[rope], config.ropes[rope].adjacent_pairs, heads.key, pass_.options.threads);
}

// y = layer(x), each of several rows that are the same once.
void SelfAttention::project_rows(const ops::Linear& layer, const float* x, float* y) const {
  const std::vector<std::int64_t>& same_as = pass_.same_as;
  if (same_as.empty()) return apply(pass_, layer, x, pass_.rows(), y);
  const std::int64_t in = layer.weight.cols, out = layer.weight.rows;
  std::vector<float> from;
  std::vector<std::int64_t> place(same_as.size());  // in `from`, of rows that are the first of their kind
  std::int64_t count = 0;
  for (std::size_t row = 0; row < same_as.size(); ++row) {
    if (std::cmp_not_equal(same_as[row], row)) continue;
    place[row] = count++;
    from.insert(from.end(), x + static_cast<std::int64_t>(row) * in, x + static_cast<std::int64_t>(row + 1) * in);
  }
  std::vector<float> to(static_cast<std::size_t>(count * out));
  apply(pass_, layer, from.data(), count, to.data());
  for (const std::int64_t first : same_as) {
    y = std::copy_n(to.begin() + place[static_cast<std::size_t>(first)] * out, out, y);
  }
}

SelfAttention::Heads SelfAttention::project(const AttentionWeights& weights, const float* x) {
  if (weights.layout != HeadLayout::separate) return project_fused(weights, x);
  const TransformerConfig& config = pass_.config;
  const std::int64_t rows = pass_.rows(), d = config.head_width;
  const std::int64_t query_width = config.query_heads * d, kv_width = config.kv_heads * d;
  const bool keys = !pass_.queries_alone();
  float* to = pass_.memory.projected.of_size(rows * (query_width + (keys ? 2 * kv_width : 0)));
  float *key = to + rows * query_width, *value = key + rows * kv_width;
  const ops::HeadRows queries{to, rows, config.query_heads, query_width, d};
  project_rows(weights.query, x, to);
  if (!keys) return {queries, {}, {}};
  project_rows(weights.key, x, key);
  project_rows(weights.value, x, value);
  return {queries, {key, rows, config.kv_heads, kv_width, d}, {value, rows, config.kv_heads, kv_width, d}};
}

SelfAttention::Heads SelfAttention::project_fused(const AttentionWeights& weights, const float* x) {
  const TransformerConfig& config = pass_.config;
  const std::int64_t rows = pass_.rows(), d = config.head_width;
  const std::int64_t query_width = config.query_heads * d, kv_width = config.kv_heads * d;
  const std::int64_t all = query_width + 2 * kv_width;
  float* to = pass_.memory.projected.of_size(rows * all);
  const auto heads = [&](float* first, std::int64_t count, std::int64_t head_stride) {
    return ops::HeadRows{first, rows, count, all, head_stride};
  };
  project_rows(weights.fused, x, to);
  if (weights.layout == HeadLayout::grouped) {
    return {heads(to, config.query_heads, 3 * d), heads(to + d, config.kv_heads, 3 * d),
            heads(to + 2 * d, config.kv_heads, 3 * d)};
  }
  return {heads(to, config.query_heads, d), heads(to + query_width, config.kv_heads, d),
          heads(to + query_width + kv_width, config.kv_heads, d)};
}

AttentionProblem SelfAttention::make_problem(int layer, int sequence, const AttentionWeights& weights,
                                             const Heads& heads) {
  const TransformerConfig& config = pass_.config;
  const PassSequence& text = pass_.sequences[sequence];
  const std::int64_t begin = pass_.row_begin[sequence], length = text.length();
  AttentionProblem problem;
  problem.q = tensor_of(heads.query, begin + text.query_begin() - text.begin, text.query_end() - text.query_begin(),
                        config.head_width);
  problem.causal = config.causal;
  if (config.pattern[layer].window > 0) problem.window_left = config.pattern[layer].window - 1;
  problem.scale = config.attention_scale;
  problem.softcap = config.attention_softcap;
  if (weights.sinks != nullptr) problem.sinks = {weights.sinks, static_cast<std::size_t>(config.query_heads)};
  if (text.known != nullptr) {
    text.known->read_whole(layer, problem);
    place_queries(text.query_begin(), problem);
    return problem;
  }
  problem.k = tensor_of(heads.key, begin, length, config.head_width);
  problem.v = tensor_of(heads.value, begin, length, config.head_width);
  if (text.shared != nullptr) text.shared->read_branch(layer, text.begin, problem);
  if (text.cache != nullptr) {
    text.cache->write(layer, problem.k, problem.v);
    text.cache->bind(layer, problem);
  }
  if (text.pruned != nullptr) {
    text.pruned->layer(layer).write(problem.k, problem.v, text.begin);
    text.pruned->layer(layer).bind(problem);
  }
  if (problem.q.shape[2] < length) place_queries(text.query_begin(), problem);
  return problem;
}

void SelfAttention::place_queries(std::int64_t position, AttentionProblem& problem) {
  span_ = problem.sequences.empty() ? SequenceSpan{} : problem.sequences.front();
  span_.query_position = position;
  problem.sequences = {&span_, 1};
}

void SelfAttention::attend(int layer, int sequence, const AttentionWeights& weights, const Heads& heads) {
  const TransformerConfig& config = pass_.config;
  const ForwardOptions& options = pass_.options;
  AttentionProblem problem = make_problem(layer, sequence, weights, heads);
  const std::vector<EdgeCut> cuts = cuts_.of(layer, sequence);
  problem.cuts = cuts;
  LayerAttention call{AttentionKind::self, layer, sequence, problem};
  if (PrunedKeys* pruned = pass_.sequences[sequence].pruned) call.key_positions = pruned->layer(layer).seen_positions();
  const Observations see = options.observer != nullptr ? options.observer->request(call) : Observations{};
  const std::int64_t length = problem.q.shape[2], width = config.query_heads * config.head_width;
  float* mixed = pass_.memory.mixed.of_size(pass_.query_rows() * width) + pass_.query_begin[sequence] * width;
  const MutableTensorView out{mixed, DType::f32, problem.q.shape, {length * width, config.head_width, width, 1}};
  run_attention(call, out, see);
  if (options.observer != nullptr) options.observer->done(call);
}

// attention(), with what a context that drops keys, or will, has to know of each row: within `see` where that leaves
// room for it.
void SelfAttention::run_attention(const LayerAttention& call, const MutableTensorView& out, Observations see) {
  const ForwardOptions& options = pass_.options;
  const AttentionOptions how{.threads = options.threads,
                             .workspace = &pass_.memory.workspace,
                             .progress = options.progress,
                             .precision = options.precision};
  const PassSequence& text = pass_.sequences[call.sequence];
  PrunedLayer* const pruned = text.pruned != nullptr ? &text.pruned->layer(call.layer) : nullptr;
  if (pruned != nullptr) pruned->watch(see);
  const bool mass_apart = text.mass != nullptr && !text.mass->watch(call.layer, call.problem, see);
  attention(call.problem, out, see, how);
  if (pruned != nullptr) pruned->take(call.problem, see, how);
  if (!mass_apart) return;
  Observations mass;
  text.mass->watch(call.layer, call.problem, mass);
  attention(call.problem, {}, mass, how);
}

}  // namespace sightline::model
