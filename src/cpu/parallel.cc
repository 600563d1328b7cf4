#include "src/cpu/parallel.h"

#include <pthread.h>
#include <sched.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "src/cpu/fp_environment.h"

namespace sightline::cpu {
namespace {

int usable_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  // Fails where the system counts more processors than the set has room for.
  if (sched_getaffinity(0, sizeof set, &set) != 0)
    return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  return std::max(1, CPU_COUNT(&set));
}

#ifdef SIGHTLINE_STD_THREADS
// For ThreadSanitizer, which does not see how Debian's oneTBB orders what threads do.
bool without_tbb() { return true; }
#else
// oneTBB's threads do not outlive a fork, but the locks that they held at that moment do: a child that asked for them
// would wait for ever, now and then. It has threads of its own.
bool without_tbb() {
  static std::atomic<bool> forked{false};
  static const int registered = pthread_atfork(nullptr, nullptr, [] { forked = true; });
  return registered != 0 || forked;
}
#endif

// No more than oneTBB has workers for, as many as there are processors unless the program says otherwise: it would
// complain on stderr.
int most_threads() {
  if (without_tbb()) return INT32_MAX;
  constexpr auto kParameter = tbb::global_control::max_allowed_parallelism;
  return static_cast<int>(std::min<std::size_t>(tbb::global_control::active_value(kParameter), INT32_MAX));
}

// Indexes handed out ascending to whoever asks, and the first exception.
class Queue {
 public:
  Queue(std::int64_t count, const std::function<void(std::int64_t)>& body) : count_(count), body_(body) {}

  // A body of an executor's. One beyond those that it was asked for would find no memory of its own.
  void drain_once_of(int bodies) {
    if (entered_.fetch_add(1, std::memory_order_relaxed) < bodies) drain();
  }

  void drain() {
    ScopedFpEnvironment environment;
    while (!failed_.load(std::memory_order_relaxed)) {
      const std::int64_t index = next_.fetch_add(1, std::memory_order_relaxed);
      if (index >= count_) return;
      try {
        body_(index);
      } catch (...) {
        keep(std::current_exception());
      }
    }
  }

  void rethrow() {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  void keep(std::exception_ptr error) {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = std::move(error);
    failed_ = true;
  }

  const std::int64_t count_;
  const std::function<void(std::int64_t)>& body_;
  std::atomic<std::int64_t> next_{0}, entered_{0};
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  std::exception_ptr error_;
};

// As many threads as can be had: this one does what they leave.
void run_on_threads(int workers, const std::function<void()>& work) {
  std::vector<std::jthread> others;
  try {
    for (int i = 1; i < workers; ++i) others.emplace_back(work);
  } catch (const std::system_error&) {
  }
  work();
}

// Calls work() on so many threads, this one among them, and returns when all are done.
void run_on(int workers, const std::function<void()>& work) {
  if (workers == 1) return work();
  if (without_tbb()) return run_on_threads(workers, work);
  tbb::task_arena arena(workers);
  // Isolated: a body that waits for tasks of its own must not be given another worker's part meanwhile.
  arena.execute([&] {
    tbb::parallel_for(
        0, workers, [&](int) { tbb::this_task_arena::isolate(work); }, tbb::simple_partitioner());
  });
}

}  // namespace

Workers::Workers(int threads, Executor* executor)
    : executor_(executor),
      count_(executor != nullptr ? std::max(1, executor->concurrency())
                                 : std::min(threads > 0 ? threads : usable_processors(), most_threads())) {}

void parallel_for(std::int64_t count, Workers workers, const std::function<void(std::int64_t)>& body) {
  if (count <= 0) return;
  Queue queue(count, body);
  const int bodies = static_cast<int>(std::min<std::int64_t>(workers.count(), count));
  if (Executor* const executor = workers.executor()) {
    executor->run(bodies, [&] { queue.drain_once_of(bodies); });
    queue.drain();  // what an executor that called fewer bodies left
  } else {
    run_on(bodies, [&] { queue.drain(); });
  }
  queue.rethrow();
}

}  // namespace sightline::cpu
