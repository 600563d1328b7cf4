#include "src/engine/why_row.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "sightline/error.h"
#include "src/analysis/rollout.h"
#include "src/engine/look_data.h"

namespace sightline::engine {
namespace {

// The length of each key's value vector in one head.
std::vector<double> value_lengths(const AttentionProblem& problem, std::int64_t head) {
  const std::int64_t keys = problem.v.shape[2], width = problem.v.shape[3];
  const std::int64_t kv_head = head / (problem.q.shape[1] / problem.v.shape[1]);
  const float* values = static_cast<const float*>(problem.v.data) + kv_head * keys * width;
  std::vector<double> lengths(static_cast<std::size_t>(keys));
  for (double& length : lengths) {
    double sum = 0;
    for (std::int64_t d = 0; d < width; ++d) sum += static_cast<double>(values[d]) * values[d];
    length = std::sqrt(sum);
    values += width;
  }
  return lengths;
}

double sum_over(const AxisItem& item, std::span<const double> of_token) {
  double sum = 0;
  for (std::int64_t j = item.token_begin; j < item.token_end; ++j) sum += of_token[static_cast<std::size_t>(j)];
  return sum;
}

std::vector<MapId> maps_of_layer(const Look& look, int layer) {
  std::vector<MapId> maps;
  for (int head = 1; head <= look.heads(); ++head) maps.push_back({layer, head});
  return maps;
}

}  // namespace

RowWeights::RowWeights(const Look& look, const AxisItem& row, const Axis& items)
    : heads_(static_cast<std::size_t>(look.heads())), items_(items.size()) {
  const std::size_t count = look.maps().size() * items_;
  weights_.resize(count);
  value_weights_.resize(count);
  seen_.resize(count);
  for (const MapId& map : look.maps()) read(look, map, row, items);
}

void RowWeights::read(const Look& look, const MapId& map, const AxisItem& row, const Axis& items) {
  const auto keys = std::ssize(look.tokens());
  const KeyRange first = look.rule(map).visible(row.token_begin, keys),
                 last = look.rule(map).visible(row.token_end - 1, keys);
  const std::vector<float> tile = look.tile(map, {0, 0, row.token_begin, row.token_end, 0, keys}, Stage::weights);
  const auto rows = static_cast<double>(row.token_end - row.token_begin);
  std::vector<double> weight(static_cast<std::size_t>(keys));
  for (std::size_t i = 0; i < tile.size(); ++i) weight[i % weight.size()] += tile[i] / rows;
  std::vector<double> weighted = value_lengths(look.data().layer_of(map).stored.problem(), map.head - 1);
  for (std::size_t j = 0; j < weight.size(); ++j) weighted[j] = weight[j] == 0 ? 0 : weight[j] * weighted[j];
  for (std::size_t i = 0; i < items.size(); ++i) {
    weights_[index(map, i)] = sum_over(items[i], weight);
    value_weights_[index(map, i)] = sum_over(items[i], weighted);
    seen_[index(map, i)] = items[i].token_begin < last.end && items[i].token_end > first.begin;
  }
}

std::vector<double> row_rollout(const Look& look, const AxisItem& row, const Axis& items, Progress* progress) {
  analysis::RolloutOptions options;
  options.layers = look.layers();
  options.tokens = std::ssize(look.tokens());
  int done = 0;
  options.done = [&](int) {
    if (progress == nullptr || progress->advance(++done, look.layers())) return;
    throw Cancelled("stopped by the caller before the rollout was done");
  };
  const auto mean_map = [&](int layer, std::int64_t begin, std::int64_t end) {
    return look.block({maps_of_layer(look, layer + 1), true, begin, end, 0, options.tokens});
  };
  const std::vector<double> of_token = analysis::rollout({row.token_begin, row.token_end}, mean_map, options);
  std::vector<double> of_item;
  for (const AxisItem& item : items) of_item.push_back(sum_over(item, of_token));
  return of_item;
}

}  // namespace sightline::engine
