#include "src/attention/row_states.h"

#include <algorithm>

#include "sightline/error.h"
#include "src/attention/task_tiles.h"
#include "src/cpu/target.h"

namespace sightline {

AttentionState::Impl::Impl(const Geometry& g, std::span<const HeadTask> tasks)
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
  }
  tiles.reserve(rows.size());
  // As the workspaces of the pass, so that states are copied whole.
  const bool stacked = std::all_of(rows.begin(), rows.end(), [](const TileRows& tile) { return tile.stacked > 0; });
  const int lanes = stacked ? kChains : kTileRows;
  for (const HeadTask& task : tasks) {
    const HeadSight& sight = task.sight;
    with_out = static_cast<bool>(sight.out);
    top_k = sight.top_k;
    segments = sight.segments;
    measure = sight.measure;
    offsets.assign(sight.offsets.begin(), sight.offsets.end());
    for (std::int64_t i = 0; i < TaskTiles(task.problem).count(); ++i) {
      tiles.emplace_back(task.problem, sight, lanes, std::pmr::new_delete_resource());
    }
  }
}

bool AttentionState::Impl::matches(const Impl& other) const {
  const auto same_rows = [](const Sequence& a, const Sequence& b) {
    return a.rows == b.rows && a.query_position == b.query_position;
  };
  return target == other.target && query_heads == other.query_heads && group == other.group && width == other.width &&
         value_width == other.value_width && with_out == other.with_out && top_k == other.top_k &&
         segments == other.segments && measure == other.measure && offsets == other.offsets &&
         std::equal(sequences.begin(), sequences.end(), other.sequences.begin(), other.sequences.end(), same_rows);
}

void validate_states(const Observations& see, const AttentionOptions& options) {
  if (options.resume == nullptr && options.save == nullptr) return;
  const auto refuse = [](bool wanted, const char* what) {
    if (wanted) {
      throw BadArgument(std::string("not supported: ") + what +
                        " of a pass that is saved or resumed; it needs all keys");
    }
  };
  refuse(see.key_mass != nullptr || see.mass_sums != nullptr, "key mass");
  refuse(see.overview != nullptr, "an overview");
  refuse(see.row_weights != nullptr, "chosen rows");
  if (options.resume != nullptr && options.resume->empty())
    throw BadArgument("there is nothing in the state to resume from");
}

void resume_from(const AttentionState::Impl& resume, AttentionState::Impl& mine, std::span<HeadTask> tasks) {
  if (!mine.matches(resume)) {
    throw BadArgument("the state is one of other queries, or of other observations, than this pass has");
  }
  for (std::size_t s = 0; s < mine.sequences.size(); ++s) {
    const std::int64_t end = resume.sequences[s].key_end;
    const bool more = mine.sequences[s].key_end > mine.sequences[s].key_begin;
    if (mine.sequences[s].key_begin != end || (more && end % kBlockKeys != 0)) {
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
