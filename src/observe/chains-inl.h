// Sums over the keys of a block in 16 sub-chains by key mod 16, folded by halving: r with r + 8, then r + 4, r + 2, r
// + 1.

#if defined(SIGHTLINE_OBSERVE_CHAINS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SIGHTLINE_OBSERVE_CHAINS_INL_H_
#undef SIGHTLINE_OBSERVE_CHAINS_INL_H_
#else
#define SIGHTLINE_OBSERVE_CHAINS_INL_H_
#endif

#include "src/cpu/simd-inl.h"
#include "src/observe/tile_block.h"

HWY_BEFORE_NAMESPACE();
namespace sightline {
namespace HWY_NAMESPACE {

// A vector that folds.
struct Sum {
  F value;
  HWY_INLINE Sum operator+(const Sum& other) const { return {hn::Add(value, other.value)}; }
};

// leaf(r) gives sub-chain r; the order of the visits keeps four partial sums alive at most.
template <int kWidth = kChains, class Leaf>
HWY_INLINE auto fold_chains(const Leaf& leaf, int r = 0) {
  if constexpr (kWidth == 1) {
    return leaf(r);
  } else {
    constexpr int kStride = kChains / kWidth;
    const auto low = fold_chains<kWidth / 2>(leaf, r);
    return low + fold_chains<kWidth / 2>(leaf, r + kStride);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace sightline
HWY_AFTER_NAMESPACE();

#endif  // SIGHTLINE_OBSERVE_CHAINS_INL_H_
