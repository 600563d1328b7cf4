#ifndef SIGHTLINE_ATTENTION_PASS_DRIVER_H_
#define SIGHTLINE_ATTENTION_PASS_DRIVER_H_

#include <memory_resource>
#include <span>

#include "src/attention/head_tasks.h"
#include "src/attention/row_states.h"
#include "src/cpu/parallel.h"

namespace sightline {

struct PassOptions {
  cpu::Workers workers;
  Progress* progress = nullptr;
  std::pmr::memory_resource* memory = nullptr;
};

/// What a pass goes on from, and what it leaves; each null where not asked for.
struct PassStates {
  const AttentionState::Impl* resume = nullptr;
  AttentionState::Impl* save = nullptr;
};

/// A pass over tasks that are all alike in sizes but for their rows and keys, and in what is asked for. All memory is
/// taken when it is made, none while it runs.
class Pass {
 public:
  /// tasks and states must outlive the pass.
  Pass(std::span<const HeadTask> tasks, const PassOptions& options, const PassStates& states);
  ~Pass();
  Pass(const Pass&) = delete;
  Pass& operator=(const Pass&) = delete;

  void run();

 private:
  class Impl;
  std::pmr::polymorphic_allocator<> memory_;
  Impl* const impl_;
};

}  // namespace sightline

#endif  // SIGHTLINE_ATTENTION_PASS_DRIVER_H_
