// From scores and dP = dO V^T to the weights P and the slopes dS = P (dP - delta) of one block. All arrays are
// [kBlockKeys, lanes].

#if defined(SIGHTLINE_ATTENTION_BACKWARD_WEIGHTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SIGHTLINE_ATTENTION_BACKWARD_WEIGHTS_INL_H_
#undef SIGHTLINE_ATTENTION_BACKWARD_WEIGHTS_INL_H_
#else
#define SIGHTLINE_ATTENTION_BACKWARD_WEIGHTS_INL_H_
#endif

#include "src/attention/tile_mask-inl.h"
#include "src/observe/tile_block.h"
#include "src/observe/weight-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sightline {
namespace HWY_NAMESPACE {

// [lanes] each.
struct LaneState {
  const float* reference = nullptr;  // what scores are measured from
  const float* inverse = nullptr;    // 1 / l, 0 for rows without a key
  const float* delta = nullptr;
};

// In place: scores become weights, and dL/d(weight) becomes dL/d(score). Both are 0 where a key is hidden (score -inf),
// whatever stands in its value.
inline void weigh_slopes(const LaneState& state, int begin, int end, int lanes, float* HWY_RESTRICT scores,
                         float* HWY_RESTRICT slopes) {
  for (int lane = 0; lane < lanes; lane += static_cast<int>(kLanes)) {
    const F reference = load(state.reference + lane), inverse = load(state.inverse + lane);
    const F delta = load(state.delta + lane);
    for (int slot = begin; slot < end; ++slot) {
      const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(slot) * lanes + lane;
      const F score = load(scores + at);
      const MaskF hidden = hn::Eq(score, splat(-__builtin_inff()));
      const F weight = final_weight(score, reference, inverse);
      store(weight, scores + at);
      store(hn::IfThenZeroElse(hidden, hn::Mul(weight, hn::Sub(load(slopes + at), delta))), slopes + at);
    }
  }
}

// Dropout: values times `scale` where kept, else 0. kept: by slot a bit a lane.
inline void drop(const std::uint64_t* kept, float scale, int begin, int end, int lanes, float* values) {
  for (int slot = begin; slot < end; ++slot) {
    for (int lane = 0; lane < lanes; lane += static_cast<int>(kLanes)) {
      float* at = values + static_cast<std::ptrdiff_t>(slot) * lanes + lane;
      store(hn::IfThenElseZero(lanes_of(kept[slot], lane), hn::Mul(load(at), splat(scale))), at);
    }
  }
}

// Through the softcap: slopes *= 1 - (capped / cap)^2.
inline void uncap_slopes(const float* HWY_RESTRICT capped, float cap, int begin, int end, int lanes,
                         float* HWY_RESTRICT slopes) {
  const F inverse = splat(1 / cap);
  for (int i = begin * lanes; i < end * lanes; i += static_cast<int>(kLanes)) {
    const F share = hn::Mul(load(capped + i), inverse), slope = load(slopes + i);
    // A hidden key may have a score of NaN; its slope is 0.
    const F through = hn::Mul(slope, fma(hn::Neg(share), share, splat(1.0f)));
    store(hn::IfThenZeroElse(hn::Eq(slope, hn::Zero(kF32)), through), slopes + i);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace sightline
HWY_AFTER_NAMESPACE();

#endif  // SIGHTLINE_ATTENTION_BACKWARD_WEIGHTS_INL_H_
