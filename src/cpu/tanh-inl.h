// tanh as a fixed sequence of exactly rounded operations: the same bits on every target.

#if defined(SIGHTLINE_CPU_TANH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SIGHTLINE_CPU_TANH_INL_H_
#undef SIGHTLINE_CPU_TANH_INL_H_
#else
#define SIGHTLINE_CPU_TANH_INL_H_
#endif

#include "src/cpu/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sightline {
namespace HWY_NAMESPACE {

// tanh x for every x, within 2.5 ULP (tanh_gelu_test.cc visits every input); odd, +-1 for +-inf, NaN for NaN.
HWY_INLINE F tanh(F x) {
  const F a = hn::Abs(x);
  // Near 0: x + x z P(z), z = x^2; minimax for |x| < 0.55, 2^-29.9 relative.
  const F z = hn::Mul(a, a);
  F p = splat(-0x1.9bba6ap-8f);
  p = fma(p, z, splat(0x1.595686p-6f));
  p = fma(p, z, splat(-0x1.b92bbap-5f));
  p = fma(p, z, splat(0x1.110d3cp-3f));
  p = fma(p, z, splat(-0x1.55554cp-2f));
  const F small = fma(a, hn::Mul(p, z), a);
  // Else 1 - 2 e / (1 + e) with e = exp(-2 |x|) <= 1/3: nothing overflows, and no digits cancel.
  const F e = exp2_nonpositive(hn::Mul(a, splat(-2 * kLog2E)));
  const F large = hn::Sub(splat(1.0f), hn::Div(hn::Add(e, e), hn::Add(splat(1.0f), e)));
  return hn::CopySignToAbs(hn::IfThenElse(hn::Lt(a, splat(0.55f)), small, large), x);
}

}  // namespace HWY_NAMESPACE
}  // namespace sightline
HWY_AFTER_NAMESPACE();

#endif  // SIGHTLINE_CPU_TANH_INL_H_
