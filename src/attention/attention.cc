#include "sightline/attention.h"

#include <algorithm>
#include <new>
#include <vector>

#include "sightline/error.h"
#include "src/attention/geometry.h"
#include "src/attention/head_problem.h"
#include "src/attention/kernel.h"
#include "src/attention/pass_driver.h"
#include "src/cpu/fp_environment.h"
#include "src/cpu/parallel.h"
#include "src/cpu/target.h"

namespace sightline {
namespace {

template <class T>
T* moved(T* array, std::int64_t by) {
  return array == nullptr ? nullptr : array + by;
}

// The partitions of the keys that are observed, one of each for a sequence.
struct KeyPartitions {
  std::vector<SegmentParts> segments, bins;

  KeyPartitions(const Geometry& g, const Observations& see) {
    const auto all_bins = column_bins(see.overview != nullptr ? g.keys : 0, see.overview_cols);
    const bool per_sequence = static_cast<std::int64_t>(see.segment_of_key.size()) != g.keys;
    for (std::int64_t batch = 0; batch < g.batch; ++batch) {
      const std::int64_t count = g.sequences[batch].key_count, position = g.sequences[batch].key_position;
      if (see.segment_mass != nullptr) {
        segments.emplace_back(see.segment_of_key.subspan(per_sequence ? batch * g.keys : 0, count), position);
      }
      if (see.overview != nullptr) bins.emplace_back(std::span(all_bins).first(count), position);
    }
  }
};

// The observations of one head, from those of all.
HeadSight head_sight(const Geometry& g, const MutableTensorView& out, const Observations& see,
                     const KeyPartitions& partitions, std::int64_t batch, std::int64_t head) {
  const std::int64_t plane = batch * g.query_heads + head, row = plane * g.queries;
  HeadSight s;
  if (out) {
    s.out = {static_cast<float*>(out.data) + batch * out.strides[0] + head * out.strides[1], out.strides[2],
             out.strides[3]};
  }
  s.row_max = moved(see.row_max, row);
  s.row_sum = moved(see.row_sum, row);
  s.lse = moved(see.lse, row);
  s.entropy = moved(see.entropy, row);
  s.position = moved(see.position, row);
  s.distance = moved(see.distance, row);
  s.top_k = see.topk_index != nullptr || see.topk_weight != nullptr ? see.top_k : 0;
  s.topk_index = moved(see.topk_index, row * see.top_k);
  s.topk_weight = moved(see.topk_weight, row * see.top_k);
  if (see.offset_mass != nullptr) s.offsets = see.offsets;
  s.offset_mass = moved(see.offset_mass, row * static_cast<std::int64_t>(see.offsets.size()));
  s.segments = see.segment_mass != nullptr ? see.segments : 0;
  s.segment_mass = moved(see.segment_mass, row * see.segments);
  if (s.segments > 0) s.segment_parts = &partitions.segments[batch];
  s.key_mass = moved(see.key_mass, plane * g.keys);
  s.mass_row_begin = see.mass_row_begin;
  s.mass_row_end = std::min(see.mass_row_end, g.queries);
  if (see.overview != nullptr) {
    s.overview_rows = see.overview_rows;
    s.overview_cols = see.overview_cols;
    s.bin_parts = &partitions.bins[batch];
    s.overview = see.overview + plane * see.overview_rows * see.overview_cols;
  }
  return s;
}

// Chosen rows are tiles of one row: the same bits, and no strip of their own.
void write_rows(const AttentionProblem& problem, const Geometry& g, const Observations& see, int threads) {
  const auto chosen = static_cast<std::int64_t>(see.rows.size());
  cpu::parallel_for(g.batch * g.query_heads * chosen, threads, [&](std::int64_t index) {
    const std::int64_t plane = index / chosen, row = see.rows[index % chosen];
    const std::int64_t batch = plane / g.query_heads, head = plane % g.query_heads;
    const RowState state{see.row_max + plane * g.queries, see.row_sum + plane * g.queries};
    const TileRange range{batch, head, row, row + 1, 0, g.keys};
    map_tile(head_problem(problem, g, batch, head), state, range, Stage::weights, see.row_weights + index * g.keys);
  });
}

void check_range(const Geometry& g, const TileRange& range) {
  const bool inside = range.batch >= 0 && range.batch < g.batch && range.head >= 0 && range.head < g.query_heads &&
                      0 <= range.row_begin && range.row_begin <= range.row_end && range.row_end <= g.queries &&
                      0 <= range.key_begin && range.key_begin <= range.key_end && range.key_end <= g.keys;
  if (!inside) throw BadArgument("tile lies outside the map");
}

// The lists here are of the standard library, which has its own way of saying that memory is gone.
template <class Body>
void with_documented_errors(const Body& body) {
  try {
    body();
  } catch (const std::bad_alloc&) {
    throw OutOfMemory("no memory for the lists of heads, sequences and keys of this problem");
  }
}

void run_pass(const AttentionProblem& problem, const MutableTensorView& out, const Observations& asked,
              const AttentionOptions& options) {
  const Geometry g = validate(problem);
  validate_output(g, out);
  validate_observations(g, asked);
  if (options.threads < 0) throw BadArgument("threads must be 0 (as many as the machine has) or more");
  Observations see = asked;
  const bool rows = see.row_weights != nullptr && !see.rows.empty();
  const std::size_t state_size = rows ? static_cast<std::size_t>(g.batch * g.query_heads * g.queries) : 0;
  AlignedBuffer<float> own_max(see.row_max == nullptr ? state_size : 0),
      own_sum(see.row_sum == nullptr ? state_size : 0);
  if (rows && see.row_max == nullptr) see.row_max = own_max.data();
  if (rows && see.row_sum == nullptr) see.row_sum = own_sum.data();

  const KeyPartitions partitions(g, see);
  std::vector<HeadTask> heads;
  heads.reserve(static_cast<std::size_t>(g.batch * g.query_heads));
  for (std::int64_t batch = 0; batch < g.batch; ++batch) {
    for (std::int64_t head = 0; head < g.query_heads; ++head) {
      heads.push_back({head_problem(problem, g, batch, head), head_sight(g, out, see, partitions, batch, head)});
    }
  }
  run_heads(heads, g.keys, options.threads);
  if (rows) write_rows(problem, g, see, options.threads);
}

void write_tile(const AttentionProblem& problem, const RowState& state, const TileRange& range, Stage stage,
                float* out) {
  const Geometry g = validate(problem);
  check_range(g, range);
  if (range.row_begin == range.row_end || range.key_begin == range.key_end) return;
  if (stage == Stage::weights && (state.max == nullptr || state.sum == nullptr)) {
    throw BadArgument("a tile of weights needs the row state of the pass (row_max and row_sum)");
  }
  const std::int64_t row = (range.batch * g.query_heads + range.head) * g.queries;
  map_tile(head_problem(problem, g, range.batch, range.head), {moved(state.max, row), moved(state.sum, row)}, range,
           stage, out);
}

}  // namespace

void attention(const AttentionProblem& problem, const MutableTensorView& out, const Observations& see,
               const AttentionOptions& options) {
  const cpu::ScopedFpEnvironment environment;  // the default scale is rounded too
  cpu::ensure_target();
  with_documented_errors([&] { run_pass(problem, out, see, options); });
}

void tile(const AttentionProblem& problem, const RowState& state, const TileRange& range, Stage stage, float* out) {
  const cpu::ScopedFpEnvironment environment;
  cpu::ensure_target();
  with_documented_errors([&] { write_tile(problem, state, range, stage, out); });
}

std::string simd_target() { return cpu::chosen_target(); }
std::vector<std::string> simd_targets() { return cpu::available_targets(); }

}  // namespace sightline
