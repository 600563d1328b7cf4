#include "src/cpu/parallel.h"

#include <tbb/global_control.h>

#include <atomic>
#include <cfenv>
#include <chrono>
#include <cmath>
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

}  // namespace
}  // namespace sightline::cpu
