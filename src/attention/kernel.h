#ifndef SIGHTLINE_ATTENTION_KERNEL_H_
#define SIGHTLINE_ATTENTION_KERNEL_H_

#include <span>

#include "src/attention/head_problem.h"
#include "src/attention/head_sight.h"
#include "src/attention/row_sums.h"
#include "src/attention/tile_workspace.h"

namespace sightline {

/// Runs the pass over one tile of rows and writes what is known from these rows alone. The workspace then holds what
/// commit_tile() and commit_stacked() need. resume, save: as in TilePass::run(), or null.
void run_tile(const HeadProblem& head, const HeadSight& sight, const TileRows& tile, const TileState* resume,
              TileState* save, TileWorkspace& workspace);

/// Takes the keys of `other` into `state`, both of one tile; `workspace` is scratch.
void merge_tile(const HeadProblem& head, const HeadSight& sight, const TileRows& tile, const TileState& other,
                TileState& state, TileWorkspace& workspace);

/// Runs the pass over one chunk of the keys, number `chunk` of the sequence, and leaves its state in the workspace.
void run_chunk(const HeadProblem& head, const HeadSight& sight, const TileRows& tile, std::int64_t chunk,
               TileWorkspace& workspace);

/// As run_tile(), from the states of all chunks that hold keys, ascending.
void merge_chunks(const HeadProblem& head, const HeadSight& sight, const TileRows& tile,
                  std::span<TileState* const> chunks, TileWorkspace& workspace);

/// Adds the tile's rows to the head's sums. To be called for the tiles of a head in ascending order. may_wait: the
/// head's next tile will be run in the same workspace, and before any other; then what the rows add to key mass may be
/// left to it.
void commit_tile(const HeadProblem& head, const HeadSight& sight, const TileRows& tile, TileWorkspace& workspace,
                 RowSums& sums, bool may_wait);

/// Writes the sums over the rows of a tile of stacked rows. strips: the workspaces that hold the weights of its blocks.
void commit_stacked(const HeadProblem& head, const HeadSight& sight, const TileRows& tile, TileWorkspace& workspace,
                    std::span<TileWorkspace* const> strips);

/// mass[key] *= ||v|| of the key, for the keys in use.
void measure_mass(const HeadProblem& head, float* mass);

/// A block of the map of one head at a stage. state: max and sum of the head's rows (Stage::weights alone). out: [rows,
/// keys], rows out_stride
/// apart. workspace: of the problem without observations.
void map_tile(const HeadProblem& head, const RowState& state, const TileRange& range, Stage stage, float* out,
              std::int64_t out_stride, TileWorkspace& workspace);

}  // namespace sightline

#endif  // SIGHTLINE_ATTENTION_KERNEL_H_
