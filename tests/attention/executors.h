#ifndef SIGHTLINE_TESTS_ATTENTION_EXECUTORS_H_
#define SIGHTLINE_TESTS_ATTENTION_EXECUTORS_H_

#include <algorithm>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include "sightline/execution.h"

namespace sightline::testing {

/// Threads of the caller's that start late and in no order; some are never started.
class LateThreads final : public Executor {
 public:
  explicit LateThreads(int concurrency, int missing = 0) : concurrency_(concurrency), missing_(missing) {}

  int concurrency() const override { return concurrency_; }
  void run(int count, const std::function<void()>& body) override {
    std::vector<std::jthread> threads;
    for (int i = 0; i < std::max(0, count - missing_); ++i) {
      threads.emplace_back([&body, delay = 7 * (i + 1) % 5] {
        std::this_thread::sleep_for(std::chrono::microseconds(50 * delay));
        body();
      });
    }
  }

 private:
  const int concurrency_, missing_;
};

/// Bodies one after the other on the calling thread.
class OneAfterTheOther final : public Executor {
 public:
  int concurrency() const override { return 4; }
  void run(int count, const std::function<void()>& body) override {
    for (int i = 0; i < count; ++i) body();
  }
};

}  // namespace sightline::testing

#endif  // SIGHTLINE_TESTS_ATTENTION_EXECUTORS_H_
