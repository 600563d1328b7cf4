#include "serve/work_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <memory>
#include <thread>

namespace sightline::serve {
namespace {

TEST(WorkQueue, RunsAllThatItTakes) {
  std::atomic<int> run = 0;
  std::latch done(50);
  WorkQueue queue(3, 50);
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(queue.push([&] {
      ++run;
      done.count_down();
    }));
  }
  done.wait();
  EXPECT_EQ(run, 50);
}

TEST(WorkQueue, RefusesMoreThanMayWait) {
  std::latch begun(2), go(1);
  WorkQueue queue(2, 1);
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(queue.push([&] {
      begun.count_down();
      go.wait();
    }));
  }
  begun.wait();
  EXPECT_TRUE(queue.push([] {}));
  EXPECT_FALSE(queue.push([] {}));
  go.count_down();
}

TEST(WorkQueue, DropsWhatWaitsWhenItEnds) {
  const auto held = std::make_shared<int>(0);
  std::atomic<bool> run = false;
  std::latch begun(1), go(1);
  auto queue = std::make_unique<WorkQueue>(1, 8);
  queue->push([&] {
    begun.count_down();
    go.wait();
  });
  begun.wait();
  for (int i = 0; i < 8; ++i) queue->push([held, &run] { run = true; });
  EXPECT_EQ(held.use_count(), 9);
  std::thread ending([&queue] { queue.reset(); });
  while (held.use_count() > 1) std::this_thread::yield();  // they are dropped while the first still runs
  go.count_down();
  ending.join();
  EXPECT_FALSE(run);
}

}  // namespace
}  // namespace sightline::serve
