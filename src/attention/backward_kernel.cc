#include "src/attention/backward_kernel.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/attention/backward_kernel.cc"
#include "hwy/foreach_target.h"
#include "src/attention/backward_pass-inl.h"
#include "src/attention/backward_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sightline {
namespace HWY_NAMESPACE {

double prepare_rows(const BackwardHead& head) { return RowsBackward(head).run(); }

void run_key_blocks(const BackwardGroup& group, BlockRange range, BackwardWorkspace& workspace, float* query_sums,
                    const TileHook& begin, const TileHook& end) {
  KeyBlocks blocks(group, range, workspace);
  blocks.pack();
  std::int64_t number = 0;
  for (std::size_t head = 0; head < group.heads.size(); ++head) {
    const HeadProblem& problem = group.heads[head].problem;
    for (std::int64_t index = 0; index < backward_tiles(problem.rows); ++index, ++number) {
      const TileRows tile = backward_tile(problem.rows, index);
      const BlockRange seen = problem.blocks(problem.interval(tile));
      const BlockRange both{std::max(range.begin, seen.begin), std::min(range.end, seen.end)};
      if (both.begin >= both.end || group.heads[head].out_scale() == 0) continue;
      const TileTurn turn{number, head, tile, seen};
      begin(turn);
      float* sums = query_sums + number * problem.width * kTileRows;
      TileBackward(group, head, tile, blocks, sums, workspace).run(both);
      end(turn);
    }
  }
  blocks.write();
}

}  // namespace HWY_NAMESPACE
}  // namespace sightline
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "src/cpu/dispatch.h"

namespace sightline {

HWY_EXPORT(prepare_rows);
HWY_EXPORT(run_key_blocks);

TileRows backward_tile(std::int64_t rows, std::int64_t index) {
  TileRows tile;
  tile.first = index * kTileRows;
  tile.live_end = static_cast<int>(std::min<std::int64_t>(rows - tile.first, kTileRows));
  tile.lanes = (tile.live_end + kChains - 1) / kChains * kChains;
  return tile;
}

double prepare_rows(const BackwardHead& head) { return SIGHTLINE_DISPATCH(prepare_rows)(head); }

void run_key_blocks(const BackwardGroup& group, BlockRange blocks, BackwardWorkspace& workspace, float* query_sums,
                    const TileHook& begin, const TileHook& end) {
  SIGHTLINE_DISPATCH(run_key_blocks)(group, blocks, workspace, query_sums, begin, end);
}

}  // namespace sightline
#endif  // HWY_ONCE
