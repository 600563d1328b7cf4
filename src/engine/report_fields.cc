#include "src/engine/report_fields.h"

#include <algorithm>

namespace sightline::engine {

TopKeys top_keys(const Look& look, const MapObservations& map, std::int64_t row, bool special) {
  TopKeys top;
  const auto begin = static_cast<std::size_t>(row * map.top);
  for (std::size_t slot = begin; slot < begin + static_cast<std::size_t>(map.top); ++slot) {
    const std::int32_t key = map.top_index[slot];
    if (key < 0 || std::cmp_equal(top.key.size(), look.top())) break;
    if (!special && look.tokens()[static_cast<std::size_t>(key)].special) continue;
    top.key.push_back(key);
    top.weight.push_back(map.top_weight[slot]);
  }
  return top;
}

ReportGrid report_grid(const Look& look, const ReportOptions& options) {
  ReportGrid shown;
  const Axis all = look.axis(options.pieces, true);
  Axis items;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].special && !options.special) continue;
    shown.items.push_back(i);
    items.push_back(all[i]);
    shown.set_aside.push_back(options.special ? 0 : look.special_share(*options.grid, all[i]));
  }
  shown.grid = look.grid(*options.grid, items, items);
  return shown;
}

std::vector<MapId> report_maps(const Look& look, const ReportOptions& options) {
  std::vector<MapId> maps = options.maps.empty() ? look.maps() : options.maps;
  for (const MapId& id : maps) look.require(id);
  if (options.grid) {
    look.require(*options.grid);
    if (std::ranges::find(maps, *options.grid) == maps.end()) maps.push_back(*options.grid);
  }
  return maps;
}

}  // namespace sightline::engine
