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

// As add_rows(), for kGroups * 16 lanes, whose factors stay in registers.
template <int kGroups>
HWY_INLINE void add_groups(const float* HWY_RESTRICT values, std::int64_t count, std::int64_t stride,
                           const float* HWY_RESTRICT factors, float* HWY_RESTRICT chains) {
  for (std::size_t r = 0; r < kChains; r += kLanes) {
    F factor[kGroups];
    for (int g = 0; g < kGroups; ++g) factor[g] = load(factors + g * kChains + r);
    for (std::int64_t i = 0; i < count; ++i) {
      F sum = load(chains + i * kChains + r);
      for (int g = 0; g < kGroups; ++g) sum = fma(load(values + i * stride + g * kChains + r), factor[g], sum);
      store(sum, chains + i * kChains + r);
    }
  }
}

// chains[r] += values[lane] * factors[lane] for the lanes with lane % 16 == r, ascending, for `count` rows of values
// [count, stride], of which `lanes` are read, and of chains [count, kChains]. A value of NaN adds NaN, whatever its
// factor.
inline void add_rows(const float* values, std::int64_t count, std::int64_t stride, const float* factors, int lanes,
                     float* chains) {
  switch (lanes / kChains) {
    case 1:
      return add_groups<1>(values, count, stride, factors, chains);
    case 2:
      return add_groups<2>(values, count, stride, factors, chains);
    default:
      return add_groups<3>(values, count, stride, factors, chains);
  }
}
static_assert(kTileRows == 3 * kChains);

// chains[r] += values[lane] for the lanes of [begin, end) with lane % 16 == r, ascending, for `count` rows of values
// [count, stride] and of chains [count, kChains].
inline void add_lanes(const float* values, std::int64_t count, std::int64_t stride, int begin, int end, float* chains) {
  for (int lane = begin / kChains * kChains; lane < end; lane += static_cast<int>(kLanes)) {
    const I lanes = hn::Iota(kI32, lane);
    const auto before = hn::Lt(lanes, hn::Set(kI32, begin)), within = hn::Lt(lanes, hn::Set(kI32, end));
    const MaskF taken = hn::RebindMask(kF32, hn::AndNot(before, within));
    for (std::int64_t i = 0; i < count; ++i) {
      float* at = chains + i * kChains + lane % kChains;
      store(hn::Add(load(at), hn::IfThenElseZero(taken, load(values + i * stride + lane))), at);
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
