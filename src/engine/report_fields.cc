#include "src/engine/report_fields.h"

#include <algorithm>
#include <numeric>

namespace sightline::engine {
namespace {

// Indexes of the items of an axis that a grid shows: those chosen, or all.
std::vector<std::size_t> shown_items(const Axis& all, const std::vector<std::size_t>& chosen, bool special) {
  std::vector<std::size_t> items = chosen;
  if (items.empty()) {
    items.resize(all.size());
    std::iota(items.begin(), items.end(), 0);
  }
  if (!special) std::erase_if(items, [&](std::size_t i) { return all[i].special; });
  return items;
}

}  // namespace

std::vector<float> as_floats(std::span<const double> values) { return {values.begin(), values.end()}; }

ReportJson item_json(const AxisItem& item) {
  return {{"label", item.label},           {"token_begin", item.token_begin}, {"token_end", item.token_end},
          {"byte_begin", item.byte_begin}, {"byte_end", item.byte_end},       {"special", item.special}};
}

ReportJson axis_json(const Axis& axis) {
  ReportJson json = ReportJson::array();
  for (const AxisItem& item : axis) json.push_back(item_json(item));
  return json;
}

ReportJson sentences_json(const Answer& answer, ReportNumbers& number) {
  ReportJson json = ReportJson::array();
  for (const SegmentMeans& sentence : answer.sentences) {
    json.push_back({{"text", sentence.text},
                    {"token_begin", sentence.token_begin},
                    {"token_end", sentence.token_end},
                    {"segment_mass", number.list(as_floats(sentence.segment_mass))}});
  }
  return json;
}

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
  shown.row_items = shown_items(all, options.grid_rows, options.special);
  shown.col_items = shown_items(all, options.grid_cols, options.special);
  Axis rows, cols;
  for (const std::size_t i : shown.row_items) {
    rows.push_back(all[i]);
    shown.set_aside.push_back(options.special ? 0 : look.special_share(*options.grid, all[i]));
  }
  for (const std::size_t j : shown.col_items) cols.push_back(all[j]);
  shown.grid = look.grid(*options.grid, rows, cols);
  return shown;
}

bool writes_grid(const Look& look, const ReportOptions& options) {
  if (!options.grid) return false;
  const std::size_t all = options.pieces ? look.tokens().size() : look.words().size();
  const auto count = [&](const std::vector<std::size_t>& chosen) {
    return static_cast<double>(chosen.empty() ? all : chosen.size());
  };
  return count(options.grid_rows) * count(options.grid_cols) <= static_cast<double>(kMaxGridWeights);
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
