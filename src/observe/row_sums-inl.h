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

// chains[r] += values[lane] * factors[lane] for the lanes with lane % 16 == r, ascending. Lanes whose factor is 0 add
// nothing, whatever their value (a NaN among them).
HWY_INLINE void add_rows(const float* values, const float* factors, int lanes, float* chains) {
  for (std::size_t r = 0; r < kChains; r += kLanes) {
    F sum = load(chains + r);
    for (std::size_t lane = r; lane < static_cast<std::size_t>(lanes); lane += kChains) {
      const F factor = load(factors + lane);
      const F value = hn::IfThenZeroElse(hn::Eq(factor, hn::Zero(kF32)), load(values + lane));
      sum = fma(value, factor, sum);
    }
    store(sum, chains + r);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace sightline
HWY_AFTER_NAMESPACE();

#endif  // SIGHTLINE_OBSERVE_ROW_SUMS_INL_H_
