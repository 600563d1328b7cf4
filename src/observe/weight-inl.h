// From scores to weights.

#if defined(SIGHTLINE_OBSERVE_WEIGHT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SIGHTLINE_OBSERVE_WEIGHT_INL_H_
#undef SIGHTLINE_OBSERVE_WEIGHT_INL_H_
#else
#define SIGHTLINE_OBSERVE_WEIGHT_INL_H_
#endif

#include "src/cpu/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sightline {
namespace HWY_NAMESPACE {

// What scores are measured from while m is the maximum: m, and 0 while no key was seen (m = -inf), since then nothing
// is subtracted.
HWY_INLINE F reference_of(F m) { return hn::IfThenZeroElse(hn::Eq(m, splat(-__builtin_inff())), m); }

// t = (x - m) log2(e), the exponent of a weight.
HWY_INLINE F exponent(F x, F m) { return hn::Mul(hn::Sub(x, reference_of(m)), splat(kLog2E)); }

// exp2(t), and t with 0 in the place of exponents so small that the weight is 0, so that weight * t is 0 and never 0 *
// inf.
struct Weight {
  F value, exponent;
};
HWY_INLINE Weight weight_of(F t) {
  const MaskF nothing = hn::Lt(t, splat(kExp2Floor));
  return {hn::IfThenZeroElse(nothing, exp2_in_range(t)), hn::IfThenZeroElse(nothing, t)};
}

// 1 / l, and 0 for rows without a key.
HWY_INLINE F inverse_sum(F l) { return hn::IfThenZeroElse(hn::Eq(l, hn::Zero(kF32)), hn::Div(splat(1.0f), l)); }

// The weight of a score in the final map: exp(x - m) / l. Hidden keys (x = -inf) have 0 even in a row of NaN.
HWY_INLINE F final_weight(F x, F m, F inverse) {
  const F weight = hn::Mul(exp2_nonpositive(exponent(x, m)), inverse);
  return hn::IfThenZeroElse(hn::Eq(x, splat(-__builtin_inff())), weight);
}

}  // namespace HWY_NAMESPACE
}  // namespace sightline
HWY_AFTER_NAMESPACE();

#endif  // SIGHTLINE_OBSERVE_WEIGHT_INL_H_
