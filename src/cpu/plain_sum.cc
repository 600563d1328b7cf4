#include "src/cpu/plain_sum.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/cpu/plain_sum.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, which includes this file for each target.
#include "src/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sightline {
namespace HWY_NAMESPACE {

// Integers, since bits of other types read as fp32 may be denormals, which are slow to add on some machines.
std::uint32_t sum_words(const std::uint32_t* words, std::size_t count) {
  constexpr std::size_t kSums = 8;
  hn::Vec<DU> sums[kSums];
  for (auto& sum : sums) sum = hn::Zero(kU32);
  std::size_t i = 0;
  for (; i + kSums * kLanes <= count; i += kSums * kLanes) {
    for (std::size_t s = 0; s < kSums; ++s) sums[s] = hn::Add(sums[s], hn::LoadU(kU32, words + i + s * kLanes));
  }
  for (std::size_t s = 1; s < kSums; ++s) sums[0] = hn::Add(sums[0], sums[s]);
  std::uint32_t total = hn::GetLane(hn::SumOfLanes(kU32, sums[0]));
  for (; i < count; ++i) total += words[i];
  return total;
}

}  // namespace HWY_NAMESPACE
}  // namespace sightline
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "src/cpu/dispatch.h"

namespace sightline {
namespace {

HWY_EXPORT(sum_words);

}  // namespace

std::uint32_t cpu::plain_sum(const void* data, std::size_t bytes) {
  return SIGHTLINE_DISPATCH(sum_words)(static_cast<const std::uint32_t*>(data), bytes / 4);
}

}  // namespace sightline

#endif  // HWY_ONCE
