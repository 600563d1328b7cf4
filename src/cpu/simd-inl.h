// Vectors of fp32 as all per-target code sees them. Included once per target by way of hwy/foreach_target.h.

#if defined(SIGHTLINE_CPU_SIMD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SIGHTLINE_CPU_SIMD_INL_H_
#undef SIGHTLINE_CPU_SIMD_INL_H_
#else
#define SIGHTLINE_CPU_SIMD_INL_H_
#endif

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"

// For lambdas of inner loops: compiled for the target, and inlined.
#ifndef SIGHTLINE_LAMBDA
#define SIGHTLINE_LAMBDA HWY_ATTR __attribute__((always_inline))
#endif

HWY_BEFORE_NAMESPACE();
namespace sightline {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using DF = hn::CappedTag<float, 16>;
using DI = hn::RebindToSigned<DF>;
using DU = hn::RebindToUnsigned<DF>;
using F = hn::Vec<DF>;
using I = hn::Vec<DI>;
using MaskF = hn::Mask<DF>;
inline constexpr DF kF32{};
inline constexpr DI kI32{};
inline constexpr DU kU32{};

// Lanes of F: 16 (AVX-512), 8 (AVX2), 4 (NEON), 1 (scalar); all are divisors of 16.
inline constexpr std::size_t kLanes = hn::MaxLanes(DF());
// Vector registers that the register blocks may count on.
inline constexpr int kVectorRegisters = HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_SCALAR ? 16 : 32;

// a * b + c with a single rounding on every target. Highway's scalar MulAdd rounds twice, as do targets older than FMA.
static_assert(HWY_NATIVE_FMA || HWY_TARGET == HWY_SCALAR);
HWY_INLINE F fma(F a, F b, F c) {
#if HWY_TARGET == HWY_SCALAR
  return F(std::fma(a.raw, b.raw, c.raw));
#else
  return hn::MulAdd(a, b, c);
#endif
}

HWY_INLINE F splat(float value) { return hn::Set(kF32, value); }
HWY_INLINE F load(const float* HWY_RESTRICT from) { return hn::LoadU(kF32, from); }
HWY_INLINE void store(F value, float* HWY_RESTRICT to) { hn::StoreU(value, kF32, to); }

// The larger; of two values the second where either is NaN (what x86 does), so that every target drops or keeps the
// same NaN. Highway's Max leaves NaN to the instruction.
HWY_INLINE F max_or_second(F a, F b) {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
  return hn::Max(a, b);
#else
  return hn::IfThenElse(hn::Gt(a, b), a, b);
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace sightline
HWY_AFTER_NAMESPACE();

#endif  // SIGHTLINE_CPU_SIMD_INL_H_
