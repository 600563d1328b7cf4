#include "src/engine/summary.h"

#include <algorithm>
#include <cmath>

namespace sightline::engine {
namespace {

// Entropy as a share of its largest value over `keys` keys; one key alone is as peaked as can be: 0.
double normalised(double entropy, std::int64_t keys) {
  return keys > 1 ? entropy / std::log(static_cast<double>(keys)) : 0;
}

}  // namespace

MapSummary summarise(const MapObservations& map, std::span<const std::int32_t> segment_of_row,
                     std::span<const std::int32_t> segment_of_key) {
  const auto text_keys = static_cast<std::int64_t>(std::ranges::count(segment_of_key, kSegmentText));
  const auto text_rows = static_cast<std::int64_t>(std::ranges::count(segment_of_row, kSegmentText));
  const auto mean = [&](auto&& of_row) {
    double sum = 0;
    for (std::int64_t i = 0; i < map.rows; ++i) {
      if (segment_of_row[i] == kSegmentText) sum += of_row(static_cast<std::size_t>(i));
    }
    return static_cast<float>(text_rows ? sum / static_cast<double>(text_rows) : 0);
  };
  const auto offset = [&](std::size_t o) {
    return mean([&, o](std::size_t i) { return map.offset_mass[i * std::size(kOffsets) + o]; });
  };

  MapSummary summary;
  summary.entropy = mean([&](std::size_t i) { return map.entropy[i]; });
  summary.entropy_normalised = static_cast<float>(normalised(summary.entropy, map.keys));
  summary.special_share = mean([&](std::size_t i) { return map.segment_mass[i * kSegments + kSegmentSpecial]; });
  summary.previous_share = offset(0);
  summary.same_share = offset(1);
  summary.next_share = offset(2);
  summary.distance = mean([&](std::size_t i) { return map.distance[i]; });
  summary.text_entropy = mean([&](std::size_t i) { return map.text_entropy[i]; });
  summary.sharpness = mean([&](std::size_t i) {
    return map.segment_mass[i * kSegments + kSegmentText] * (1 - normalised(map.text_entropy[i], text_keys));
  });
  return summary;
}

}  // namespace sightline::engine
