#include "src/attention/head_tasks.h"

#include <algorithm>
#include <span>

#include "sightline/error.h"

namespace sightline {
namespace {

template <class T>
T* moved(T* array, std::int64_t by) {
  return array == nullptr ? nullptr : array + by;
}

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
    s.overview_step = see.overview_step;
    s.bin_parts = &partitions.bins[sequence];
    const std::int64_t plane = static_cast<std::int64_t>(sequence) * g.query_heads + head;
    s.overview = see.overview + plane * see.overview_rows * see.overview_cols;
  }
  return s;
}

// Of numbers of keys, those of keys that aren't padding.
std::span<const std::int32_t> from_position_0(const SequencePlan& plan, std::span<const std::int32_t> keys) {
  return keys.subspan(static_cast<std::size_t>(std::clamp<std::int64_t>(-plan.key_position, 0, plan.key_count)));
}

}  // namespace

KeyPartitions::KeyPartitions(const Geometry& g, const Observations& see, std::pmr::memory_resource* memory)
    : segments(memory),
      bins(memory),
      segment_count(see.segment_mass != nullptr ? see.segments : 0),
      bin_count(see.overview != nullptr ? see.overview_cols : 0),
      bin_step(see.overview_step) {
  const bool shared = static_cast<std::int64_t>(see.segment_of_key.size()) == g.keys && !g.packed_keys;
  if (see.segment_mass != nullptr) segments.reserve(g.sequences.size());
  if (see.overview != nullptr) bins.reserve(g.sequences.size());
  for (std::size_t s = 0; s < g.sequences.size(); ++s) {
    const SequencePlan& plan = g.sequences[s];
    if (see.segment_mass != nullptr) {
      const std::int64_t first = shared ? 0 : g.packed_keys ? plan.key_begin : static_cast<std::int64_t>(s) * g.keys;
      segments.emplace_back(from_position_0(plan, see.segment_of_key.subspan(first, plan.key_count)),
                            std::max<std::int64_t>(0, plan.key_position), memory);
    }
    if (see.overview != nullptr) {
      const auto bin_of_key = column_bins({plan.keys, see.overview_cols, see.overview_step}, memory);
      bins.emplace_back(from_position_0(plan, std::span(bin_of_key).first(plan.key_count)),
                        std::max<std::int64_t>(0, plan.key_position), memory);
    }
  }
}

std::pmr::vector<HeadTask> head_tasks(const AttentionProblem& problem, const Prepared& prepared,
                                      const MutableTensorView& out, const Observations& see,
                                      std::pmr::memory_resource* memory) {
  const Geometry& g = prepared.geometry;
  if ((see.segment_mass != nullptr && see.segments != prepared.partitions.segment_count) ||
      (see.overview != nullptr &&
       (see.overview_cols != prepared.partitions.bin_count || see.overview_step != prepared.partitions.bin_step))) {
    throw BadArgument("the plan was made for other segments of keys, or another overview");
  }
  std::pmr::vector<HeadTask> tasks(memory);
  tasks.reserve(g.sequences.size() * static_cast<std::size_t>(g.query_heads));
  for (std::size_t sequence = 0; sequence < g.sequences.size(); ++sequence) {
    const std::int64_t heads = stacks_rows(g.sequences[sequence].rows) ? g.group() : 1;
    for (std::int64_t head = 0; head < g.query_heads; head += heads) {
      tasks.push_back({head_problem(problem, g, prepared.tables, sequence, head, heads),
                       head_sight(g, out, see, prepared.partitions, sequence, head)});
    }
  }
  return tasks;
}

}  // namespace sightline
