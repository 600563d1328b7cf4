#ifndef SIGHTLINE_ATTENTION_GEOMETRY_H_
#define SIGHTLINE_ATTENTION_GEOMETRY_H_

#include <cstdint>
#include <vector>

#include "sightline/attention.h"

namespace sightline {

/// Where one sequence's keys and queries stand, defaults resolved.
struct SequencePlan {
  std::int64_t key_count = 0;
  std::int64_t key_position = 0;
  std::int64_t query_position = 0;
};

/// A validated problem: the sizes, and the defaults filled in.
struct Geometry {
  std::int64_t batch = 0;
  std::int64_t query_heads = 0, kv_heads = 0;
  std::int64_t queries = 0, keys = 0;
  std::int64_t width = 0, value_width = 0;  // D, Dv
  float scale = 0;
  std::vector<SequencePlan> sequences;  // [batch]

  std::int64_t kv_head(std::int64_t query_head) const { return query_head / (query_heads / kv_heads); }
};

/// Throws BadArgument: shapes that do not fit, and by name ("not supported: ...") what no kernel does.
Geometry validate(const AttentionProblem& problem);
void validate_output(const Geometry& geometry, const MutableTensorView& out);
void validate_observations(const Geometry& geometry, const Observations& see);

}  // namespace sightline

#endif  // SIGHTLINE_ATTENTION_GEOMETRY_H_
