#include "src/attention/map.h"

#include <algorithm>
#include <limits>

#include "sightline/error.h"
#include "src/attention/kernel.h"

namespace sightline {
namespace {

// The sequence that a row of the tensor belongs to.
std::size_t sequence_of_row(const Geometry& g, std::int64_t batch, std::int64_t row) {
  if (!g.packed_queries) return static_cast<std::size_t>(batch);
  const auto after = std::upper_bound(g.sequences.begin(), g.sequences.end(), row,
                                      [](std::int64_t r, const SequencePlan& s) { return r < s.row_begin; });
  return static_cast<std::size_t>(after - g.sequences.begin()) - 1;
}

RowState state_from(const RowState& state, std::int64_t row) {
  return state.max == nullptr ? state : RowState{state.max + row, state.sum + row};
}

// Rows [range.row_begin, row_end) of the tensor, all of one sequence; keys of other sequences are hidden.
void write_sequence_tile(const AttentionProblem& problem, const Geometry& g, const ProblemTables& tables,
                         const RowState& state, const TileRange& range, std::size_t sequence, Stage stage, float* out,
                         std::int64_t out_stride, TileWorkspace& workspace) {
  const SequencePlan& s = g.sequences[sequence];
  TileRange own = range;
  own.row_begin -= s.row_begin;
  own.row_end -= s.row_begin;
  own.key_begin = std::clamp<std::int64_t>(range.key_begin - s.key_begin, 0, s.keys);
  own.key_end = std::clamp<std::int64_t>(range.key_end - s.key_begin, 0, s.keys);
  const std::int64_t skipped = own.key_begin + s.key_begin - range.key_begin;
  if (own.key_end - own.key_begin < range.key_end - range.key_begin) {
    const float hidden = stage == Stage::weights ? 0 : -std::numeric_limits<float>::infinity();
    for (std::int64_t row = 0; row < own.row_end - own.row_begin; ++row) {
      std::fill_n(out + row * out_stride, range.key_end - range.key_begin, hidden);
    }
  }
  if (own.key_begin >= own.key_end) return;
  const std::int64_t row = g.first_row(sequence, range.head);
  map_tile(head_problem(problem, g, tables, sequence, range.head, 1), state_from(state, row), own, stage, out + skipped,
           out_stride, workspace);
}

}  // namespace

void check_range(const Geometry& g, const TileRange& range) {
  const bool inside = range.batch >= 0 && range.batch < g.batch && range.head >= 0 && range.head < g.query_heads &&
                      0 <= range.row_begin && range.row_begin <= range.row_end && range.row_end <= g.queries &&
                      0 <= range.key_begin && range.key_begin <= range.key_end && range.key_end <= g.keys;
  if (!inside) throw BadArgument("tile lies outside the map");
}

TileWorkspace map_workspace(const AttentionProblem& problem, const Geometry& g, const ProblemTables& tables,
                            std::pmr::memory_resource* memory) {
  return TileWorkspace(head_problem(problem, g, tables, 0, 0, 1), HeadSight{}, {}, memory);
}

void write_map(const AttentionProblem& problem, const Geometry& g, const ProblemTables& tables, const RowState& state,
               const TileRange& range, Stage stage, float* out, TileWorkspace& workspace) {
  const std::int64_t stride = range.key_end - range.key_begin;
  for (TileRange part = range; part.row_begin < range.row_end; part.row_begin = part.row_end) {
    const std::size_t sequence = sequence_of_row(g, range.batch, part.row_begin);
    const SequencePlan& s = g.sequences[sequence];
    part.row_end = std::min(range.row_end, s.row_begin + s.rows);
    write_sequence_tile(problem, g, tables, state, part, sequence, stage,
                        out + (part.row_begin - range.row_begin) * stride, stride, workspace);
  }
}

}  // namespace sightline
