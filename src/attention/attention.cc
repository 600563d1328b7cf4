#include "sightline/attention.h"

#include <algorithm>
#include <limits>
#include <new>
#include <span>
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
    const bool shared = static_cast<std::int64_t>(see.segment_of_key.size()) == g.keys && !g.packed_keys;
    for (std::size_t s = 0; s < g.sequences.size(); ++s) {
      const SequencePlan& plan = g.sequences[s];
      if (see.segment_mass != nullptr) {
        const std::int64_t first = shared ? 0 : g.packed_keys ? plan.key_begin : static_cast<std::int64_t>(s) * g.keys;
        segments.emplace_back(see.segment_of_key.subspan(first, plan.key_count), plan.key_position);
      }
      if (see.overview != nullptr) {
        const auto bin_of_key = column_bins(plan.keys, see.overview_cols);
        bins.emplace_back(std::span(bin_of_key).first(plan.key_count), plan.key_position);
      }
    }
  }
};

void see_rows(const Observations& see, std::int64_t row, HeadSight& s) {
  s.row_max = moved(see.row_max, row);
  s.row_sum = moved(see.row_sum, row);
  s.lse = moved(see.lse, row);
  s.entropy = moved(see.entropy, row);
  s.position = moved(see.position, row);
  s.distance = moved(see.distance, row);
  s.sink_weight = moved(see.sink_weight, row);
  s.entropy_with_sink = moved(see.entropy_with_sink, row);
  s.top_k = see.topk_index != nullptr || see.topk_weight != nullptr ? see.top_k : 0;
  s.topk_index = moved(see.topk_index, row * see.top_k);
  s.topk_weight = moved(see.topk_weight, row * see.top_k);
  if (see.offset_mass != nullptr) s.offsets = see.offsets;
  s.offset_mass = moved(see.offset_mass, row * static_cast<std::int64_t>(see.offsets.size()));
  s.segments = see.segment_mass != nullptr ? see.segments : 0;
  s.segment_mass = moved(see.segment_mass, row * see.segments);
}

HeadOutput output_of(const Geometry& g, const MutableTensorView& out, std::size_t sequence, std::int64_t head) {
  if (!out) return {};
  const SequencePlan& s = g.sequences[sequence];
  const std::int64_t elements = s.batch * out.strides[0] + head * out.strides[1] + s.row_begin * out.strides[2];
  return {static_cast<std::byte*>(out.data) + elements * static_cast<std::int64_t>(dtype_size(out.dtype)), out.dtype,
          out.strides[1], out.strides[2], out.shape[3] == 1 ? 1 : out.strides[3]};
}

// The observations of heads from `head` on, from those of all.
HeadSight head_sight(const Geometry& g, const MutableTensorView& out, const Observations& see,
                     const KeyPartitions& partitions, std::size_t sequence, std::int64_t head) {
  const std::int64_t key = g.first_key(sequence, head);
  HeadSight s;
  s.row_stride = g.queries;
  s.key_stride = g.keys;
  s.keys = g.sequences[sequence].keys;
  s.out = output_of(g, out, sequence, head);
  see_rows(see, g.first_row(sequence, head), s);
  if (s.segments > 0) s.segment_parts = &partitions.segments[sequence];
  s.measure = see.measure;
  s.key_mass = moved(see.key_mass, key);
  // Chosen rows are those of the tensor.
  const std::int64_t first = g.sequences[sequence].row_begin, rows = g.sequences[sequence].rows;
  s.mass_row_begin = std::clamp<std::int64_t>(see.mass_row_begin - first, 0, rows);
  s.mass_row_end = std::clamp<std::int64_t>(see.mass_row_end - first, 0, rows);
  if (see.mass_sums != nullptr) {
    const std::int64_t plane = (g.packed_keys ? 0 : static_cast<std::int64_t>(sequence)) * g.query_heads + head;
    s.mass_sums = see.mass_sums + plane * kChains * see.mass_sums_keys + g.sequences[sequence].key_begin;
    s.mass_sums_keys = see.mass_sums_keys;
  }
  s.mass_decay = see.mass_decay;
  if (see.overview != nullptr) {
    s.overview_rows = see.overview_rows;
    s.overview_cols = see.overview_cols;
    s.bin_parts = &partitions.bins[sequence];
    const std::int64_t plane = static_cast<std::int64_t>(sequence) * g.query_heads + head;
    s.overview = see.overview + plane * see.overview_rows * see.overview_cols;
  }
  return s;
}

