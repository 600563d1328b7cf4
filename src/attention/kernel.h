#ifndef SIGHTLINE_ATTENTION_KERNEL_H_
#define SIGHTLINE_ATTENTION_KERNEL_H_

#include "src/attention/head_problem.h"
#include "src/attention/head_sight.h"
#include "src/attention/tile_workspace.h"
#include "src/tensor/aligned_buffer.h"

namespace sightline {

/// Sums over the rows of one head, in 16 sub-chains each; see observe/row_sums-inl.h.
struct RowSums {
  AlignedBuffer<float> mass;      // [keys, kChains]
  AlignedBuffer<float> overview;  // [overview cols, kChains] of the bin of rows that the next row falls in
};

/// Runs the pass over one tile of rows and writes what is known from these rows alone. The workspace then holds what
/// commit_tile() needs.
void run_tile(const HeadProblem& head, const HeadSight& sight, const TileRows& tile, TileWorkspace& workspace);

/// Adds the tile's rows to the head's sums. To be called for the tiles of a head in ascending order.
void commit_tile(const HeadProblem& head, const HeadSight& sight, const TileRows& tile, TileWorkspace& workspace,
                 RowSums& sums);

/// A block of the map at a stage. state: max and sum of the head's rows (Stage::weights alone). out: [rows, keys]
/// dense.
void map_tile(const HeadProblem& head, const RowState& state, const TileRange& range, Stage stage, float* out);

}  // namespace sightline

#endif  // SIGHTLINE_ATTENTION_KERNEL_H_
