#ifndef SIGHTLINE_CPU_PARALLEL_H_
#define SIGHTLINE_CPU_PARALLEL_H_

#include <cstdint>
#include <functional>

#include "sightline/execution.h"

namespace sightline::cpu {

/// Where the pieces of a call run: on so many threads (0: one a processor of this process's affinity), or on the
/// caller's. How many those are is asked once, when the object is made: memory is taken for as many.
class Workers {
 public:
  Workers(int threads) : Workers(threads, nullptr) {}  // NOLINT(google-explicit-constructor): most have a number
  Workers(int threads, Executor* executor);

  /// How many pieces may run at once; never more do.
  int count() const { return count_; }
  Executor* executor() const { return executor_; }

 private:
  Executor* executor_;
  int count_;
};

/// Calls body(i) for each i in [0, count), each exactly once, on up to so many threads, and returns when all are
/// done. Indexes are handed out ascending: when body(i) starts, body(i - 1) has started. Each body runs with
/// round-to-nearest and denormals honoured whatever the caller's floating-point state, which is restored. The first
/// exception is rethrown once after all started bodies ended; bodies not yet started are then skipped. The one place
/// where threads come from (oneTBB, or the caller).
void parallel_for(std::int64_t count, Workers workers, const std::function<void(std::int64_t)>& body);

/// Calls body() on this thread, with so many threads at hand for each parallel_for() that it calls: they wait awake for
/// the next, so that many short ones, as those of a decoded token, cost a microsecond each instead of the tens that it
/// takes to wake a thread up. Within another with_team(), with one worker or with an executor it is body() alone.
void with_team(Workers workers, const std::function<void()>& body);

}  // namespace sightline::cpu

#endif  // SIGHTLINE_CPU_PARALLEL_H_
