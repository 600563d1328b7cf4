#ifndef SIGHTLINE_ATTENTION_HEAD_TASKS_H_
#define SIGHTLINE_ATTENTION_HEAD_TASKS_H_

#include <memory_resource>
#include <vector>

#include "src/attention/head_problem.h"
#include "src/attention/head_sight.h"

namespace sightline {

/// Heads of up to so many rows are stacked: the query heads that share keys lie side by side in the lanes, and each of
/// a head's rows has a sub-chain of its own.
inline constexpr std::int64_t kMaxStackedRows = kChains;
inline bool stacks_rows(std::int64_t rows) { return rows <= kMaxStackedRows; }

/// A head, or all heads of a key/value head if their rows are stacked.
struct HeadTask {
  HeadProblem problem;
  HeadSight sight;
};

/// The partitions of the keys that are observed, one of each for a sequence.
struct KeyPartitions {
  std::pmr::vector<SegmentParts> segments, bins;
  std::int32_t segment_count = 0;
  std::int64_t bin_count = 0, bin_step = 0;

  KeyPartitions(const Geometry& geometry, const Observations& see, std::pmr::memory_resource* memory);
};

/// A validated problem, with what can be worked out before the numbers are there.
struct Prepared {
  Geometry geometry;
  ProblemTables tables;
  KeyPartitions partitions;

  /// Throws BadArgument.
  Prepared(const AttentionProblem& problem, const Observations& see, Precision precision,
           std::pmr::memory_resource* memory)
      : geometry(validate(problem, memory)),
        tables(problem, geometry, memory),
        partitions((validate_observations(geometry, see), geometry), see, memory) {
    tables.fast = products_of(precision);
  }
};

/// All heads of a problem. `prepared` must outlive them.
std::pmr::vector<HeadTask> head_tasks(const AttentionProblem& problem, const Prepared& prepared,
                                      const MutableTensorView& out, const Observations& see,
                                      std::pmr::memory_resource* memory);

}  // namespace sightline

#endif  // SIGHTLINE_ATTENTION_HEAD_TASKS_H_
