#include "src/analysis/rollout.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace sightline::analysis {
namespace {

using Row = std::vector<double>;

// The tokens that have any part in it.
TokenRange support(const Row& row) {
  const auto counts = [](double part) { return part != 0; };
  const auto first = std::ranges::find_if(row, counts);
  const auto last = std::find_if(row.rbegin(), row.rend(), counts);
  return {first - row.begin(), row.rend() - last};
}

// row x (A + I) / 2, where maps(layer, ...) gives A.
Row through_layer(const Row& row, int layer, const MeanMapRows& maps, std::int64_t tile_rows) {
  Row below(row.size());
  for (std::size_t i = 0; i < row.size(); ++i) below[i] = row[i] / 2;
  const TokenRange counted = support(row);
  for (std::int64_t begin = counted.begin; begin < counted.end; begin += tile_rows) {
    const std::int64_t end = std::min(begin + tile_rows, counted.end);
    const std::vector<float> tile = maps(layer, begin, end);
    const float* weights = tile.data();
    for (std::int64_t i = begin; i < end; ++i, weights += row.size()) {
      const double part = row[static_cast<std::size_t>(i)] / 2;
      if (part == 0) continue;
      for (std::size_t j = 0; j < row.size(); ++j) below[j] += part * weights[j];
    }
  }
  return below;
}

}  // namespace

std::vector<double> rollout(TokenRange rows, const MeanMapRows& maps, const RolloutOptions& options) {
  Row row(static_cast<std::size_t>(options.tokens));
  const double each = 1 / static_cast<double>(rows.end - rows.begin);
  std::fill(row.begin() + rows.begin, row.begin() + rows.end, each);
  for (int layer = options.layers - 1; layer >= 0; --layer) {
    row = through_layer(row, layer, maps, options.tile_rows);
    if (options.done) options.done(layer);
  }
  return row;
}

}  // namespace sightline::analysis
