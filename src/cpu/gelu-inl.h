// GELU, exact (by the error function) and in its tanh form, and SiLU, as fixed sequences of exactly rounded operations.
//
// All are x g(x) with g(x) + g(-x) = 1, so x g(x) = max(x, 0) - |x| g(-|x|). The tail g(-|x|) is computed as such,
// small where it is small: 1 + erf(x / sqrt 2) and 1 + tanh(...), as frameworks write it, lose all digits for negative
// x.

#if defined(SIGHTLINE_CPU_GELU_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SIGHTLINE_CPU_GELU_INL_H_
#undef SIGHTLINE_CPU_GELU_INL_H_
#else
#define SIGHTLINE_CPU_GELU_INL_H_
#endif

#include "src/cpu/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sightline {
namespace HWY_NAMESPACE {

// A number as the sum of two fp32, `low` below half a unit of `high`.
struct TwoFloats {
  F high, low;
};

HWY_INLINE TwoFloats exact_product(F a, F b) {
  const F high = hn::Mul(a, b);
  return {high, fma(a, b, hn::Neg(high))};
}

// max(x, 0) - tail. For NaN the first term is NaN.
HWY_INLINE F minus_tail(F x, F tail) {
  return hn::Sub(hn::IfThenElse(hn::Lt(x, hn::Zero(kF32)), hn::Zero(kF32), x), tail);
}

// |x| cut where the tail is below the smallest normal number; NaN is cut too, and comes back through minus_tail().
HWY_INLINE F cut_magnitude(F x, float limit) {
  const F a = hn::Abs(x);
  return hn::IfThenElse(hn::Lt(a, splat(limit)), a, splat(limit));
}
inline constexpr float kGeluLimit = 16.0f;  // of either form

// factor * 2^(t.high + t.low), t.high <= 0; +0 below 2^-126.
HWY_INLINE F scale_by_exp2(F factor, TwoFloats t) {
  const F corrected = fma(factor, hn::Mul(t.low, splat(kLn2)), factor);
  return hn::Mul(corrected, exp2_nonpositive(t.high));
}

// x Phi(x), Phi the normal distribution function: 0.5 x (1 + erf(x / sqrt 2)). Within 6 ULP, or 2^-122 where that is
// more (tanh_gelu_test.cc visits every input).
HWY_INLINE F gelu(F x) {
  const F a = cut_magnitude(x, kGeluLimit);
  // Phi(-a) = exp(-a^2/2) u Q(u - 1/2) with u = 1 / (1 + a/4); Q minimax for a <= 13.3, 2^-27 relative. About the
  // middle of u its terms hardly cancel; and since errors of u grow, the quotient gets its remainder.
  const F d = fma(a, splat(0.25f), splat(1.0f));
  const F d_low = fma(a, splat(0.25f), hn::Sub(splat(1.0f), d));
  const F quotient = hn::Div(splat(1.0f), d);
  const F remainder = fma(hn::Neg(quotient), d_low, fma(hn::Neg(quotient), d, splat(1.0f)));
  const F u = fma(quotient, remainder, quotient);
  const F w = fma(quotient, remainder, hn::Sub(quotient, splat(0.5f)));
  F q = splat(0x1.07973cp-6f);
  q = fma(q, w, splat(0x1.95152ap-7f));
  q = fma(q, w, splat(-0x1.9cff62p-5f));
  q = fma(q, w, splat(-0x1.cd2c7p-5f));
  q = fma(q, w, splat(0x1.ed6dc6p-5f));
  q = fma(q, w, splat(0x1.eed56ep-3f));
  q = fma(q, w, splat(0x1.7dffbp-2f));
  q = fma(q, w, splat(0x1.8c6d9cp-2f));
  q = fma(q, w, splat(0x1.373e3ap-2f));
  q = fma(q, w, splat(0x1.82b4bcp-3f));
  // exp(-a^2/2) = 2^t, t = -a^2 (c + c'). t reaches -126, where one rounding of t would cost 60 ULP: keep both halves.
  const F c = splat(-0x1.715476p-1f), c_low = splat(-0x1.4ae0cp-27f);
  const TwoFloats square = exact_product(a, a);
  TwoFloats t = exact_product(square.high, c);
  t.low = hn::Add(t.low, fma(square.low, c, hn::Mul(square.high, c_low)));
  return minus_tail(x, scale_by_exp2(hn::Mul(a, hn::Mul(u, q)), t));
}

// 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) = x / (1 + exp(-2 ...)). Bound as for gelu().
HWY_INLINE F gelu_tanh(F x) {
  const F a = cut_magnitude(x, kGeluLimit);
  // The exponent is t = -a (c1 + c3 a^2) with c1 = 2 sqrt(2/pi) log2 e and c3 = 0.044715 c1, in both halves for the
  // same reason.
  const F c1 = splat(0x1.26aec2p+1f), c1_low = splat(0x1.bce75ap-27f);
  const F c3 = splat(0x1.a5a7dp-4f), c3_low = splat(-0x1.151aaep-29f);
  const TwoFloats square = exact_product(a, a);
  const TwoFloats cubic = exact_product(square.high, c3);
  const F sum = hn::Add(c1, cubic.high);
  const F rest = hn::Sub(sum, c1);  // Knuth's two-sum: what the addition lost
  const F lost = hn::Add(hn::Sub(c1, hn::Sub(sum, rest)), hn::Sub(cubic.high, rest));
  const F low = hn::Add(hn::Add(lost, c1_low), fma(square.high, c3_low, fma(square.low, c3, cubic.low)));
  TwoFloats t = exact_product(hn::Neg(a), sum);
  t.low = hn::Sub(t.low, hn::Mul(a, low));
  const F e = scale_by_exp2(splat(1.0f), t);
  return minus_tail(x, scale_by_exp2(hn::Div(a, hn::Add(splat(1.0f), e)), t));
}

// x / (1 + exp(-x)), sigmoid linear unit. Within 6 ULP, or 2^-119 where that is more: exp(-|x|) ends at 2^-126, and is
// multiplied by up to 88.
HWY_INLINE F silu(F x) {
  const F a = cut_magnitude(x, 128.0f);
  // exp(-a) = 2^t, t = -a (c + c'): see gelu() for why in two halves.
  const F c = splat(-kLog2E), c_low = splat(-0x1.4ae0cp-26f);
  TwoFloats t = exact_product(a, c);
  t.low = fma(a, c_low, t.low);
  const F e = scale_by_exp2(splat(1.0f), t);
  return minus_tail(x, scale_by_exp2(hn::Div(a, hn::Add(splat(1.0f), e)), t));
}

}  // namespace HWY_NAMESPACE
}  // namespace sightline
HWY_AFTER_NAMESPACE();

#endif  // SIGHTLINE_CPU_GELU_INL_H_
