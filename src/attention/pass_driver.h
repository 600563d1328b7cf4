#ifndef SIGHTLINE_ATTENTION_PASS_DRIVER_H_
#define SIGHTLINE_ATTENTION_PASS_DRIVER_H_

#include <cstdint>
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

/// Runs tasks, all alike in sizes but for their rows and keys, and in what is asked for, over the threads.
void run_tasks(const std::vector<HeadTask>& tasks, int threads);

}  // namespace sightline

#endif  // SIGHTLINE_ATTENTION_PASS_DRIVER_H_
