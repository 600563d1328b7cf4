#ifndef SIGHTLINE_ATTENTION_PASS_DRIVER_H_
#define SIGHTLINE_ATTENTION_PASS_DRIVER_H_

#include <cstdint>
#include <vector>

#include "src/attention/head_problem.h"
#include "src/attention/head_sight.h"

namespace sightline {

struct HeadTask {
  HeadProblem problem;
  HeadSight sight;
};

/// Runs all heads of a problem, all alike in sizes and in what is asked for, tile by tile over the threads. keys: of
/// the tensors, which key mass and the overview's bins count, in use or not.
void run_heads(const std::vector<HeadTask>& heads, std::int64_t keys, int threads);

}  // namespace sightline

#endif  // SIGHTLINE_ATTENTION_PASS_DRIVER_H_
