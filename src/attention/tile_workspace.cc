#include "src/attention/tile_workspace.h"

#include <algorithm>

#include "src/observe/top_capacity.h"

namespace sightline {
namespace {

AlignedBuffer<float> rows_of(int lanes, std::int64_t rows) {
  return AlignedBuffer<float>(static_cast<std::size_t>(rows * lanes));
}

std::size_t widened(const RowSource& rows, std::int64_t width) {
  return rows.in_place() ? 0 : static_cast<std::size_t>(kBlockKeys * width);
}

}  // namespace

TileWorkspace::TileWorkspace(const HeadProblem& problem, const HeadSight& sight, const WorkspaceSize& size)
    : lanes(size.lanes),
      queries(rows_of(lanes, problem.width)),
      out(rows_of(lanes, sight.out ? problem.value_width : 0)),
      out_total(rows_of(lanes, sight.out ? problem.value_width : 0)),
      scores(rows_of(lanes, kBlockKeys)),
      bias(rows_of(lanes, problem.bias ? kBlockKeys : 0)),
      kept(rows_of(lanes, problem.keep ? kBlockKeys : 0)),
      measured(rows_of(lanes, sight.measures_values() ? kBlockKeys : 0)),
      ranks(rows_of(lanes, sight.measures_values() && sight.top_k > 0 ? kBlockKeys : 0)),
      query_row(static_cast<std::size_t>(problem.width)),
      value_row(static_cast<std::size_t>(problem.value_width)),
      widened_keys(widened(problem.k, problem.width)),
      widened_values(widened(problem.v, problem.value_width)),
      zeros(AlignedBuffer<float>::zeroed(std::max(problem.width, problem.value_width))),
      state(rows_of(lanes, kStateArrays)),
      state_total(rows_of(lanes, kStateArrays)),
      lane_arrays(AlignedBuffer<float>::zeroed(kLaneArrays * kTileRows)),
      topk_score(rows_of(lanes, top_capacity(sight.top_k))),
      topk_rank(rows_of(lanes, sight.measures_values() ? top_capacity(sight.top_k) : 0)),
      topk_index(static_cast<std::size_t>(top_capacity(sight.top_k)) * lanes),
      offset_score(rows_of(lanes, static_cast<std::int64_t>(sight.offsets.size()))),
      offset_length(rows_of(lanes, sight.measures_values() ? static_cast<std::int64_t>(sight.offsets.size()) : 0)),
      segment_sum(rows_of(lanes, sight.segments)),
      segment_reference(rows_of(lanes, sight.segments)),
      segment_total(rows_of(lanes, sight.segments)),
      bin_sum(rows_of(lanes, sight.overview_cols)),
      bin_reference(rows_of(lanes, sight.overview_cols)),
      bin_total(rows_of(lanes, sight.overview_cols)) {
  if (sight.wants_mass()) {
    mass_chains = AlignedBuffer<float>(static_cast<std::size_t>(size.chain_keys * kChains));
    strip.weights = rows_of(lanes, size.strip_blocks * kBlockKeys);
    strip.running_max = rows_of(lanes, size.strip_blocks);
    strip.blocks.reserve(static_cast<std::size_t>(size.strip_blocks));
  }
}

}  // namespace sightline
