#ifndef SIGHTLINE_SERVE_WORK_QUEUE_H_
#define SIGHTLINE_SERVE_WORK_QUEUE_H_

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace sightline::serve {

/// Threads that take jobs in the order in which they came, and a limit to how many may wait.
class WorkQueue {
 public:
  WorkQueue(int threads, std::size_t limit);
  /// Jobs that wait are dropped; those that run are waited for.
  ~WorkQueue();
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;

  /// False where no thread is free and as many jobs wait as may. A job must not throw.
  bool push(std::function<void()> job);

 private:
  void work();

  const std::size_t limit_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  std::size_t free_ = 0;
  bool ended_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace sightline::serve

#endif  // SIGHTLINE_SERVE_WORK_QUEUE_H_
