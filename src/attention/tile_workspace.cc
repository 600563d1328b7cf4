#include "src/attention/tile_workspace.h"

#include <algorithm>

#include "src/observe/top_capacity.h"

namespace sightline {
namespace {

// Buffers of [rows, lanes].
struct Lanes {
  int lanes;
  std::pmr::memory_resource* memory;

  AlignedBuffer<float> operator()(std::int64_t rows) const {
    return AlignedBuffer<float>(static_cast<std::size_t>(rows * lanes), memory);
  }
};

AlignedBuffer<float> row_of(std::int64_t width, std::pmr::memory_resource* memory) {
  return AlignedBuffer<float>(static_cast<std::size_t>(width), memory);
}

AlignedBuffer<float> widened(const RowSource& rows, std::int64_t width, std::pmr::memory_resource* memory) {
  return row_of(rows.in_place() ? 0 : kBlockKeys * width, memory);
}

template <class T>
void copy_buffer(const AlignedBuffer<T>& from, AlignedBuffer<T>& to) {
  std::copy(from.begin(), from.end(), to.begin());
}

}  // namespace

TileState::TileState(const HeadProblem& problem, const HeadSight& sight, int max_lanes,
                     std::pmr::memory_resource* memory)
    : lanes(max_lanes) {
  const Lanes rows{lanes, memory};
  const bool measures = sight.measures_values();
  const std::int64_t columns = sight.out ? problem.value_width : 0, capacity = top_capacity(sight.top_k),
                     offsets = static_cast<std::int64_t>(sight.offsets.size());
  state = rows(kStateArrays);
  state_total = rows(kStateArrays);
  out = rows(columns);
  out_total = rows(columns);
  topk_score = rows(capacity);
  topk_rank = rows(measures ? capacity : 0);
  topk_index = AlignedBuffer<std::int32_t>(static_cast<std::size_t>(capacity * lanes), memory);
  offset_score = rows(offsets);
  offset_length = rows(measures ? offsets : 0);
  for (auto* sums : {&segment_sum, &segment_reference, &segment_total}) *sums = rows(sight.segments);
  segment_marks = AlignedBuffer<std::uint8_t>(static_cast<std::size_t>(sight.segments * lanes), memory);
  for (auto* sums : {&bin_sum, &bin_reference, &bin_total}) *sums = rows(sight.overview_cols);
}

void TileState::copy(const TileState& other) {
  copy_buffer(other.state, state);
  copy_buffer(other.state_total, state_total);
  copy_buffer(other.out, out);
  copy_buffer(other.out_total, out_total);
  copy_buffer(other.topk_score, topk_score);
  copy_buffer(other.topk_rank, topk_rank);
  copy_buffer(other.topk_index, topk_index);
  copy_buffer(other.offset_score, offset_score);
  copy_buffer(other.offset_length, offset_length);
  copy_buffer(other.segment_sum, segment_sum);
  copy_buffer(other.segment_reference, segment_reference);
  copy_buffer(other.segment_total, segment_total);
  copy_buffer(other.segment_marks, segment_marks);
  segments_seen = other.segments_seen;
  open = other.open;
}

TileWorkspace::TileWorkspace(const HeadProblem& problem, const HeadSight& sight, const WorkspaceSize& size,
                             std::pmr::memory_resource* memory)
    : TileState(problem, sight, size.lanes, memory), strip(memory) {
  const Lanes rows{lanes, memory};
  const bool measures = sight.measures_values();
  queries = rows(problem.width);
  scores = rows(kBlockKeys);
  run_sums = row_of(kRunBlocks * kChains * kBlockKeys, memory);
  bias = rows(problem.bias ? kBlockKeys : 0);
  kept = rows(problem.keep ? kBlockKeys : 0);
  measured = rows(measures ? kBlockKeys : 0);
  ranks = rows(measures && sight.top_k > 0 ? kBlockKeys : 0);
  query_rows = row_of(kChains * problem.width, memory);
  value_rows = row_of(kChains * problem.value_width, memory);
  widened_keys = widened(problem.k, problem.width, memory);
  widened_values = widened(problem.v, problem.value_width, memory);
  zeros = AlignedBuffer<float>::zeroed(static_cast<std::size_t>(std::max(problem.width, problem.value_width)), memory);
  lane_arrays = AlignedBuffer<float>::zeroed(kLaneArrays * kTileRows, memory);
  if (problem.fast != nullptr) reserve_fast(problem, memory);
  if (!sight.wants_mass()) return;
  mass_chains = row_of(size.chain_keys * kChains, memory);
  strip.weights = rows(size.strip_blocks * kBlockKeys);
  strip.running_max = rows(size.strip_blocks);
  for (auto* blocks : {&strip.blocks, &strip.waiting}) blocks->reserve(static_cast<std::size_t>(size.strip_blocks));
}

void TileWorkspace::reserve_fast(const HeadProblem& problem, std::pmr::memory_resource* memory) {
  const auto buffer = [&]<class T>(AlignedBuffer<T>& to, std::int64_t rows, std::int64_t columns) {
    to = AlignedBuffer<T>(static_cast<std::size_t>(rows * columns), memory);
  };
  const std::int64_t width = padded_columns(problem.width), values = padded_values(problem.value_width);
  buffer(rounded_keys, kBlockKeys, width);
  buffer(rounded_values, kBlockKeys, padded_columns(problem.value_width));
  buffer(query_pairs, width / 2, lanes);
  buffer(value_pairs, kBlockKeys / 2, values);
  buffer(turned_pairs, kBlockKeys / 2, values);
  buffer(weight_pairs, kBlockKeys / 2, lanes);
}

}  // namespace sightline
