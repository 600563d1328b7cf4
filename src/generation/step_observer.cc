#include "src/generation/step_observer.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "sightline/error.h"

namespace sightline::model {
namespace {

constexpr std::int64_t kOneRow[] = {0};
constexpr std::int64_t kChains = MassSums::kChains;

// Of values [heads, rows, width] the last row of each head, appended to `to`.
template <class T>
void append_last_rows(const std::vector<T>& values, std::int64_t heads, std::int64_t width, std::vector<T>& to) {
  const auto head = static_cast<std::ptrdiff_t>(values.size()) / heads;
  for (auto end = values.begin() + head;; end += head) {
    to.insert(to.end(), end - width, end);
    if (end == values.end()) return;
  }
}

// Where the keys of a query head stand, by slot; empty where each stands at its index.
std::span<const std::int32_t> positions_of(const LayerAttention& call, std::int64_t head) {
  if (call.key_positions.empty()) return {};
  const TensorView& k = call.problem.k;
  const std::int64_t group = call.problem.q.shape[1] / k.shape[1];
  return call.key_positions.subspan(head / group * k.shape[2], k.shape[2]);
}

}  // namespace

void require_head(std::int64_t heads, int head) {
  if (head >= -1 && head < heads) return;
  throw BadArgument(
      fmt::format("head {} was asked for: it can be 0 to {}, or -1 for the mean of all", head, heads - 1));
}

StepObserver::StepObserver(const TransformerConfig& config, const WatchOptions& options, std::int64_t room,
                           MassSums&& sums, std::int64_t keys)
    : options_(options), room_(room), sinks_(config.sinks) {
  sight_.layers = config.layers;
  sight_.heads = static_cast<int>(config.query_heads);
  sight_.top = options.top;
  if (!options.key_mass) return;
  if (keys > 0 && sums.room == room) {
    sums_ = std::move(sums.layers);
    return;
  }
  sums_.resize(static_cast<std::size_t>(config.layers));
  for (auto& sums : sums_) sums.assign(static_cast<std::size_t>(config.query_heads * kChains * room), 0);
  if (keys > 0) adopt(sums, keys);
}

std::int64_t StepObserver::bytes(const TransformerConfig& config, const WatchOptions& options, std::int64_t room) {
  const std::int64_t planes = config.layers * config.query_heads;
  const auto numbers = static_cast<std::int64_t>(options.key_mass ? kChains * room + 2 * room : 0);
  const std::int64_t row = options.row_weights ? (config.layers + config.query_heads) * room : 0;
  return 4 * (planes * numbers + row);
}

void StepObserver::watch_head(int head) {
  require_head(sight_.heads, head);
  options_.head = head;
}

void StepObserver::adopt(const MassSums& sums, std::int64_t keys) {
  for (std::size_t layer = 0; layer < sums_.size(); ++layer) {
    const std::vector<float>& from = sums.layers[layer];
    for (std::int64_t chain = 0; chain < sight_.heads * kChains; ++chain) {
      std::copy_n(from.begin() + chain * sums.room, keys, sums_[layer].begin() + chain * room_);
    }
  }
}

void StepObserver::begin(std::int64_t rows, std::span<const std::int32_t> segment_of_key, std::int32_t segments,
                         bool newest) {
  expected_rows_ = rows;
  segment_of_key_ = segment_of_key;
  newest_ = newest;
  sight_.keys = std::ssize(segment_of_key);
  sight_.row = sight_.keys - 1;
  sight_.segments = segments;
  sight_.head = options_.head;
  for (auto* values : {&sight_.entropy, &sight_.sink_weight, &sight_.top_weight, &sight_.segment_mass, &sight_.key_mass,
                       &sight_.row_weights}) {
    values->clear();
  }
  sight_.top_key.clear();
}

Observations StepObserver::request(const LayerAttention& call) {
  Observations see;
  if (newest_) watch_entropy(call, see);
  if (!call.key_positions.empty()) {
    watch_slots(call, see);
    return see;
  }
  if (options_.key_mass) watch_mass(call, see);
  if (newest_) watch_newest(call, see);
  if (newest_ && options_.row_weights) watch_row(call, see);
  return see;
}

void StepObserver::watch_entropy(const LayerAttention& call, Observations& see) {
  entropy_.resize(static_cast<std::size_t>(call.problem.q.shape[1] * call.problem.q.shape[2]));
  see.entropy = entropy_.data();
  if (!sinks_) return;
  sink_weight_.resize(entropy_.size());
  see.sink_weight = sink_weight_.data();
}

void StepObserver::watch_mass(const LayerAttention& call, Observations& see) {
  const std::int64_t heads = call.problem.q.shape[1], rows = call.problem.q.shape[2], keys = call.problem.k.shape[2];
  std::vector<float>& sums = sums_[static_cast<std::size_t>(call.layer)];
  // Where a rope follows the length all rows are computed again, and looked elsewhere than they did before.
  if (rows > expected_rows_) std::ranges::fill(sums, 0.0f);
  key_mass_.assign(static_cast<std::size_t>(heads * keys), 0);
  see.key_mass = key_mass_.data();
  see.mass_sums = sums.data();
  see.mass_sums_keys = room_;
}

void StepObserver::watch_newest(const LayerAttention& call, Observations& see) {
  const auto all = static_cast<std::size_t>(call.problem.q.shape[1] * call.problem.q.shape[2]);
  if (options_.top > 0) {
    top_key_.resize(all * static_cast<std::size_t>(options_.top));
    top_weight_.resize(top_key_.size());
    see.top_k = options_.top;
    see.topk_index = top_key_.data();
    see.topk_weight = top_weight_.data();
  }
  if (sight_.segments == 0) return;
  segment_mass_.resize(all * static_cast<std::size_t>(sight_.segments));
  see.segment_of_key = segment_of_key_;
  see.segments = sight_.segments;
  see.segment_mass = segment_mass_.data();
}

// What keys received from the newest row alone are its weights, taken as the pass goes; chosen rows are computed from
// the keys once more, which is left for where the mass of all rows is wanted, too.
void StepObserver::watch_row(const LayerAttention& call, Observations& see) {
  row_.resize(static_cast<std::size_t>(call.problem.q.shape[1] * call.problem.k.shape[2]));
  row_index_ = call.problem.q.shape[2] - 1;
  if (options_.key_mass) {
    see.rows = {&row_index_, 1};
    see.row_weights = row_.data();
  } else {
    see.key_mass = row_.data();
    see.mass_row_begin = row_index_;
  }
}

// The weights of one head, or the mean over heads, by position: 0 where the key has gone.
void StepObserver::add_row(const LayerAttention& call) {
  const std::int64_t heads = call.problem.q.shape[1], keys = call.problem.k.shape[2];
  const std::int64_t first = std::max(0, sight_.head), end = sight_.head < 0 ? heads : first + 1;
  const std::size_t begin = sight_.row_weights.size();
  sight_.row_weights.resize(begin + static_cast<std::size_t>(sight_.keys));
  float* const sums = sight_.row_weights.data() + begin;
  for (std::int64_t head = first; head < end; ++head) {
    const float* const weights = row_.data() + head * keys;
    const std::span<const std::int32_t> positions = positions_of(call, head);
    if (positions.empty()) {
      for (std::int64_t key = 0; key < keys; ++key) sums[key] += weights[key];
    } else {
      for (std::int64_t slot = 0; slot < keys; ++slot) sums[positions[slot]] += weights[slot];
    }
  }
  const float share = 1.0f / static_cast<float>(end - first);
  for (std::int64_t key = 0; key < sight_.keys; ++key) sums[key] *= share;
}

void StepObserver::done(const LayerAttention& call) {
  if (!newest_) return;
  const std::int64_t heads = call.problem.q.shape[1];
  append_last_rows(entropy_, heads, 1, sight_.entropy);
  if (sinks_) append_last_rows(sink_weight_, heads, 1, sight_.sink_weight);
  if (!call.key_positions.empty()) return take_slots(call);
  if (options_.top > 0) {
    append_last_rows(top_key_, heads, options_.top, sight_.top_key);
    append_last_rows(top_weight_, heads, options_.top, sight_.top_weight);
  }
  if (sight_.segments > 0) append_last_rows(segment_mass_, heads, sight_.segments, sight_.segment_mass);
  if (options_.row_weights) add_row(call);
  sight_.key_mass.insert(sight_.key_mass.end(), key_mass_.begin(), key_mass_.end());
}

// A row of keys that are left after others have gone: slots stand for other positions in each head, so that what is
// told of keys is worked out here, from all weights of the row.
void StepObserver::watch_slots(const LayerAttention& call, Observations& see) {
  row_.resize(static_cast<std::size_t>(call.problem.q.shape[1] * call.problem.k.shape[2]));
  see.rows = kOneRow;
  see.row_weights = row_.data();
}

void StepObserver::take_slots(const LayerAttention& call) {
  const std::int64_t slots = call.problem.k.shape[2];
  for (std::int64_t head = 0; head < call.problem.q.shape[1]; ++head) {
    take_slots_of_head(std::span(row_).subspan(head * slots, slots), positions_of(call, head));
  }
  if (options_.row_weights) add_row(call);
  if (options_.key_mass) add_mass_of_slots(call);
}

void StepObserver::take_slots_of_head(std::span<const float> weights, std::span<const std::int32_t> positions) {
  std::vector<std::size_t> order(weights.size());
  std::iota(order.begin(), order.end(), 0);
  const auto top = std::min(static_cast<std::ptrdiff_t>(options_.top), std::ssize(order));
  std::partial_sort(order.begin(), order.begin() + top, order.end(), [&](std::size_t a, std::size_t b) {
    return weights[a] != weights[b] ? weights[a] > weights[b] : positions[a] < positions[b];
  });
  for (std::ptrdiff_t i = 0; i < options_.top; ++i) {
    sight_.top_key.push_back(i < top ? positions[order[i]] : -1);
    sight_.top_weight.push_back(i < top ? weights[order[i]] : 0);
  }
  std::vector<double> masses(static_cast<std::size_t>(sight_.segments));
  for (std::size_t slot = 0; slot < weights.size() && !masses.empty(); ++slot) {
    const std::int32_t segment = segment_of_key_[positions[slot]];
    if (segment >= 0) masses[segment] += static_cast<double>(weights[slot]);
  }
  sight_.segment_mass.insert(sight_.segment_mass.end(), masses.begin(), masses.end());
}

// Sums go on from those of the rows before any key had gone.
void StepObserver::add_mass_of_slots(const LayerAttention& call) {
  const std::int64_t heads = call.problem.q.shape[1], slots = call.problem.k.shape[2];
  mass_.resize(sums_.size());
  std::vector<double>& mass = mass_[call.layer];
  if (mass.empty()) {
    mass.resize(static_cast<std::size_t>(heads * room_));
    std::vector<float>& sums = sums_[call.layer];
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const std::size_t head = i / (kChains * room_), key = i % room_;
      mass[head * room_ + key] += static_cast<double>(sums[i]);
    }
    sums = {};
  }
  for (std::int64_t head = 0; head < heads; ++head) {
    double* const of_head = mass.data() + head * room_;
    const std::span<const std::int32_t> positions = positions_of(call, head);
    for (std::int64_t slot = 0; slot < slots; ++slot) {
      of_head[positions[slot]] += static_cast<double>(row_[head * slots + slot]);
    }
    sight_.key_mass.insert(sight_.key_mass.end(), of_head, of_head + sight_.keys);
  }
}

}  // namespace sightline::model
