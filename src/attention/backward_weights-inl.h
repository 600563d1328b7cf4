// From scores and dP = dO V^T to the weights P and the slopes dS = P (dP - delta) of one block.

#if defined(SIGHTLINE_ATTENTION_BACKWARD_WEIGHTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SIGHTLINE_ATTENTION_BACKWARD_WEIGHTS_INL_H_
#undef SIGHTLINE_ATTENTION_BACKWARD_WEIGHTS_INL_H_
#else
#define SIGHTLINE_ATTENTION_BACKWARD_WEIGHTS_INL_H_
#endif

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

// In place, [kBlockKeys, lanes]: scores become weights, and dL/d(weight) becomes dL/d(score). Both are 0 where a key is
// hidden (score -inf), whatever stands in its value.
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

}  // namespace HWY_NAMESPACE
}  // namespace sightline
HWY_AFTER_NAMESPACE();

#endif  // SIGHTLINE_ATTENTION_BACKWARD_WEIGHTS_INL_H_
