#include "src/attention/tile_workspace.h"

#include <algorithm>

#include "src/observe/top_capacity.h"

namespace sightline {
namespace {

AlignedBuffer<float> lanes_of(std::int64_t rows) {
  return AlignedBuffer<float>(static_cast<std::size_t>(rows) * kTileRows);
}

bool columns_apart(const Matrix<const float>& matrix, std::int64_t width) {
  return matrix.column_stride != 1 && width > 1;
}

}  // namespace

TileWorkspace::TileWorkspace(const HeadProblem& problem, const HeadSight& sight)
    : queries(lanes_of(problem.width)),
      out(lanes_of(sight.out ? problem.value_width : 0)),
      out_total(lanes_of(sight.out ? problem.value_width : 0)),
      scores(lanes_of(kBlockKeys)),
      additive(lanes_of(problem.additive() ? kBlockKeys : 0)),
      packed_keys(columns_apart(problem.k, problem.width) ? kBlockKeys * problem.width : 0),
      packed_values(columns_apart(problem.v, problem.value_width) ? kBlockKeys * problem.value_width : 0),
      zeros(AlignedBuffer<float>::zeroed(std::max(problem.width, problem.value_width))),
      state(lanes_of(kStateArrays)),
      state_total(lanes_of(kStateArrays)),
      lane_arrays(AlignedBuffer<float>::zeroed(kLaneArrays * kTileRows)),
      topk_score(lanes_of(top_capacity(sight.top_k))),
      topk_index(static_cast<std::size_t>(top_capacity(sight.top_k)) * kTileRows),
      offset_score(lanes_of(static_cast<std::int64_t>(sight.offsets.size()))),
      segment_sum(lanes_of(sight.segments)),
      segment_reference(lanes_of(sight.segments)),
      segment_total(lanes_of(sight.segments)),
      bin_sum(lanes_of(sight.overview_cols)),
      bin_reference(lanes_of(sight.overview_cols)),
      bin_total(lanes_of(sight.overview_cols)) {
  if (sight.key_mass != nullptr) {
    const std::int64_t blocks = problem.blocks().count();
    strip.weights = lanes_of(blocks * kBlockKeys);
    strip.running_max = lanes_of(blocks);
    strip.blocks.reserve(static_cast<std::size_t>(blocks));
  }
}

}  // namespace sightline
