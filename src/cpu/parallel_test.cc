#include "src/cpu/parallel.h"

#include <sys/wait.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cfenv>
#include <chrono>
#include <cmath>
#include <functional>
#include <limits>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "src/cpu/fp_environment.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace sightline::cpu {
namespace {

TEST(ParallelFor, VisitsEachIndexOnce) {
  for (const int threads : {0, 1, 2, 7}) {
    std::vector<std::atomic<int>> visits(1000);
    parallel_for(1000, threads, [&](std::int64_t i) { ++visits[static_cast<std::size_t>(i)]; });
    for (const auto& count : visits) EXPECT_EQ(count, 1);
  }
  parallel_for(0, 2, [](std::int64_t) { FAIL() << "nothing to visit"; });
}

TEST(ParallelFor, StartsIndexesInAscendingOrder) {
  std::atomic<std::int64_t> started{0};
  std::atomic<bool> ascending{true};
  parallel_for(2000, 2, [&](std::int64_t i) {
    // All before have been handed out; the other thread's may be a few instructions from counting itself.
    if (started++ < i - 1) ascending = false;
  });
  EXPECT_TRUE(ascending);
}

TEST(ParallelFor, MayHaveMoreThreadsThanProcessors) {
  const tbb::global_control more(tbb::global_control::max_allowed_parallelism, 5);
  std::atomic<int> inside{0}, met{0};
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  // Each body waits until all five have begun, which takes five threads.
  parallel_for(5, 5, [&](std::int64_t) {
    for (++inside; inside < 5 && std::chrono::steady_clock::now() < deadline;) std::this_thread::yield();
    met += inside == 5 && std::chrono::steady_clock::now() < deadline;
  });
  EXPECT_EQ(met, 5);
}

TEST(WithTeam, VisitsEachIndexOnceInLoopAfterLoop) {
  for (const int threads : {0, 1, 2, 3}) {
    std::vector<std::atomic<int>> visits(50);
    with_team(threads, [&] {
      for (int loop = 0; loop < 5000; ++loop) {
        const std::int64_t count = 1 + loop % 50;
        parallel_for(count, threads, [&](std::int64_t i) { ++visits[static_cast<std::size_t>(i)]; });
        // All are done when it returns.
        if (loop % 50 == 49) {
          ASSERT_EQ(visits[0], loop + 1);
        }
      }
    });
    for (std::size_t i = 0; i < visits.size(); ++i) EXPECT_EQ(visits[i], 100 * (50 - static_cast<int>(i)));
  }
}

TEST(WithTeam, HelpsEachLoopAlsoAfterAPause) {
  const tbb::global_control more(tbb::global_control::max_allowed_parallelism, 3);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  with_team(3, [&] {
    for (const int pause : {0, 20, 0}) {
      std::this_thread::sleep_for(std::chrono::milliseconds(pause));
      // Each body waits until all three have begun, which takes three threads.
      std::atomic<int> inside{0};
      parallel_for(3, 3, [&](std::int64_t) {
        for (++inside; inside < 3 && std::chrono::steady_clock::now() < deadline;) std::this_thread::yield();
      });
    }
  });
  EXPECT_LT(std::chrono::steady_clock::now(), deadline);
}

TEST(WithTeam, NeverRunsMoreBodiesThanWorkers) {
  const tbb::global_control more(tbb::global_control::max_allowed_parallelism, 4);
  std::atomic<int> inside{0}, most{0};
  with_team(4, [&] {
    for (int loop = 0; loop < 200; ++loop) {
      parallel_for(20, 2, [&](std::int64_t) {
        const int now = ++inside;
        for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) continue;
        std::this_thread::yield();
        --inside;
      });
    }
  });
  EXPECT_LE(most, 2);
}

TEST(WithTeam, TakesLoopsWithinLoopsAndTeamsWithinTeams) {
  std::atomic<int> visits{0};
  with_team(2, [&] {
    with_team(2, [&] {
      parallel_for(8, 2, [&](std::int64_t) { parallel_for(8, 2, [&](std::int64_t) { ++visits; }); });
      parallel_for(1, 2, [&](std::int64_t) { parallel_for(8, 2, [&](std::int64_t) { ++visits; }); });
    });
  });
  EXPECT_EQ(visits, 72);
}

