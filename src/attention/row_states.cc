#include "src/attention/row_states.h"

#include <algorithm>

#include "sightline/error.h"
#include "src/attention/kernel.h"
#include "src/attention/task_tiles.h"
#include "src/cpu/target.h"

namespace sightline {

AttentionState::Impl::Impl(const Geometry& g, std::span<const HeadTask> tasks, bool with_numbers)
    : target(cpu::chosen_target()),
      query_heads(g.query_heads),
      group(g.group()),
      width(g.width),
      value_width(g.value_width) {
  for (const SequencePlan& s : g.sequences) {
    sequences.push_back({s.rows, s.query_position, s.key_position, s.key_position + s.key_count});
  }
  for (const HeadTask& task : tasks) {
    const TaskTiles of_task(task.problem);
    for (std::int64_t i = 0; i < of_task.count(); ++i) rows.push_back(of_task.at(i));
    sequence_of_tile.resize(rows.size(), static_cast<std::size_t>(task.problem.batch));
  }
  if (with_numbers) tiles.reserve(rows.size());
  // As the workspaces of the pass, so that states are copied whole.
  const bool stacked = std::all_of(rows.begin(), rows.end(), [](const TileRows& tile) { return tile.stacked > 0; });
  const int lanes = stacked ? kChains : kTileRows;
  for (const HeadTask& task : tasks) {
    const HeadSight& sight = task.sight;
    fast = task.problem.fast;
    with_out = static_cast<bool>(sight.out);
    with_entropy = sight.wants_entropy();
    with_distance = sight.distance != nullptr;
    with_position = sight.position != nullptr || with_distance;
    top_k = sight.top_k;
    segments = sight.segments;
    measure = sight.measure;
    offsets.assign(sight.offsets.begin(), sight.offsets.end());
    for (std::int64_t i = 0; with_numbers && i < TaskTiles(task.problem).count(); ++i) {
      tiles.emplace_back(task.problem, sight, lanes, std::pmr::new_delete_resource());
    }
  }
}

bool AttentionState::Impl::matches(const Impl& other) const {
  const auto same_rows = [](const Sequence& a, const Sequence& b) {
    return a.rows == b.rows && a.query_position == b.query_position;
  };
  return target == other.target && fast == other.fast && query_heads == other.query_heads && group == other.group &&
         width == other.width && value_width == other.value_width && with_out == other.with_out &&
         top_k == other.top_k && segments == other.segments && measure == other.measure && offsets == other.offsets &&
         std::equal(sequences.begin(), sequences.end(), other.sequences.begin(), other.sequences.end(), same_rows);
}

namespace {

// What merging asks of a problem: sizes, and no tensor.
HeadTask shape_of(const AttentionState::Impl& state) {
  HeadTask task;
  task.problem.width = state.width;
  task.problem.value_width = state.value_width;
  static std::byte written{};
  if (state.with_out) task.sight.out.data = &written;
  task.sight.top_k = state.top_k;
  task.sight.segments = state.segments;
  task.sight.measure = state.measure;
  task.sight.offsets = state.offsets;
  return task;
}

void move_indexes(TileState& tile, std::int64_t by) {
  for (std::int32_t& index : tile.topk_index) {
    if (index >= 0) index += static_cast<std::int32_t>(by);  // else the place is empty
  }
}

}  // namespace

void AttentionState::Impl::merge(const Impl& other) {
  if (tiles.empty()) return merge_sequences(other);
  const HeadTask shape = shape_of(*this);
  std::pmr::memory_resource* memory = std::pmr::new_delete_resource();
  TileState theirs(shape.problem, shape.sight, tiles[0].lanes, memory);
  TileWorkspace scratch(shape.problem, shape.sight, {theirs.lanes, 0, 0}, memory);
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    const Sequence &mine = sequences[sequence_of_tile[i]], &its = other.sequences[sequence_of_tile[i]];
    const std::int64_t first = mine.with(its).key_begin;
    theirs.copy(other.tiles[i]);
    move_indexes(theirs, its.key_begin - first);
    move_indexes(tiles[i], mine.key_begin - first);
    // In the order of the keys, which decides between equal scores, and so that both ways to merge give the same bits.
    if (its.key_begin < mine.key_begin) {
      merge_tile(shape.problem, shape.sight, rows[i], tiles[i], theirs, scratch);
      tiles[i].copy(theirs);
    } else {
      merge_tile(shape.problem, shape.sight, rows[i], theirs, tiles[i], scratch);
    }
  }
  merge_sequences(other);
}

void AttentionState::Impl::merge_sequences(const Impl& other) {
  for (std::size_t s = 0; s < sequences.size(); ++s) sequences[s] = sequences[s].with(other.sequences[s]);
  with_entropy &= other.with_entropy;
  with_position &= other.with_position;
  with_distance &= other.with_distance;
}

AttentionState::Impl::Sequence AttentionState::Impl::Sequence::with(const Sequence& other) const {
  if (other.key_begin == other.key_end) return *this;
  if (key_begin == key_end) return other;
  return {rows, query_position, std::min(key_begin, other.key_begin), std::max(key_end, other.key_end)};
}

void validate_states(const Observations& see, const AttentionState* resume, const AttentionState* save) {
  if (resume == nullptr && save == nullptr) return;
  const auto refuse = [](bool wanted, const char* what) {
    if (wanted) {
      throw BadArgument(std::string("not supported: ") + what +
                        " of a pass that is saved or resumed; it needs all keys");
    }
  };
  refuse(see.key_mass != nullptr || see.mass_sums != nullptr, "key mass");
  refuse(see.overview != nullptr, "an overview");
  refuse(see.row_weights != nullptr, "chosen rows");
}

void resume_from(const AttentionState::Impl& resume, AttentionState::Impl& mine, std::span<HeadTask> tasks) {
  if (!mine.matches(resume)) {
    throw BadArgument("the state is one of other queries, another precision, or other observations than this pass has");
  }
  const auto kept = [](bool asked, bool there, const char* what) {
    if (asked && !there) throw BadArgument(std::string(what) + " is asked for, but the saved pass did not observe it");
  };
  kept(mine.with_entropy, resume.with_entropy, "entropy");
  kept(mine.with_distance, resume.with_distance, "distance");
  kept(mine.with_position, resume.with_position, "position");
  for (std::size_t s = 0; s < mine.sequences.size(); ++s) {
    const std::int64_t end = resume.sequences[s].key_end;
    const bool seen = end > resume.sequences[s].key_begin,
               more = mine.sequences[s].key_end > mine.sequences[s].key_begin;
    if (mine.sequences[s].key_begin != end || (seen && more && end % kBlockKeys != 0)) {
      throw BadArgument("sequence " + std::to_string(s) + " goes on at position " +
                        std::to_string(mine.sequences[s].key_begin) + ", but the saved pass ended at " +
                        std::to_string(end) + "; passes meet at a multiple of 64");
    }
    mine.sequences[s].key_begin = resume.sequences[s].key_begin;
  }
  for (HeadTask& task : tasks) {
    const auto sequence = static_cast<std::size_t>(task.problem.batch);
    task.problem.index_origin = task.problem.key_position - resume.sequences[sequence].key_begin;
  }
}

}  // namespace sightline
