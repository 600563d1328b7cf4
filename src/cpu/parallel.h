#ifndef SIGHTLINE_CPU_PARALLEL_H_
#define SIGHTLINE_CPU_PARALLEL_H_

#include <cstdint>
#include <functional>

namespace sightline::cpu {

/// Threads that a request of `threads` means (0: one a processor of this process's affinity).
int resolve_threads(int threads);

/// Calls body(i) for each i in [0, count), each exactly once, on up to `threads` threads, and returns when all are
/// done. Indexes are handed out ascending: when body(i) starts, body(i - 1) has started. Each body runs with
/// round-to-nearest and denormals honoured whatever the caller's floating-point state, which is restored. The first
/// exception is rethrown once after all started bodies ended; bodies not yet started are then skipped. The one place
/// where threads come from (oneTBB).
void parallel_for(std::int64_t count, int threads, const std::function<void(std::int64_t)>& body);

}  // namespace sightline::cpu

#endif  // SIGHTLINE_CPU_PARALLEL_H_
