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
template <class Part>
HWY_INLINE F fold_to_blocks(Part part, int first) {
#if HWY_TARGET == HWY_AVX3
  const auto step_eight = [](F even, F odd) SIGHTLINE_LAMBDA {
    return hn::Add(hn::ConcatLowerLower(kF32, odd, even), hn::ConcatUpperUpper(kF32, odd, even));
  };
  const F left = step_eight(part(first, 0), part(first + 8, 0));
  const F right = step_eight(part(first + 4, 0), part(first + 12, 0));
  return hn::Add(hn::OddEvenBlocks(hn::SwapAdjacentBlocks(right), left),
                 hn::OddEvenBlocks(right, hn::SwapAdjacentBlocks(left)));
#elif HWY_TARGET == HWY_AVX2
  const F left = hn::Add(part(first, 0), part(first, 1));
  const F right = hn::Add(part(first + 4, 0), part(first + 4, 1));
  return hn::Add(hn::ConcatLowerLower(kF32, right, left), hn::ConcatUpperUpper(kF32, right, left));
#else
  static_assert(kLanes == 4);
  return hn::Add(hn::Add(part(first, 0), part(first, 2)), hn::Add(part(first, 1), part(first, 3)));
#endif
}
#endif

// kLanes sums at once: lane i is the fold of sum i, whose chains p * kLanes ... are part(i, p). The same additions as
// fold_one().
template <class Part>
HWY_INLINE F fold_lanes(Part part) {
#if HWY_TARGET == HWY_SCALAR
  float chains[kChains];
  for (std::size_t p = 0; p < kChains; ++p) chains[p] = hn::GetLane(part(0, p));
  return splat(fold_one(chains));
#else
  const hn::Repartition<double, DF> pairs;
  const auto step_two = [&](F even, F odd) SIGHTLINE_LAMBDA {
    const auto e = hn::BitCast(pairs, even), o = hn::BitCast(pairs, odd);
    return hn::Add(hn::BitCast(kF32, hn::InterleaveLower(pairs, e, o)),
                   hn::BitCast(kF32, hn::InterleaveUpper(pairs, e, o)));
  };
  const F a = step_two(fold_to_blocks(part, 0), fold_to_blocks(part, 2));
  const F b = step_two(fold_to_blocks(part, 1), fold_to_blocks(part, 3));
  return hn::Add(hn::OddEven(hn::DupEven(b), a), hn::OddEven(b, hn::DupOdd(a)));
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace sightline
HWY_AFTER_NAMESPACE();

#endif  // SIGHTLINE_OPS_FOLD_INL_H_
