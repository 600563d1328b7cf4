#ifndef SIGHTLINE_ATTENTION_BACKWARD_DRIVER_H_
#define SIGHTLINE_ATTENTION_BACKWARD_DRIVER_H_

#include <vector>

#include "src/attention/backward_group.h"
#include "src/cpu/parallel.h"

namespace sightline {

struct BackwardWorkers {
  cpu::Workers threads;
  Progress* progress = nullptr;
};

/// Runs the backward pass over all groups of a problem, all alike in widths and in the number of heads. Returns what
/// each head's pairs add to gradients that they share, [groups, heads].
std::vector<BiasSums> run_backward(const std::vector<BackwardGroup>& groups, const BackwardWorkers& workers);

}  // namespace sightline

#endif  // SIGHTLINE_ATTENTION_BACKWARD_DRIVER_H_
