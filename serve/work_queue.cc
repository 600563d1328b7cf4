#include "serve/work_queue.h"

#include <csignal>
#include <utility>

namespace sightline::serve {

WorkQueue::WorkQueue(int threads, std::size_t limit) : limit_(limit), free_(static_cast<std::size_t>(threads)) {
  // Signals go to the thread that waits for them, and to none of these.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

WorkQueue::~WorkQueue() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    jobs_.clear();
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

bool WorkQueue::push(std::function<void()> job) {
  {
    const std::lock_guard lock(mutex_);
    if (ended_ || jobs_.size() >= limit_ + free_) return false;
    jobs_.push_back(std::move(job));
  }
  changed_.notify_one();
  return true;
}

void WorkQueue::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return ended_ || !jobs_.empty(); });
    if (ended_) return;
    std::function<void()> job = std::move(jobs_.front());
    jobs_.pop_front();
    --free_;
    lock.unlock();
    job();
    job = nullptr;
    lock.lock();
    ++free_;
  }
}

}  // namespace sightline::serve
