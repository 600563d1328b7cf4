// Rows of stored weights as fp32. Included once per target by way of hwy/foreach_target.h.

#if defined(SIGHTLINE_OPS_WIDEN_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SIGHTLINE_OPS_WIDEN_INL_H_
#undef SIGHTLINE_OPS_WIDEN_INL_H_
#else
#define SIGHTLINE_OPS_WIDEN_INL_H_
#endif

#include <cstring>

#include "src/cpu/simd-inl.h"
#include "src/ops/weight_matrix.h"

HWY_BEFORE_NAMESPACE();
namespace sightline {
namespace HWY_NAMESPACE {

// kLanes values of fp32 at any byte alignment: through bytes, since a float* that is not aligned may not be read.
HWY_INLINE F load_bytes(const std::byte* HWY_RESTRICT from) {
#if HWY_TARGET == HWY_SCALAR
  float value;
  std::memcpy(&value, from, sizeof value);
  return F(value);
#else
  const hn::Repartition<std::uint8_t, DF> bytes;
  return hn::BitCast(kF32, hn::LoadU(bytes, reinterpret_cast<const std::uint8_t*>(from)));
#endif
}

#if HWY_TARGET != HWY_SCALAR
// kLanes halves as fp32, exactly.
HWY_INLINE F widen_lanes(const std::byte* HWY_RESTRICT from, DType dtype) {
  const hn::Rebind<std::uint16_t, DF> halves;
  const hn::Repartition<std::uint8_t, decltype(halves)> bytes;
  const auto bits = hn::BitCast(halves, hn::LoadU(bytes, reinterpret_cast<const std::uint8_t*>(from)));
  if (dtype == DType::f16) {
    const hn::Rebind<hwy::float16_t, DF> f16;
    return hn::PromoteTo(kF32, hn::BitCast(f16, bits));
  }
  return hn::BitCast(kF32, hn::ShiftLeft<16>(hn::PromoteTo(kU32, bits)));
}
#endif

// ops::widen() with vectors.
HWY_INLINE void widen_row(const std::byte* HWY_RESTRICT from, DType dtype, std::size_t count, float* HWY_RESTRICT to) {
  std::size_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  if (dtype != DType::f32) {
    for (; i + kLanes <= count; i += kLanes) store(widen_lanes(from + 2 * i, dtype), to + i);
  }
#endif
  ops::widen(from + i * dtype_size(dtype), dtype, {to + i, count - i});
}

}  // namespace HWY_NAMESPACE
}  // namespace sightline
HWY_AFTER_NAMESPACE();

#endif  // SIGHTLINE_OPS_WIDEN_INL_H_