TEST(WithTeam, EndsWithTheBodysException) {
  const auto in_loop = [](std::int64_t i) {
    if (i == 3) throw std::runtime_error("three");
  };
  EXPECT_THROW(with_team(2, [&] { parallel_for(8, 2, in_loop); }), std::runtime_error);
  EXPECT_THROW(with_team(2, [] { throw std::runtime_error("outside"); }), std::runtime_error);
  std::atomic<int> visits{0};  // and there are threads for the next
  with_team(2, [&] { parallel_for(8, 2, [&](std::int64_t) { ++visits; }); });
  EXPECT_EQ(visits, 8);
}

#ifndef SIGHTLINE_STD_THREADS  // for TSan, which does not see into oneTBB
TEST(WithTeam, LeavesItsHelpersAloneWhenTheBodyHasTasksOfItsOwn) {
  std::atomic<int> visits{0};
  for (int team = 0; team < 50; ++team) {
    with_team(2, [&] { tbb::parallel_for(0, 100, [&](int) { ++visits; }); });
  }
  EXPECT_EQ(visits, 5000);
}

// Called from tasks of a program's own, of which some throw: what is under way in the others is done to its end, or
// throws, too.
TEST(WithTeam, WorksInTasksOfACancelledGroup) {
  for (int repeat = 0; repeat < 20; ++repeat) {
    std::atomic<int> begun{0}, whole{0}, thrown{0};
    const auto task = [&](int i) {
      ++begun;
      std::atomic<int> visits{0};
      const auto visit = [&](std::int64_t) { ++visits; };
      with_team(2, [&] {
        parallel_for(50, 2, visit);
        if (i % 3 == 0) {
          ++thrown;
          throw std::runtime_error("a task");
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        parallel_for(50, 2, visit);
      });
      parallel_for(50, 2, visit);
      whole += visits == 150;
    };
    EXPECT_THROW(tbb::parallel_for(0, 12, task), std::runtime_error);
    EXPECT_EQ(whole + thrown, begun);
  }
}
#endif

// A child of a process has none of its threads, those of a team neither.
TEST(WithTeam, DoesWithoutInAChildOfItsProcess) {
#if defined(__aarch64__)
  GTEST_SKIP() << "qemu-user, under which these tests run, cannot fork a process with threads";
#endif
  with_team(2, [&] {
    std::atomic<int> visits{0};
    const auto visit = [&](std::int64_t) { ++visits; };
    for (int child = 0; child < 100; ++child) {
      parallel_for(4, 2, visit);  // whose helper may not have gone to wait yet
      const pid_t id = fork();
      if (id == 0) {
        alarm(20);
        visits = 0;
        parallel_for(8, 2, visit);
        _exit(visits == 8 ? 0 : 1);
      }
      int status = -1;
      ASSERT_EQ(waitpid(id, &status, 0), id);
      ASSERT_EQ(status, 0) << "child " << child;
    }
  });
}

TEST(ParallelFor, RethrowsOneExceptionAndSkipsTheRest) {
  std::atomic<int> bodies{0};
  const auto run = [&] {
    parallel_for(100000, 2, [&](std::int64_t i) {
      ++bodies;
      if (i >= 10) throw std::runtime_error("body " + std::to_string(i));
    });
  };
  EXPECT_THROW(run(), std::runtime_error);
  EXPECT_LT(bodies, 1000);
}

TEST(ParallelFor, BodiesRoundToNearestWithDenormals) {
  std::fesetround(FE_UPWARD);
#if defined(__x86_64__)
  const unsigned before = _mm_getcsr();
  _mm_setcsr(before | 0x8040);  // FTZ and DAZ
#endif
  std::mutex mutex;
  std::set<float> sums, halves;
  parallel_for(64, 2, [&](std::int64_t) {
    volatile float one = 1.0f, tiny = std::numeric_limits<float>::min();
    const std::lock_guard lock(mutex);
    sums.insert(one + std::numeric_limits<float>::epsilon() / 4);
    halves.insert(tiny * 0.5f);
  });
  EXPECT_EQ(sums, std::set<float>{1.0f});
  EXPECT_EQ(halves, std::set<float>{std::numeric_limits<float>::min() * 0.5f});
#if defined(__x86_64__)
  EXPECT_EQ(_mm_getcsr() & 0xe040u, (before | 0x8040u) & 0xe040u) << "the caller's state is back";
  _mm_setcsr(before);
#endif
  EXPECT_EQ(std::fegetround(), FE_UPWARD);
  std::fesetround(FE_TONEAREST);
}

// Threads of the caller's, started late and in no order, or never.
class Threads final : public Executor {
 public:
  explicit Threads(int concurrency, int skipped = 0, int extra = 0)
      : concurrency_(concurrency), skipped_(skipped), extra_(extra) {}

  int concurrency() const override {
    ++asked_;
    return concurrency_;
  }
  void run(int count, const std::function<void()>& body) override {
    largest_count_ = std::max<int>(largest_count_, count);
    std::vector<std::jthread> threads;
    for (int i = 0; i < count - skipped_ + extra_; ++i) {
      threads.emplace_back([&body, delay = (3 * i) % 4] {
        std::this_thread::sleep_for(std::chrono::milliseconds(delay));
        body();
      });
    }
  }
  int largest_count() const { return largest_count_; }
  int asked() const { return asked_; }

 private:
  const int concurrency_, skipped_, extra_;
  std::atomic<int> largest_count_{0};
  mutable std::atomic<int> asked_{0};
};

TEST(ParallelFor, VisitsEachIndexOnceOnAnExecutor) {
  for (const int concurrency : {-3, 0, 1, 2, 5, 2000}) {
    for (const int skipped : {0, 1, 5}) {
      Threads threads(concurrency, std::min(skipped, std::max(1, concurrency)));
      std::vector<std::atomic<int>> visits(100);
      parallel_for(100, {1, &threads}, [&](std::int64_t i) { ++visits[static_cast<std::size_t>(i)]; });
      for (const auto& count : visits) EXPECT_EQ(count, 1);
      EXPECT_EQ(threads.largest_count(), std::clamp(concurrency, 1, 100));
      EXPECT_EQ(threads.asked(), 1) << "what it says may change; memory is taken for what it said";
    }
  }
}

// An executor that calls too often finds no more bodies at work than it said.
TEST(ParallelFor, LetsNoMoreBodiesInThanThereIsMemoryFor) {
  Threads threads(2, 0, 6);
  std::atomic<int> inside{0}, most{0};
  parallel_for(200, {0, &threads}, [&](std::int64_t) {
    const int now = ++inside;
    for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) continue;
    std::this_thread::sleep_for(std::chrono::microseconds(50));
    --inside;
  });
  EXPECT_LE(most, 2);
}

