#include "src/cpu/parallel.h"

#include <pthread.h>
#include <sched.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "hwy/cache_control.h"
#include "src/cpu/fp_environment.h"

namespace sightline::cpu {
namespace {

class Team;
// The team of the thread that runs with it, while it is not at work: what its bodies call in turn does without.
thread_local Team* idle_team = nullptr;

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
  static const int registered = pthread_atfork(nullptr, nullptr, [] {
    forked = true;
    idle_team = nullptr;  // of threads that there are not
  });
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

// Threads that wait for one parallel_for() after the other of the thread that they help.
class Team {
 public:
  explicit Team(int size) : size_(size) {}

  int size() const { return size_; }

  void help() {
    for (int seen = 0; !ended_.load();) {
      const int round = next_round(seen);
      if (round == seen) continue;
      seen = round;
      // Counted before the queue is looked at: whoever takes the queue away waits for those that may have seen it.
      inside_.fetch_add(1);
      if (Offer* const offer = offer_.load()) offer->queue.drain_once_of(offer->helpers);
      inside_.fetch_sub(1);
    }
  }

  // With up to `bodies` threads, this one among them.
  void run(Queue& queue, int bodies) {
    Offer offer{queue, bodies - 1};
    offer_ = &offer;
    announce();
    queue.drain();
    offer_ = nullptr;
    for (int spins = 0; inside_.load() > 0;) rest(spins);
  }

  void end() {
    ended_ = true;
    announce();
  }

 private:
  struct Offer {
    Queue& queue;
    int helpers;
  };
  // Some 0.2 ms: longer than what a decoder does between two products, or between two tokens. To be woken takes 50 us
  // where nothing else runs, and milliseconds where a processor has to be taken from another program.
  static constexpr int kSpins = 1 << 14;

  static void rest(int& spins) { ++spins < kSpins ? hwy::Pause() : std::this_thread::yield(); }

  int next_round(int seen) const {
    for (int spins = 0; spins < kSpins; ++spins) {
      const int round = round_.load(std::memory_order_acquire);
      if (round != seen) return round;
      hwy::Pause();
    }
    round_.wait(seen);
    return round_.load();
  }

  void announce() {
    round_.fetch_add(1);
    round_.notify_all();
  }

  const int size_;
  std::atomic<int> round_{0}, inside_{0};
  std::atomic<Offer*> offer_{nullptr};
  std::atomic<bool> ended_{false};
};

class TakenTeam {
 public:
  explicit TakenTeam(Team* next) : before_(std::exchange(idle_team, next)) {}
  ~TakenTeam() { idle_team = before_; }
  TakenTeam(const TakenTeam&) = delete;
  TakenTeam& operator=(const TakenTeam&) = delete;

  Team* operator->() const { return before_; }
  explicit operator bool() const { return before_ != nullptr; }

 private:
  Team* const before_;
};

// Tells a team's threads to end, whatever comes of what it was for: who waits for them waits after that.
class TeamEnd {
 public:
  explicit TeamEnd(Team& team) : team_(team) {}
  ~TeamEnd() { team_.end(); }
  TeamEnd(const TeamEnd&) = delete;
  TeamEnd& operator=(const TeamEnd&) = delete;

 private:
  Team& team_;
};

void lead(Team& team, const std::function<void()>& body) {
  const TakenTeam outer(&team);
  body();
}

void lead_threads(Team& team, const std::function<void()>& body) {
  std::vector<std::jthread> helpers;
  const TeamEnd end(team);
  try {
    for (int i = 1; i < team.size(); ++i) helpers.emplace_back([&] { team.help(); });
  } catch (const std::system_error&) {  // as many as can be had
  }
  lead(team, body);
}

void lead_tasks(Team& team, const std::function<void()>& body) {
  tbb::task_group helpers;
  std::exception_ptr error;
  try {
    const TeamEnd end(team);
    for (int i = 1; i < team.size(); ++i) helpers.run([&] { team.help(); });
    // Isolated: tasks of the body's own, or of a caller that it calls back, must not take up a helper's part.
    tbb::this_task_arena::isolate([&] { lead(team, body); });
  } catch (...) {
    error = std::current_exception();
  }
  helpers.wait();
  if (error) std::rethrow_exception(error);
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
  } else if (const TakenTeam team(bodies > 1 ? nullptr : idle_team); bodies > 1 && team) {
    team->run(queue, std::min(bodies, team->size()));
  } else {
    run_on(bodies, [&] { queue.drain(); });
  }
  queue.rethrow();
}

void with_team(Workers workers, const std::function<void()>& body) {
  const int size = workers.count();
  if (size == 1 || workers.executor() != nullptr || idle_team != nullptr) return body();
  Team team(size);
  if (without_tbb()) return lead_threads(team, body);
  tbb::task_arena arena(size);
  arena.execute([&] { lead_tasks(team, body); });
}

}  // namespace sightline::cpu
