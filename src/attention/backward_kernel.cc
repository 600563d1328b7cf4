#include "src/attention/backward_kernel.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/attention/backward_kernel.cc"
#include "hwy/foreach_target.h"
#include "src/attention/backward_pass-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sightline {
namespace HWY_NAMESPACE {

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

void run_key_blocks(const BackwardGroup& group, BlockRange range, BackwardWorkspace& workspace) {
  KeyBlocks blocks(group, range, workspace);
  blocks.pack();
  const std::int64_t tiles = backward_tiles(group.rows);
  float* query_sums = workspace.query_sums.data();
  for (const BackwardHead& head : group.heads) {
    for (std::int64_t index = 0; index < tiles; ++index, query_sums += group.width * kTileRows) {
      const TileRows tile = backward_tile(group.rows, index);
      const BlockRange seen = blocks_seen(head.problem, tile);
      const BlockRange of_tile{std::max(range.begin, seen.begin), std::min(range.end, seen.end)};
      with_mask(head.problem, tile.lanes, workspace.masks, [&](const auto& mask) {
        TileBackward(group, head, tile, blocks, query_sums, workspace, mask).run(of_tile);
      });
    }
  }
  blocks.write();
}

}  // namespace HWY_NAMESPACE
}  // namespace sightline
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace sightline {

HWY_EXPORT(run_key_blocks);

TileRows backward_tile(std::int64_t rows, std::int64_t index) {
  TileRows tile;
  tile.first = index * kTileRows;
  tile.live_end = static_cast<int>(std::min<std::int64_t>(rows - tile.first, kTileRows));
  tile.lanes = (tile.live_end + kChains - 1) / kChains * kChains;
  return tile;
}

void run_key_blocks(const BackwardGroup& group, BlockRange blocks, BackwardWorkspace& workspace) {
  HWY_DYNAMIC_DISPATCH(run_key_blocks)(group, blocks, workspace);
}

}  // namespace sightline
#endif  // HWY_ONCE
