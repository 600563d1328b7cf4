#include "cli/watch_steps.h"

#include <fmt/format.h>

#include <functional>

namespace sightline::cli {
namespace {

using model::StepSight;

std::size_t bytes_of(const StepSight& sight) {
  const std::size_t numbers = sight.entropy.size() + sight.sink_weight.size() + sight.top_key.size() +
                              sight.top_weight.size() + sight.segment_mass.size() + sight.key_mass.size() +
                              sight.row_weights.size();
  return sizeof sight + 4 * numbers;
}

void for_each_map(const StepSight& sight, const WatchedMaps& maps, const std::function<void(std::size_t)>& use) {
  for (int layer = 0; layer < sight.layers; ++layer) {
    if (maps.layer >= 0 && layer != maps.layer) continue;
    for (int head = 0; head < sight.heads; ++head) {
      if (maps.head < 0 || head == maps.head) use(static_cast<std::size_t>(layer * sight.heads + head));
    }
  }
}

void add_heaviest(const StepSight& sight, std::size_t map, float share, std::vector<float>& weights) {
  const auto top = static_cast<std::size_t>(sight.top);
  for (std::size_t i = map * top; i < (map + 1) * top; ++i) {
    if (sight.top_key[i] >= 0) weights[static_cast<std::size_t>(sight.top_key[i])] += share * sight.top_weight[i];
  }
}

void add_layers(const StepSight& sight, int layer, std::vector<float>& weights) {
  const int begin = layer < 0 ? 0 : layer, end = layer < 0 ? sight.layers : layer + 1;
  const float share = 1.0f / static_cast<float>(end - begin);
  for (int l = begin; l < end; ++l) {
    const float* const of_layer = sight.row_weights.data() + static_cast<std::ptrdiff_t>(l * sight.keys);
    for (std::size_t key = 0; key < weights.size(); ++key) weights[key] += share * of_layer[key];
  }
}

}  // namespace

std::string maps_name(const WatchedMaps& maps, int layers, int heads, bool utf8) {
  if (maps.layer >= 0 && maps.head >= 0) return fmt::format("L{}H{}", maps.layer + 1, maps.head + 1);
  if (maps.layer >= 0) return fmt::format("mean of L{}", maps.layer + 1);
  if (maps.head >= 0) return fmt::format("mean of H{} over {} layers", maps.head + 1, layers);
  return fmt::format("mean of {} {} {} maps", layers, utf8 ? "×" : "x", heads);
}

WatchedRow watched_row(const StepSight& sight, const WatchedMaps& maps) {
  WatchedRow row;
  row.weights.assign(static_cast<std::size_t>(sight.keys), 0);
  row.segments.assign(static_cast<std::size_t>(sight.segments), 0);
  row.whole = !sight.row_weights.empty() && sight.head == maps.head;
  const double share = 1.0 / ((maps.layer < 0 ? sight.layers : 1) * (maps.head < 0 ? sight.heads : 1));
  if (row.whole) add_layers(sight, maps.layer, row.weights);
  for_each_map(sight, maps, [&](std::size_t map) {
    if (!row.whole) add_heaviest(sight, map, static_cast<float>(share), row.weights);
    row.entropy += share * sight.entropy[map];
    for (std::size_t s = 0; s < row.segments.size(); ++s) {
      row.segments[s] += share * sight.segment_mass[map * row.segments.size() + s];
    }
  });
  return row;
}

void WatchSteps::add(const StepSight& sight) {
  steps_.push_back(sight);
  bytes_ += bytes_of(sight);
  while (bytes_ > bound_ && steps_.size() > 1) {
    bytes_ -= bytes_of(steps_.front());
    steps_.pop_front();
    ++first_;
  }
}

}  // namespace sightline::cli
