#include "bench/fma_peak.h"

#include <algorithm>
#include <cstdint>
#include <ctime>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/fma_peak.cc"
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

#include "src/cpu/dispatch.h"
#include "src/cpu/target.h"

namespace sightline {
namespace {

HWY_EXPORT(fma_rounds);

// Operations a second over one slice.
double slice_rate(std::int64_t rounds, double* seconds) {
  double operations = 0;
  const double start = sightline_process_seconds();
  volatile double kept = SIGHTLINE_DISPATCH(fma_rounds)(rounds, &operations);
  static_cast<void>(kept);
  *seconds = sightline_process_seconds() - start;
  return static_cast<double>(rounds) * operations / *seconds;
}

}  // namespace
}  // namespace sightline

double sightline_process_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double sightline_fma_peak(double seconds) {
  sightline::cpu::ensure_target();
  double slice = 0, best = 0;
  std::int64_t rounds = 1 << 10;
  for (; slice < 2e-3; rounds *= 2) best = sightline::slice_rate(rounds, &slice);
  for (double spent = 0; spent < seconds; spent += slice)
    best = std::max(best, sightline::slice_rate(rounds / 2, &slice));
  return best;
}

#endif  // HWY_ONCE
