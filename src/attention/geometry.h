#ifndef SIGHTLINE_ATTENTION_GEOMETRY_H_
#define SIGHTLINE_ATTENTION_GEOMETRY_H_

#include <cstdint>
#include <memory_resource>
#include <vector>

#include "sightline/attention.h"

namespace sightline {

inline constexpr std::int64_t kMaxWidth = 1024;

/// Where one sequence's keys and queries lie and stand, defaults resolved.
struct SequencePlan {
  std::int64_t batch = 0;                // of the tensors
  std::int64_t row_begin = 0, rows = 0;  // within the batch's queries: all of them unless sequences are packed
  std::int64_t key_begin = 0, keys = 0;  // likewise, in use or not
  std::int64_t key_count = 0;            // in use
  std::int64_t key_position = 0;
  std::int64_t query_position = 0;

  bool operator==(const SequencePlan&) const = default;
};

/// A validated problem: the sizes, and the defaults filled in.
struct Geometry {
  std::int64_t batch = 0;
  std::int64_t query_heads = 0, kv_heads = 0;
  std::int64_t queries = 0, keys = 0;
  std::int64_t width = 0, value_width = 0;  // D, Dv
  float scale = 0;
  bool packed_queries = false, packed_keys = false;
  int kinds = 0;                             // a bit for each optional part that the problem has
  std::pmr::vector<SequencePlan> sequences;  // [batch], or those that are packed

  explicit Geometry(std::pmr::memory_resource* memory) : sequences(memory) {}

  std::int64_t group() const { return kv_heads == 0 ? 1 : query_heads / kv_heads; }
  /// Where a sequence's arrays over rows, [.., rows], begin for a head, in rows.
  std::int64_t first_row(std::size_t sequence, std::int64_t head) const {
    const SequencePlan& s = sequences[sequence];
    return (s.batch * query_heads + head) * queries + s.row_begin;
  }
  /// The same for arrays over keys, [.., keys].
  std::int64_t first_key(std::size_t sequence, std::int64_t head) const {
    const SequencePlan& s = sequences[sequence];
    const std::int64_t plane = packed_keys ? 0 : static_cast<std::int64_t>(sequence);
    return (plane * query_heads + head) * keys + s.key_begin;
  }
  /// Planes of arrays over keys: of packed queries with keys in pages, one for each sequence.
  std::int64_t key_planes() const { return packed_keys ? 1 : static_cast<std::int64_t>(sequences.size()); }
};

/// Throws BadArgument: shapes that do not fit, and by name ("not supported: ...") what no kernel does.
Geometry validate(const AttentionProblem& problem, std::pmr::memory_resource* memory = std::pmr::new_delete_resource());
/// Whether two problems have the same sizes, sequences and kinds of masks.
bool same_geometry(const Geometry& a, const Geometry& b);
void validate_output(const Geometry& geometry, const MutableTensorView& out);
void validate_observations(const Geometry& geometry, const Observations& see);

}  // namespace sightline

#endif  // SIGHTLINE_ATTENTION_GEOMETRY_H_
