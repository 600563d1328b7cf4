#ifndef SIGHTLINE_ATTENTION_BACKWARD_KERNEL_H_
#define SIGHTLINE_ATTENTION_BACKWARD_KERNEL_H_

#include <functional>

#include "src/attention/backward_workspace.h"

namespace sightline {

/// Tiles of kTileRows rows, the first at row 0.
TileRows backward_tile(std::int64_t rows, std::int64_t index);
constexpr std::int64_t backward_tiles(std::int64_t rows) { return (rows + kTileRows - 1) / kTileRows; }

/// Fills in what the pass needs of each row of a head; returns the gradient of the head's sink.
double prepare_rows(const BackwardHead& head);

/// A tile that sees some of the blocks by its position.
struct TileTurn {
  std::int64_t number = 0;  // head * tiles + tile
  std::size_t head = 0;     // of the group
  TileRows tile;
  BlockRange seen;  // all blocks that it sees by position
};
using TileHook = std::function<void(const TileTurn&)>;

/// Takes some blocks of keys together, at most blocks_together(): writes their dk and dv, and adds to the workspace's
/// sums, to gradients of a bias and to query_sums, [heads, tiles, width, kTileRows] of dq before the scale. Heads and
/// tiles ascend; `begin` and `end` are called around each.
void run_key_blocks(const BackwardGroup& group, BlockRange blocks, BackwardWorkspace& workspace, float* query_sums,
                    const TileHook& begin, const TileHook& end);

}  // namespace sightline

#endif  // SIGHTLINE_ATTENTION_BACKWARD_KERNEL_H_