TEST(ParallelFor, RethrowsOneExceptionOfAnExecutorsThreads) {
  Threads threads(3);
  std::atomic<int> bodies{0};
  const auto run = [&] {
    parallel_for(100000, {0, &threads}, [&](std::int64_t) {
      ++bodies;
      throw std::runtime_error("a body");
    });
  };
  EXPECT_THROW(run(), std::runtime_error);
  EXPECT_LE(bodies, 3);
}

TEST(ParallelFor, RethrowsWhatAnExecutorThrows) {
  class Broken final : public Executor {
    int concurrency() const override { return 2; }
    void run(int, const std::function<void()>&) override { throw std::logic_error("no threads left"); }
  } broken;
  EXPECT_THROW(parallel_for(10, {0, &broken}, [](std::int64_t) {}), std::logic_error);
}

#ifndef SIGHTLINE_STD_THREADS
// A body that waits for tasks of its own must not begin another body meanwhile, on the same thread.
TEST(ParallelFor, ABodyIsNotInterruptedByAnother) {
  const tbb::global_control more(tbb::global_control::max_allowed_parallelism, 4);
  std::atomic<int> interrupted{0};
  for (int n = 0; n < 50; ++n) {
    parallel_for(64, 4, [&](std::int64_t) {
      thread_local int depth = 0;
      interrupted += ++depth > 1;
      tbb::parallel_for(0, 16, [](int) { std::this_thread::sleep_for(std::chrono::microseconds(20)); });
      --depth;
    });
  }
  EXPECT_EQ(interrupted, 0);
}
#endif

}  // namespace
}  // namespace sightline::cpu