std::vector<HeadTask> tasks_of(const AttentionProblem& problem, const Geometry& g, const ProblemTables& tables,
                               const MutableTensorView& out, const Observations& see, const KeyPartitions& partitions) {
  std::vector<HeadTask> tasks;
  tasks.reserve(g.sequences.size() * static_cast<std::size_t>(g.query_heads));
  for (std::size_t sequence = 0; sequence < g.sequences.size(); ++sequence) {
    const std::int64_t heads = stacks_rows(g.sequences[sequence].rows) ? g.group() : 1;
    for (std::int64_t head = 0; head < g.query_heads; head += heads) {
      tasks.push_back({head_problem(problem, g, tables, sequence, head, heads),
                       head_sight(g, out, see, partitions, sequence, head)});
    }
  }
  return tasks;
}

// The sequence that a row of the tensor belongs to.
std::size_t sequence_of_row(const Geometry& g, std::int64_t batch, std::int64_t row) {
  if (!g.packed_queries) return static_cast<std::size_t>(batch);
  const auto after = std::upper_bound(g.sequences.begin(), g.sequences.end(), row,
                                      [](std::int64_t r, const SequencePlan& s) { return r < s.row_begin; });
  return static_cast<std::size_t>(after - g.sequences.begin()) - 1;
}

// Rows [range.row_begin, row_end) of the tensor, all of one sequence; keys of other sequences are hidden.
void write_sequence_tile(const AttentionProblem& problem, const Geometry& g, const ProblemTables& tables,
                         const RowState& state, const TileRange& range, std::size_t sequence, Stage stage, float* out,
                         std::int64_t out_stride) {
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
  map_tile(head_problem(problem, g, tables, sequence, range.head, 1), {moved(state.max, row), moved(state.sum, row)},
           own, stage, out + skipped, out_stride);
}

void write_tile_of(const AttentionProblem& problem, const Geometry& g, const ProblemTables& tables,
                   const RowState& state, const TileRange& range, Stage stage, float* out) {
  const std::int64_t stride = range.key_end - range.key_begin;
  for (TileRange part = range; part.row_begin < range.row_end; part.row_begin = part.row_end) {
    const std::size_t sequence = sequence_of_row(g, range.batch, part.row_begin);
    const SequencePlan& s = g.sequences[sequence];
    part.row_end = std::min(range.row_end, s.row_begin + s.rows);
    write_sequence_tile(problem, g, tables, state, part, sequence, stage,
                        out + (part.row_begin - range.row_begin) * stride, stride);
  }
}

// Chosen rows are tiles of one row: the same bits, and no strip of their own.
void write_rows(const AttentionProblem& problem, const Geometry& g, const ProblemTables& tables,
                const Observations& see, int threads) {
  const auto chosen = static_cast<std::int64_t>(see.rows.size());
  cpu::parallel_for(g.batch * g.query_heads * chosen, threads, [&](std::int64_t index) {
    const std::int64_t plane = index / chosen, row = see.rows[index % chosen];
    const TileRange range{plane / g.query_heads, plane % g.query_heads, row, row + 1, 0, g.keys};
    write_tile_of(problem, g, tables, {see.row_max, see.row_sum}, range, Stage::weights,
                  see.row_weights + index * g.keys);
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

  const ProblemTables tables(problem, g);
  const KeyPartitions partitions(g, see);
  run_tasks(tasks_of(problem, g, tables, out, see, partitions), options.threads);
  if (rows) write_rows(problem, g, tables, see, options.threads);
}

void write_tile(const AttentionProblem& problem, const RowState& state, const TileRange& range, Stage stage,
                float* out) {
  const Geometry g = validate(problem);
  check_range(g, range);
  if (range.row_begin == range.row_end || range.key_begin == range.key_end) return;
  if (stage == Stage::weights && (state.max == nullptr || state.sum == nullptr)) {
    throw BadArgument("a tile of weights needs the row state of the pass (row_max and row_sum)");
  }
  write_tile_of(problem, g, ProblemTables(problem, g), state, range, stage, out);
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
