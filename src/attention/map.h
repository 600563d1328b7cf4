#ifndef SIGHTLINE_ATTENTION_MAP_H_
#define SIGHTLINE_ATTENTION_MAP_H_

#include "src/attention/head_problem.h"
#include "src/attention/tile_workspace.h"

namespace sightline {

/// Throws BadArgument if the range is not inside the map.
void check_range(const Geometry& geometry, const TileRange& range);

/// A workspace for any part of the problem's map. Throws OutOfMemory.
TileWorkspace map_workspace(const AttentionProblem& problem, const Geometry& geometry, const ProblemTables& tables,
                            std::pmr::memory_resource* memory);

/// Writes a block of the map, [rows, keys] dense. state: of the whole problem. Keys of other sequences than the row's
/// are hidden.
void write_map(const AttentionProblem& problem, const Geometry& geometry, const ProblemTables& tables,
               const RowState& state, const TileRange& range, Stage stage, float* out, TileWorkspace& workspace);

}  // namespace sightline

#endif  // SIGHTLINE_ATTENTION_MAP_H_
