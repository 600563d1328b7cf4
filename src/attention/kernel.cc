#include "src/attention/kernel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/attention/kernel.cc"
#include "hwy/foreach_target.h"
#include "src/attention/commit-inl.h"
#include "src/attention/finish-inl.h"
#include "src/attention/map_tile-inl.h"
#include "src/attention/stacked_commit-inl.h"
#include "src/attention/tile_pass-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sightline {
namespace HWY_NAMESPACE {

void run_tile(const HeadProblem& head, const HeadSight& sight, const TileRows& tile, const TileState* resume,
              TileState* save, TileWorkspace& workspace) {
  TilePass(head, sight, tile, workspace).run(resume, save);
  TileFinish(head, sight, tile, workspace).run();
}

void merge_tile(const HeadProblem& head, const HeadSight& sight, const TileRows& tile, const TileState& other,
                TileState& state, TileWorkspace& workspace) {
  TilePass(head, sight, tile, workspace).merge_states(other, state);
}

void run_chunk(const HeadProblem& head, const HeadSight& sight, const TileRows& tile, std::int64_t chunk,
               TileWorkspace& workspace) {
  TilePass(head, sight, tile, workspace).run_chunk(chunk);
}

void merge_chunks(const HeadProblem& head, const HeadSight& sight, const TileRows& tile,
                  std::span<TileState* const> chunks, TileWorkspace& workspace) {
  TilePass(head, sight, tile, workspace).merge(chunks);
  TileFinish(head, sight, tile, workspace).run();
}

void commit_tile(const HeadProblem& head, const HeadSight& sight, const TileRows& tile, TileWorkspace& workspace,
                 RowSums& sums, bool may_wait) {
  TileCommit(head, sight, tile, workspace, sums, may_wait).run();
}

void commit_stacked(const HeadProblem& head, const HeadSight& sight, const TileRows& tile, TileWorkspace& workspace,
                    std::span<TileWorkspace* const> strips) {
  StackedCommit(head, sight, tile, workspace, strips).run();
}

void measure_mass(const HeadProblem& head, float* mass) {
  alignas(64) float row[kMaxWidth];
  for (std::int64_t key = 0; key < head.keys; ++key) {
    if (mass[key] == 0) continue;  // whatever lies in the value of a hidden key
    widen(head.v, key, head.value_width, row);
    mass[key] *= value_length(row, head.value_width);
  }
}

void map_tile(const HeadProblem& head, const RowState& state, const TileRange& range, Stage stage, float* out,
              std::int64_t out_stride, TileWorkspace& workspace) {
  for (std::int64_t row = range.row_begin; row < range.row_end; row += kTileRows) {
    const int live = static_cast<int>(std::min<std::int64_t>(kTileRows, range.row_end - row));
    const TileRows tile{row, (live + kChains - 1) / kChains * kChains, 0, live};
    MapTile(head, tile, range, stage, workspace).run(state, out + (row - range.row_begin) * out_stride, out_stride);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace sightline
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "src/cpu/dispatch.h"

namespace sightline {

HWY_EXPORT(run_tile);
HWY_EXPORT(merge_tile);
HWY_EXPORT(run_chunk);
HWY_EXPORT(merge_chunks);
HWY_EXPORT(commit_tile);
HWY_EXPORT(commit_stacked);
HWY_EXPORT(measure_mass);
HWY_EXPORT(map_tile);

void run_tile(const HeadProblem& head, const HeadSight& sight, const TileRows& tile, const TileState* resume,
              TileState* save, TileWorkspace& workspace) {
  SIGHTLINE_DISPATCH(run_tile)(head, sight, tile, resume, save, workspace);
}

void merge_tile(const HeadProblem& head, const HeadSight& sight, const TileRows& tile, const TileState& other,
                TileState& state, TileWorkspace& workspace) {
  SIGHTLINE_DISPATCH(merge_tile)(head, sight, tile, other, state, workspace);
}

void run_chunk(const HeadProblem& head, const HeadSight& sight, const TileRows& tile, std::int64_t chunk,
               TileWorkspace& workspace) {
  SIGHTLINE_DISPATCH(run_chunk)(head, sight, tile, chunk, workspace);
}

void merge_chunks(const HeadProblem& head, const HeadSight& sight, const TileRows& tile,
                  std::span<TileState* const> chunks, TileWorkspace& workspace) {
  SIGHTLINE_DISPATCH(merge_chunks)(head, sight, tile, chunks, workspace);
}

void commit_tile(const HeadProblem& head, const HeadSight& sight, const TileRows& tile, TileWorkspace& workspace,
                 RowSums& sums, bool may_wait) {
  SIGHTLINE_DISPATCH(commit_tile)(head, sight, tile, workspace, sums, may_wait);
}

void commit_stacked(const HeadProblem& head, const HeadSight& sight, const TileRows& tile, TileWorkspace& workspace,
                    std::span<TileWorkspace* const> strips) {
  SIGHTLINE_DISPATCH(commit_stacked)(head, sight, tile, workspace, strips);
}

void measure_mass(const HeadProblem& head, float* mass) { SIGHTLINE_DISPATCH(measure_mass)(head, mass); }

void map_tile(const HeadProblem& head, const RowState& state, const TileRange& range, Stage stage, float* out,
              std::int64_t out_stride, TileWorkspace& workspace) {
  SIGHTLINE_DISPATCH(map_tile)(head, state, range, stage, out, out_stride, workspace);
}

}  // namespace sightline
#endif  // HWY_ONCE
