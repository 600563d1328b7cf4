#include "src/generation/step_observer.h"

#include <algorithm>

namespace sightline::model {
namespace {

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

}  // namespace

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
  return 4 * planes * numbers;
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
  for (auto* values :
       {&sight_.entropy, &sight_.sink_weight, &sight_.top_weight, &sight_.segment_mass, &sight_.key_mass}) {
    values->clear();
  }
  sight_.top_key.clear();
}

Observations StepObserver::request(const LayerAttention& call) {
  Observations see;
  if (options_.key_mass) watch_mass(call, see);
  if (newest_) watch_newest(call.problem.q.shape[1], call.problem.q.shape[2], see);
  return see;
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

void StepObserver::watch_newest(std::int64_t heads, std::int64_t rows, Observations& see) {
  const auto all = static_cast<std::size_t>(heads * rows);
  entropy_.resize(all);
  see.entropy = entropy_.data();
  if (sinks_) {
    sink_weight_.resize(all);
    see.sink_weight = sink_weight_.data();
  }
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

void StepObserver::done(const LayerAttention& call) {
  if (!newest_) return;
  const std::int64_t heads = call.problem.q.shape[1];
  append_last_rows(entropy_, heads, 1, sight_.entropy);
  if (sinks_) append_last_rows(sink_weight_, heads, 1, sight_.sink_weight);
  if (options_.top > 0) {
    append_last_rows(top_key_, heads, options_.top, sight_.top_key);
    append_last_rows(top_weight_, heads, options_.top, sight_.top_weight);
  }
  if (sight_.segments > 0) append_last_rows(segment_mass_, heads, sight_.segments, sight_.segment_mass);
  sight_.key_mass.insert(sight_.key_mass.end(), key_mass_.begin(), key_mass_.end());
}

}  // namespace sightline::model
