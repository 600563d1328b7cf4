#ifndef SIGHTLINE_ATTENTION_BACKWARD_KERNEL_H_
#define SIGHTLINE_ATTENTION_BACKWARD_KERNEL_H_

#include "src/attention/backward_workspace.h"

namespace sightline {

/// Tiles of kTileRows rows, the first at row 0.
TileRows backward_tile(std::int64_t rows, std::int64_t index);
constexpr std::int64_t backward_tiles(std::int64_t rows) { return (rows + kTileRows - 1) / kTileRows; }

/// Fills in what the pass needs of each row of a head; returns the gradient of the head's sink.
double prepare_rows(const BackwardHead& head);

/// Takes some blocks of keys together, at most blocks_together(): writes their dk and dv, and adds to the workspace's
/// sums and to gradients of a bias.
void run_key_blocks(const BackwardGroup& group, BlockRange blocks, BackwardWorkspace& workspace);

}  // namespace sightline

#endif  // SIGHTLINE_ATTENTION_BACKWARD_KERNEL_H_
