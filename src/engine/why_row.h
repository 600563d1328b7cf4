#ifndef SIGHTLINE_ENGINE_WHY_ROW_H_
#define SIGHTLINE_ENGINE_WHY_ROW_H_

#include <cstddef>
#include <vector>

#include "src/engine/look.h"

namespace sightline::engine {

/// What the row of an item looks at in every map, item by item.
class RowWeights {
 public:
  /// `items`: those of the whole text.
  RowWeights(const Look& look, const AxisItem& row, const Axis& items);

  double weight(const MapId& map, std::size_t item) const { return weights_[index(map, item)]; }
  double value_weight(const MapId& map, std::size_t item) const { return value_weights_[index(map, item)]; }
  /// Whether any token of the row sees any token of the item.
  bool sees(const MapId& map, std::size_t item) const { return seen_[index(map, item)]; }

 private:
  std::size_t index(const MapId& map, std::size_t item) const {
    return (static_cast<std::size_t>(map.layer - 1) * heads_ + static_cast<std::size_t>(map.head - 1)) * items_ + item;
  }
  void read(const Look& look, const MapId& map, const AxisItem& row, const Axis& items);

  std::size_t heads_, items_;
  std::vector<double> weights_, value_weights_;  // [layers, heads, items]
  std::vector<bool> seen_;                       // the same
};

/// Attention rollout of the row, item by item; see analysis::rollout(). Throws Cancelled.
std::vector<double> row_rollout(const Look& look, const AxisItem& row, const Axis& items, Progress* progress);

}  // namespace sightline::engine

#endif  // SIGHTLINE_ENGINE_WHY_ROW_H_
