// exp2 and ln as fixed sequences of exactly rounded operations: the same bits on every target.

#if defined(SIGHTLINE_CPU_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SIGHTLINE_CPU_MATH_INL_H_
#undef SIGHTLINE_CPU_MATH_INL_H_
#else
#define SIGHTLINE_CPU_MATH_INL_H_
#endif

#include "src/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sightline {
namespace HWY_NAMESPACE {

inline constexpr float kLog2E = 0x1.715476p+0f;  // log2(e)
inline constexpr float kLn2 = 0x1.62e43p-1f;

// Below this exponent the result is +0: nothing denormal is ever made, which is slow and differs under FTZ.
inline constexpr float kExp2Floor = -126.0f;

// 2^t for kExp2Floor <= t < 128, within 2.1 ULP (math_test.cc; a sixth term would give 1.1 for one more multiply-add a
// weight); exactly 1 at t = 0; NaN for NaN. What it gives outside that range means nothing: callers put their own value
// there.
HWY_INLINE F exp2_in_range(F t) {
  // Adding 1.5 * 2^23 + 127 leaves round(t) + 127, the biased exponent, in the low bits.
  const F magic = splat(12582912.0f + 127.0f);
  const F shifted = hn::Add(t, magic);
  const F r = hn::Sub(t, hn::Sub(shifted, magic));
  const F power = hn::BitCast(kF32, hn::ShiftLeft<23>(hn::BitCast(kI32, shifted)));
  // Minimax of relative error on [-1/2, 1/2] with the constant term held at 1; 9.2e-8.
  F p = splat(0x1.5bb9f6p-10f);
  p = fma(p, r, splat(0x1.3cea7cp-7f));
  p = fma(p, r, splat(0x1.c6b752p-5f));
  p = fma(p, r, splat(0x1.ebf9bcp-3f));
  p = fma(p, r, splat(0x1.62e42ap-1f));
  p = fma(p, r, splat(1.0f));
  // A product and not an addition to the exponent field: a NaN with any payload stays NaN.
  return hn::Mul(p, power);
}

// 2^t for t <= 0, and +0 for t < kExp2Floor (-inf included). NaN for NaN.
HWY_INLINE F exp2_nonpositive(F t) { return hn::IfThenZeroElse(hn::Lt(t, splat(kExp2Floor)), exp2_in_range(t)); }

// ln x for normal x > 0, within 1.5 ULP; +inf for +inf, NaN for NaN.
HWY_INLINE F ln_positive(F x) {
  // x = 2^k * m with m in [sqrt(1/2), sqrt(2)).
  const auto bits = hn::BitCast(kI32, x);
  const auto offset = hn::Sub(bits, hn::Set(kI32, 0x3f3504f3));
  const auto k = hn::ShiftRight<23>(offset);
  const F m = hn::BitCast(kF32, hn::Sub(bits, hn::ShiftLeft<23>(k)));
  const F exponent = hn::ConvertTo(kF32, k);
  // ln m = 2 atanh(s), s = f / (2 + f), f = m - 1; written as f - f^2/2 + s (f^2/2 + R(s^2)), so that f keeps all its
  // digits near 1.
  const F f = hn::Sub(m, splat(1.0f));
  const F s = hn::Div(f, hn::Add(splat(2.0f), f));
  const F z = hn::Mul(s, s);
  F r = splat(0x1.31e0b4p-2f);
  r = fma(r, z, splat(0x1.995ed2p-2f));
  r = fma(r, z, splat(0x1.55557ap-1f));
  r = hn::Mul(r, z);
  const F half_square = hn::Mul(splat(0.5f), hn::Mul(f, f));
  const F small = fma(s, hn::Add(half_square, r), hn::Mul(exponent, splat(-0x1.05c61p-29f)));  // ln 2 = hi + lo
  const F result = fma(exponent, splat(kLn2), hn::Sub(f, hn::Sub(half_square, small)));
  return hn::IfThenElse(hn::Lt(x, splat(__builtin_inff())), result, x);
}

}  // namespace HWY_NAMESPACE
}  // namespace sightline
HWY_AFTER_NAMESPACE();

#endif  // SIGHTLINE_CPU_MATH_INL_H_
