// Sums over the rows of a head, for which a row's state must be final: key mass and the overview. Each sum runs in 16
// sub-chains by the row's position mod 16, ascending, so that decoding row by row gives the bits of one prefill.

#if defined(SIGHTLINE_OBSERVE_ROW_SUMS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SIGHTLINE_OBSERVE_ROW_SUMS_INL_H_
#undef SIGHTLINE_OBSERVE_ROW_SUMS_INL_H_
#else
#define SIGHTLINE_OBSERVE_ROW_SUMS_INL_H_
#endif

#include "src/cpu/simd-inl.h"
#include "src/observe/tile_block.h"

HWY_BEFORE_NAMESPACE();
namespace sightline {
namespace HWY_NAMESPACE {

// chains[r] += values[lane] * factors[lane] for the lanes with lane % 16 == r, ascending, for `count` rows of values
// [count, lanes] and of chains [count, kChains]. A value of NaN adds NaN, whatever its factor.
HWY_INLINE void add_rows(const float* HWY_RESTRICT values, std::int64_t count, const float* HWY_RESTRICT factors,
                         int lanes, float* HWY_RESTRICT chains) {
  for (std::int64_t i = 0; i < count; ++i) {
    for (std::size_t r = 0; r < kChains; r += kLanes) {
      F sum = load(chains + i * kChains + r);
      for (std::size_t lane = r; lane < static_cast<std::size_t>(lanes); lane += kChains) {
        sum = fma(load(values + i * lanes + lane), load(factors + lane), sum);
      }
      store(sum, chains + i * kChains + r);
    }
  }
}

// Sets the values of lanes whose factor is 0 to 0, so that a NaN there adds nothing.
HWY_INLINE void clear_unused(float* HWY_RESTRICT values, std::int64_t count, const float* HWY_RESTRICT factors,
                             int lanes) {
  for (std::int64_t i = 0; i < count; ++i) {
    for (std::size_t lane = 0; lane < static_cast<std::size_t>(lanes); lane += kLanes) {
      float* at = values + i * lanes + lane;
      store(hn::IfThenZeroElse(hn::Eq(load(factors + lane), hn::Zero(kF32)), load(at)), at);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace sightline
HWY_AFTER_NAMESPACE();

#endif  // SIGHTLINE_OBSERVE_ROW_SUMS_INL_H_
