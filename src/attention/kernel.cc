#include "src/attention/kernel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/attention/kernel.cc"
#include "hwy/foreach_target.h"
#include "src/attention/commit-inl.h"
#include "src/attention/finish-inl.h"
#include "src/attention/map_tile-inl.h"
#include "src/attention/tile_pass-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sightline {
namespace HWY_NAMESPACE {

// Calls use(mask) with the policy that the problem needs.
template <class Use>
void with_mask(const HeadProblem& head, int lanes, TileWorkspace& workspace, const Use& use) {
  const IntervalMask interval{workspace.lane_array(TileWorkspace::kFirstSlot),
                              workspace.lane_array(TileWorkspace::kEndSlot), lanes};
  if (head.additive()) {
    use(AdditiveMask{interval, workspace.additive.data()});
  } else {
    use(interval);
  }
}

void run_tile(const HeadProblem& head, const HeadSight& sight, const TileRows& tile, TileWorkspace& workspace) {
  with_mask(head, tile.lanes, workspace, [&](const auto& mask) { TilePass(head, sight, tile, workspace, mask).run(); });
  TileFinish(head, sight, tile, workspace).run();
}

void commit_tile(const HeadProblem& head, const HeadSight& sight, const TileRows& tile, TileWorkspace& workspace,
                 RowSums& sums) {
  TileCommit(head, sight, tile, workspace, sums).run();
}

void map_tile(const HeadProblem& head, const RowState& state, const TileRange& range, Stage stage, float* out) {
  TileWorkspace workspace(head, HeadSight{});
  for (std::int64_t row = range.row_begin; row < range.row_end; row += kTileRows) {
    const int live = static_cast<int>(std::min<std::int64_t>(kTileRows, range.row_end - row));
    const TileRows tile{row, (live + kChains - 1) / kChains * kChains, 0, live};
    with_mask(head, tile.lanes, workspace,
              [&](const auto& mask) { MapTile(head, range, stage, workspace, mask).run(state, tile, out); });
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace sightline
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace sightline {

HWY_EXPORT(run_tile);
HWY_EXPORT(commit_tile);
HWY_EXPORT(map_tile);

void run_tile(const HeadProblem& head, const HeadSight& sight, const TileRows& tile, TileWorkspace& workspace) {
  HWY_DYNAMIC_DISPATCH(run_tile)(head, sight, tile, workspace);
}

void commit_tile(const HeadProblem& head, const HeadSight& sight, const TileRows& tile, TileWorkspace& workspace,
                 RowSums& sums) {
  HWY_DYNAMIC_DISPATCH(commit_tile)(head, sight, tile, workspace, sums);
}

void map_tile(const HeadProblem& head, const RowState& state, const TileRange& range, Stage stage, float* out) {
  HWY_DYNAMIC_DISPATCH(map_tile)(head, state, range, stage, out);
}

}  // namespace sightline
#endif  // HWY_ONCE
