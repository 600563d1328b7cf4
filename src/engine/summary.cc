#include "src/engine/summary.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace sightline::engine {
namespace {

// Means over rows of text tokens.
class RowMeans {
 public:
  RowMeans(const MapObservations& map, const ScoreRule& rule, std::span<const std::int32_t> segments)
      : map_(map), rule_(rule), segments_(segments), text_before_(segments.size() + 1) {
    for (std::size_t j = 0; j < segments.size(); ++j) {
      text_before_[j + 1] = text_before_[j] + is_text(segments[j]);
    }
  }

  // Of of_row(i).
  template <class OfRow>
  float mean(const OfRow& of_row) const {
    return mean_where([](std::size_t) { return true; }, of_row);
  }

  // Of of_row(i, keys to choose from), over rows that have a choice, two keys at least. A row that has none is as
  // peaked as can be in every head, and says nothing of it; where no row has a choice, as in a text of one token, all
  // count.
  template <class Choices, class OfRow>
  float mean_of_choices(const Choices& choices, const OfRow& of_row) const {
    const auto chooses = [&](std::size_t i) { return choices(i) > 1; };
    bool any = false;
    for (std::size_t i = 0; i < segments_.size() && !any; ++i) any = is_text(segments_[i]) && chooses(i);
    return mean_where([&](std::size_t i) { return !any || chooses(i); },
                      [&](std::size_t i) { return of_row(i, choices(i)); });
  }

  std::int64_t keys_seen(std::size_t row) const { return visible(row).count(); }
  std::int64_t text_keys_seen(std::size_t row) const {
    const KeyRange keys = visible(row);
    return text_before_[static_cast<std::size_t>(keys.end)] - text_before_[static_cast<std::size_t>(keys.begin)];
  }

 private:
  KeyRange visible(std::size_t row) const { return rule_.visible(static_cast<std::int64_t>(row), map_.keys); }

  template <class Counts, class OfRow>
  float mean_where(const Counts& counts, const OfRow& of_row) const {
    double sum = 0;
    std::int64_t rows = 0;
    for (std::size_t i = 0; i < segments_.size(); ++i) {
      if (!is_text(segments_[i]) || !counts(i)) continue;
      sum += of_row(i);
      ++rows;
    }
    return static_cast<float>(rows ? sum / static_cast<double>(rows) : 0);
  }

  const MapObservations& map_;
  const ScoreRule& rule_;
  std::span<const std::int32_t> segments_;
  std::vector<std::int64_t> text_before_;  // text tokens before each token, and before the end
};

// Entropy as a share of its largest value over `keys` keys; one key alone is as peaked as can be: 0.
double normalised(double entropy, std::int64_t keys) {
  return keys > 1 ? entropy / std::log(static_cast<double>(keys)) : 0;
}

}  // namespace

MapSummary summarise(const MapObservations& map, const ScoreRule& rule, std::span<const std::int32_t> segments) {
  const RowMeans rows(map, rule, segments);
  const auto segment = [&](Segment s) { return rows.mean([&, s](std::size_t i) { return map.on_segment(i, s); }); };
  const auto offset = [&](std::size_t o) {
    return rows.mean([&, o](std::size_t i) { return map.offset_mass[i * std::size(kOffsets) + o]; });
  };
  const auto keys = [&](std::size_t i) { return rows.keys_seen(i); };
  const auto text_keys = [&](std::size_t i) { return rows.text_keys_seen(i); };

  MapSummary summary;
  summary.entropy = rows.mean([&](std::size_t i) { return map.entropy[i]; });
  summary.entropy_normalised =
      rows.mean_of_choices(keys, [&](std::size_t i, std::int64_t count) { return normalised(map.entropy[i], count); });
  summary.special_share = segment(kSegmentSpecial);
  summary.first_share = segment(kSegmentFirst);
  if (!map.sink_weight.empty()) summary.sink_share = rows.mean([&](std::size_t i) { return map.sink_weight[i]; });
  summary.previous_share = offset(0);
  summary.same_share = offset(1);
  summary.next_share = offset(2);
  summary.distance = rows.mean([&](std::size_t i) { return map.distance[i]; });
  summary.text_entropy = rows.mean([&](std::size_t i) { return map.text_entropy[i]; });
  summary.sharpness = rows.mean_of_choices(text_keys, [&](std::size_t i, std::int64_t count) {
    return map.on_text(i) * (1 - normalised(map.text_entropy[i], count));
  });
  return summary;
}

}  // namespace sightline::engine
