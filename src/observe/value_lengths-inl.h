// The lengths ||v|| of a block's values, and what they make of weights and scores (Kobayashi et al. 2020).

#if defined(SIGHTLINE_OBSERVE_VALUE_LENGTHS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SIGHTLINE_OBSERVE_VALUE_LENGTHS_INL_H_
#undef SIGHTLINE_OBSERVE_VALUE_LENGTHS_INL_H_
#else
#define SIGHTLINE_OBSERVE_VALUE_LENGTHS_INL_H_
#endif

#include <algorithm>
#include <cmath>

#include "src/cpu/math-inl.h"
#include "src/observe/tile_block.h"

HWY_BEFORE_NAMESPACE();
namespace sightline {
namespace HWY_NAMESPACE {

// Squares of any fp32 number fit in fp64; they run in 16 sub-chains by column mod 16, folded as everywhere.
inline float value_length(const float* value, std::int64_t columns) {
  double chains[kChains] = {};
  for (std::int64_t column = 0; column < columns; ++column) {
    const double element = value[column];
    chains[column % kChains] += element * element;
  }
  for (int width = kChains / 2; width > 0; width /= 2) {
    for (int r = 0; r < width; ++r) chains[r] += chains[r + width];
  }
  return static_cast<float>(std::sqrt(chains[0]));
}

// lengths: [kBlockKeys], 0 for slots without a key.
inline void value_lengths(const float* const* values, std::int64_t columns, const TileBlock& block, float* lengths) {
  std::fill_n(lengths, kBlockKeys, 0.0f);
  for (int slot = block.begin; slot < block.end; ++slot) lengths[slot] = value_length(values[slot], columns);
}

// measured = weights * length, and 0 where the weight is 0, whatever the length. [kBlockKeys, lanes].
inline void measure_weights(const float* weights, const float* lengths, int lanes, float* measured) {
  for (int slot = 0; slot < kBlockKeys; ++slot) {
    for (int lane = 0; lane < lanes; lane += static_cast<int>(kLanes)) {
      const F weight = load(weights + static_cast<std::ptrdiff_t>(slot) * lanes + lane);
      const F product = hn::Mul(weight, splat(lengths[slot]));
      store(hn::IfThenZeroElse(hn::Eq(weight, hn::Zero(kF32)), product),
            measured + static_cast<std::ptrdiff_t>(slot) * lanes + lane);
    }
  }
}

// ranks = score + ln(length), which orders like weight * length, keys without length last among those that are seen;
// -inf where hidden. maxima: [lanes].
inline void rank_by_length(const float* scores, const float* lengths, int lanes, float* ranks, float* maxima) {
  const F none = splat(-__builtin_inff()), last = splat(-1e30f);  // the latter swallows any score but the largest
  alignas(64) float logarithms[kBlockKeys];
  for (int slot = 0; slot < kBlockKeys; slot += static_cast<int>(kLanes)) {
    const F length = load(lengths + slot), normal = max_or_second(length, splat(0x1p-126f));
    store(hn::IfThenElse(hn::Eq(length, hn::Zero(kF32)), last, ln_positive(normal)), logarithms + slot);
  }
  for (int lane = 0; lane < lanes; lane += static_cast<int>(kLanes)) {
    F maximum = none;
    for (int slot = 0; slot < kBlockKeys; ++slot) {
      const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(slot) * lanes + lane;
      const F score = load(scores + at);
      const F rank = hn::IfThenElse(hn::Eq(score, none), none, hn::Add(score, splat(logarithms[slot])));
      maximum = max_or_second(rank, maximum);
      store(rank, ranks + at);
    }
    store(maximum, maxima + lane);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace sightline
HWY_AFTER_NAMESPACE();

#endif  // SIGHTLINE_OBSERVE_VALUE_LENGTHS_INL_H_
