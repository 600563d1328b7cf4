#ifndef SIGHTLINE_ATTENTION_ROW_STATES_H_
#define SIGHTLINE_ATTENTION_ROW_STATES_H_

#include <string>
#include <vector>

#include "sightline/state.h"
#include "src/attention/head_tasks.h"
#include "src/attention/tile_workspace.h"

namespace sightline {

/// The states of all tiles of rows, and what they are states of.
struct AttentionState::Impl {
  /// Where a sequence's rows stand, and which keys they have seen: positions [key_begin, key_end).
  struct Sequence {
    std::int64_t rows = 0, query_position = 0, key_begin = 0, key_end = 0;

    /// Of both: what lies between counts as seen. One without a key adds nothing.
    Sequence with(const Sequence& other) const;
  };

  std::string target;  // few rows lie as its vectors want them
  std::int64_t query_heads = 0, group = 0, width = 0, value_width = 0;
  const FastProducts* fast = nullptr;  // null: exact
  std::vector<Sequence> sequences;
  bool with_out = false;
  bool with_entropy = false, with_position = false, with_distance = false;  // whether those sums were kept
  int top_k = 0;
  std::int32_t segments = 0;
  Measure measure = Measure::weight;
  std::vector<std::int64_t> offsets;
  std::vector<TileRows> rows;  // by tile, in the order of the pass
  std::vector<std::size_t> sequence_of_tile;
  std::vector<TileState> tiles;

  /// Of a pass over `tasks`; with room for the numbers, or to be compared alone. Throws OutOfMemory.
  Impl(const Geometry& geometry, std::span<const HeadTask> tasks, bool with_numbers);

  /// Whether both are of the same queries, and of observations that lie alike.
  bool matches(const Impl& other) const;
  /// Takes in the keys of `other`, which matches. Throws OutOfMemory, and is then what it was.
  void merge(const Impl& other);

 private:
  void merge_sequences(const Impl& other);
};

/// Throws BadArgument for observations that need all keys at once.
void validate_states(const Observations& see, const AttentionState* resume, const AttentionState* save);

/// Throws BadArgument unless the pass that `mine` describes can go on from `resume`; sets where its keys' indexes
/// begin.
void resume_from(const AttentionState::Impl& resume, AttentionState::Impl& mine, std::span<HeadTask> tasks);

}  // namespace sightline

#endif  // SIGHTLINE_ATTENTION_ROW_STATES_H_
