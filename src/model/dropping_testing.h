#ifndef SIGHTLINE_MODEL_DROPPING_TESTING_H_
#define SIGHTLINE_MODEL_DROPPING_TESTING_H_

// For tests alone: what dropping keys does, worked out from queries and keys in plain fp64 loops.

#include <map>
#include <set>

#include "src/model/bits_testing.h"

namespace sightline::model {

using Row = std::vector<float>;

/// Queries, keys and values that go through a layer, by position, and what is said of the newest row.
struct LayerRecord {
  std::vector<std::vector<Row>> q, k, v;        // [heads][position]
  std::vector<std::vector<std::int32_t>> seen;  // [kv heads] positions in the order of slots; empty: not dropping
  std::vector<Row> weights;                     // [heads] of the newest row, by slot
};

inline Row row_of(const TensorView& tensor, std::int64_t head, std::int64_t row) {
  const float* at = static_cast<const float*>(tensor.data) + head * tensor.strides[1] + row * tensor.strides[2];
  Row values(static_cast<std::size_t>(tensor.shape[3]));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = at[static_cast<std::int64_t>(i) * tensor.strides[3]];
  return values;
}

/// Writes down each pass: all rows of one without a context, and of a row in a context that drops keys. Checks there
/// that a slot holds the key and the value of the position that it is said to.
class Recorder : public AttentionObserver {
 public:
  Observations request(const LayerAttention& call) override {
    const std::int64_t rows = call.problem.q.shape[2];
    weights_.assign(call.problem.q.shape[1] * call.problem.k.shape[2], 0);
    newest_ = {rows - 1};
    Observations see;
    see.rows = newest_;
    see.row_weights = weights_.data();
    return see;
  }

  void done(const LayerAttention& call) override {
    if (std::cmp_equal(layers.size(), call.layer)) layers.emplace_back();
    LayerRecord& layer = layers[call.layer];
    const AttentionProblem& problem = call.problem;
    add(problem.q, 0, problem.q.shape[2], layer.q);
    const std::int64_t keys = problem.k.shape[2], first = call.key_positions.empty() ? 0 : keys - 1;
    add(problem.k, first, keys, layer.k);
    add(problem.v, first, keys, layer.v);
    layer.weights.clear();
    for (std::int64_t h = 0; h < problem.q.shape[1]; ++h) {
      layer.weights.emplace_back(weights_.begin() + h * keys, weights_.begin() + (h + 1) * keys);
    }
    layer.seen.clear();
    if (call.key_positions.empty()) return;
    for (std::int64_t h = 0; h < problem.k.shape[1]; ++h) {
      const auto positions = call.key_positions.subspan(h * keys, keys);
      layer.seen.emplace_back(positions.begin(), positions.end());
      for (std::int64_t slot = 0; slot < keys; ++slot) {
        EXPECT_EQ(layer.k[h][positions[slot]], row_of(problem.k, h, slot)) << "slot " << slot;
        EXPECT_EQ(layer.v[h][positions[slot]], row_of(problem.v, h, slot)) << "slot " << slot;
      }
    }
  }

  std::vector<LayerRecord> layers;

 private:
  static void add(const TensorView& tensor, std::int64_t begin, std::int64_t end, std::vector<std::vector<Row>>& to) {
    to.resize(tensor.shape[1]);
    for (std::int64_t h = 0; h < tensor.shape[1]; ++h) {
      for (std::int64_t row = begin; row < end; ++row) to[h].push_back(row_of(tensor, h, row));
    }
  }

  std::vector<float> weights_;
  std::vector<std::int64_t> newest_;
};

/// One key/value head of a layer, as a rule leaves it: the definition, one key at a time.
class DroppingHead {
 public:
  DroppingHead(const TransformerConfig& config, int layer, std::int64_t head, const DropRule& rule)
      : config_(config), rule_(rule), window_(config.pattern[layer].window), head_(head) {}

  std::int64_t group() const { return config_.query_heads / config_.kv_heads; }
  std::int64_t first_query_head() const { return head_ * group(); }

  /// exp(score) of each position in `among` that the row sees, and the sum of all with the sink's.
  std::map<std::int32_t, double> weights(const LayerRecord& record, std::int64_t query_head, std::int64_t row,
                                         const std::set<std::int32_t>& among, float sink, double& missed) const {
    std::map<std::int32_t, double> kept;
    double evicted = 0, total = std::isfinite(sink) ? std::exp(sink) : 0;
    for (std::int32_t p = 0; p <= row; ++p) {
      if (window_ > 0 && p <= row - window_) continue;
      const double e = std::exp(score(record, query_head, row, p));
      if (!among.contains(p)) {
        evicted += e;
        continue;
      }
      total += e;
      kept[p] = e;
    }
    for (auto& [p, e] : kept) e /= total;
    missed = evicted / (total + evicted);
    return kept;
  }

  void receive(const std::map<std::int32_t, double>& weights) {
    for (const auto& [p, w] : weights) {
      mass[p] += w;
      received += w;
    }
  }

  /// After the row at `newest`: what the next row would not see is let go, then what the rule says.
  void drop(std::int32_t newest) {
    std::erase_if(kept, [&](std::int32_t p) { return window_ > 0 && p <= newest + 1 - window_; });
    while (std::cmp_greater(kept.size(), rule_.keep)) {
      const std::int32_t gone = next(newest);
      kept.erase(gone);
      ++evicted;
      evicted_mass += mass[gone];
    }
  }

  std::set<std::int32_t> kept;
  std::map<std::int32_t, double> mass;
  double received = 0, evicted_mass = 0;
  std::int64_t evicted = 0;

 private:
  double score(const LayerRecord& record, std::int64_t query_head, std::int64_t row, std::int32_t key) const {
    const Row &q = record.q[query_head][row], &k = record.k[head_][key];
    double dot = 0;
    for (std::size_t i = 0; i < q.size(); ++i) dot += static_cast<double>(q[i]) * static_cast<double>(k[i]);
    const double scale = config_.attention_scale.value_or(1 / std::sqrt(static_cast<float>(config_.head_width)));
    const double cap = config_.attention_softcap, x = dot * scale;
    return cap > 0 ? cap * std::tanh(x / cap) : x;
  }

  std::int32_t next(std::int32_t newest) const {
    if (rule_.kind == DropKind::window) return *kept.begin();
    if (rule_.kind == DropKind::sinks_window) return *kept.lower_bound(static_cast<std::int32_t>(rule_.sinks));
    const std::int64_t recent = rule_.recent > 0 ? rule_.recent : std::max<std::int64_t>(rule_.keep / 2, 1);
    std::int32_t least = *kept.begin();
    for (const std::int32_t p : kept) {
      if (p <= newest - recent && mass.at(p) < mass.at(least)) least = p;
    }
    return least;
  }

  const TransformerConfig& config_;
  DropRule rule_;
  std::int64_t window_, head_;
};

}  // namespace sightline::model

#endif  // SIGHTLINE_MODEL_DROPPING_TESTING_H_
