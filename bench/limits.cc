#include "bench/limits.h"

#include <algorithm>
#include <cstdint>
#include <ctime>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/limits.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, which includes this file for each target.
#include "src/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sightline {
namespace HWY_NAMESPACE {

// Chains enough to cover the latency of every machine in sight (two 4-cycle units need 8, NEON's four need 16 at most
// 4 lanes); with two operands they still fit 16 registers.
constexpr int kFmaChains = 12;

// Runs `rounds` rounds of the chains; what it returns keeps them alive. Operations a round go to `*operations`.
double fma_rounds(std::int64_t rounds, double* operations) {
  F chain[kFmaChains];
  for (int i = 0; i < kFmaChains; ++i) chain[i] = splat(1e-3f * static_cast<float>(i + 1));
  const F factor = splat(0.999f), term = splat(1e-9f);
  for (std::int64_t round = 0; round < rounds; ++round) {
    for (int i = 0; i < kFmaChains; ++i) chain[i] = fma(chain[i], factor, term);
  }
  F sum = hn::Zero(kF32);
  for (int i = 0; i < kFmaChains; ++i) sum = hn::Add(sum, chain[i]);
  *operations = 2.0 * kFmaChains * kLanes;
  return hn::GetLane(sum);
}

}  // namespace HWY_NAMESPACE
}  // namespace sightline
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <barrier>
#include <thread>
#include <vector>

#include "src/cpu/dispatch.h"
#include "src/cpu/plain_sum.h"
#include "src/cpu/target.h"

namespace sightline {
namespace {

HWY_EXPORT(fma_rounds);

// The operations of one slice.
double slice(std::int64_t rounds) {
  double operations = 0;
  volatile double kept = SIGHTLINE_DISPATCH(fma_rounds)(rounds, &operations);
  static_cast<void>(kept);
  return static_cast<double>(rounds) * operations;
}

double seconds_of(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double slice_rate(std::int64_t rounds, double* seconds) {
  const double start = sightline_process_seconds();
  const double operations = slice(rounds);
  *seconds = sightline_process_seconds() - start;
  return operations / *seconds;
}

// Rounds that take about `seconds`.
std::int64_t rounds_of(double seconds) {
  double spent = 0;
  std::int64_t rounds = 1 << 10;
  for (; spent < seconds; rounds *= 2) slice_rate(rounds, &spent);
  return rounds / 2;
}

}  // namespace
}  // namespace sightline

double sightline_process_seconds() { return sightline::seconds_of(CLOCK_PROCESS_CPUTIME_ID); }

double sightline_fma_peak(double seconds) {
  sightline::cpu::ensure_target();
  const std::int64_t rounds = sightline::rounds_of(2e-3);
  double taken = 0, best = 0;
  for (double spent = 0; spent < seconds; spent += taken) best = std::max(best, sightline::slice_rate(rounds, &taken));
  return best;
}

// Slices of 5 ms, against which the barriers between them do not count.
double sightline_fma_peak_of_threads(double seconds, int threads) {
  sightline::cpu::ensure_target();
  const std::int64_t rounds = sightline::rounds_of(5e-3);
  const int slices = std::max(1, static_cast<int>(seconds / 5e-3));
  double best = 0, start = 0, operations = 0;
  std::barrier begin(threads, [&]() noexcept { start = sightline::seconds_of(CLOCK_MONOTONIC); });
  std::barrier end(threads, [&]() noexcept {
    best = std::max(best, threads * operations / (sightline::seconds_of(CLOCK_MONOTONIC) - start));
  });
  const auto work = [&](bool first) {
    for (int i = 0; i < slices; ++i) {
      begin.arrive_and_wait();
      const double done = sightline::slice(rounds);
      if (first) operations = done;
      end.arrive_and_wait();
    }
  };
  std::vector<std::jthread> others;
  for (int i = 1; i < threads; ++i) others.emplace_back(work, false);
  work(true);
  return best;
}

uint32_t sightline_plain_sum(const void* data, size_t bytes) { return sightline::cpu::plain_sum(data, bytes); }

#endif  // HWY_ONCE
