// The fixed tree that folds 16 sub-chains into a sum: chain r takes in r + 8, then + 4, + 2, + 1.
// Included once per target by way of hwy/foreach_target.h.

#if defined(SIGHTLINE_OPS_FOLD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SIGHTLINE_OPS_FOLD_INL_H_
#undef SIGHTLINE_OPS_FOLD_INL_H_
#else
#define SIGHTLINE_OPS_FOLD_INL_H_
#endif

#include "src/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sightline {
namespace HWY_NAMESPACE {

inline constexpr std::size_t kChains = 16;
inline constexpr std::size_t kParts = kChains / kLanes;  // vectors that hold the chains of one sum

// One sum; `chains` is overwritten.
HWY_INLINE float fold_one(float* HWY_RESTRICT chains) {
  for (std::size_t half = kChains / 2; half > 0; half /= 2) {
    for (std::size_t r = 0; r < half; ++r) chains[r] += chains[r + half];
  }
  return chains[0];
}

#if HWY_TARGET != HWY_SCALAR
// Block k (4 lanes) holds the chains 0-3, after the steps + 8 and + 4, of sum `first` + 4 k.
HWY_INLINE F fold_to_blocks(const float* HWY_RESTRICT chains, std::size_t first) {
  const float* a = chains + first * kChains;
  const float* b = a + 4 * kChains;
#if HWY_TARGET == HWY_AVX3
  const F a0 = load(a), a1 = load(a + 8 * kChains), b0 = load(b), b1 = load(b + 8 * kChains);
  const F left = hn::Add(hn::ConcatLowerLower(kF32, a1, a0), hn::ConcatUpperUpper(kF32, a1, a0));
  const F right = hn::Add(hn::ConcatLowerLower(kF32, b1, b0), hn::ConcatUpperUpper(kF32, b1, b0));
  return hn::Add(hn::OddEvenBlocks(hn::SwapAdjacentBlocks(right), left),
                 hn::OddEvenBlocks(right, hn::SwapAdjacentBlocks(left)));
#elif HWY_TARGET == HWY_AVX2
  const F left = hn::Add(load(a), load(a + 8));
  const F right = hn::Add(load(b), load(b + 8));
  return hn::Add(hn::ConcatLowerLower(kF32, right, left), hn::ConcatUpperUpper(kF32, right, left));
#else
  static_assert(kLanes == 4);
  (void)b;
  return hn::Add(hn::Add(load(a), load(a + 8)), hn::Add(load(a + 4), load(a + 12)));
#endif
}

// kLanes sums at once from `chains` [kLanes][kChains], the same additions as fold_one().
HWY_INLINE F fold_lanes(const float* HWY_RESTRICT chains) {
  const hn::Repartition<double, DF> pairs;
  const auto step_two = [&](F even, F odd) {
    const auto e = hn::BitCast(pairs, even), o = hn::BitCast(pairs, odd);
    return hn::Add(hn::BitCast(kF32, hn::InterleaveLower(pairs, e, o)),
                   hn::BitCast(kF32, hn::InterleaveUpper(pairs, e, o)));
  };
  const F a = step_two(fold_to_blocks(chains, 0), fold_to_blocks(chains, 2));
  const F b = step_two(fold_to_blocks(chains, 1), fold_to_blocks(chains, 3));
  return hn::Add(hn::OddEven(hn::DupEven(b), a), hn::OddEven(b, hn::DupOdd(a)));
}
#endif

// sums[i] of chains [count][kChains]; `count` is a multiple of kLanes. Overwrites `chains`.
HWY_INLINE void fold_chains(float* HWY_RESTRICT chains, std::size_t count, float* HWY_RESTRICT sums) {
  for (std::size_t i = 0; i < count; i += kLanes) {
#if HWY_TARGET == HWY_SCALAR
    sums[i] = fold_one(chains + i * kChains);
#else
    store(fold_lanes(chains + i * kChains), sums + i);
#endif
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace sightline
HWY_AFTER_NAMESPACE();

#endif  // SIGHTLINE_OPS_FOLD_INL_H_
