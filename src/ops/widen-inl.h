// Rows of stored weights as fp32. Included once per target by way of hwy/foreach_target.h.

#if defined(SIGHTLINE_OPS_WIDEN_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SIGHTLINE_OPS_WIDEN_INL_H_
#undef SIGHTLINE_OPS_WIDEN_INL_H_
#else
#define SIGHTLINE_OPS_WIDEN_INL_H_
#endif

#include <span>
#include <type_traits>

#include "src/ops/widen_blocks-inl.h"
#include "src/ops/widen_tables-inl.h"
#include "src/tensor/element.h"

HWY_BEFORE_NAMESPACE();
namespace sightline {
namespace HWY_NAMESPACE {

// A vector of F32, F16 or BF16 at any byte alignment as fp32, exactly.
template <DType kType>
HWY_INLINE F widen_lanes(const std::byte* HWY_RESTRICT from) {
#if HWY_TARGET == HWY_SCALAR
  return F(element_as_f32(kType, from));
#else
  // Through bytes, since a float* that is not aligned may not be read.
  if constexpr (kType == DType::f32) {
    const hn::Repartition<std::uint8_t, DF> bytes;
    return hn::BitCast(kF32, hn::LoadU(bytes, reinterpret_cast<const std::uint8_t*>(from)));
  } else {
    const hn::Rebind<std::uint16_t, DF> halves;
    const hn::Repartition<std::uint8_t, decltype(halves)> bytes;
    const auto bits = hn::BitCast(halves, hn::LoadU(bytes, reinterpret_cast<const std::uint8_t*>(from)));
    if constexpr (kType == DType::f16) {
      return hn::PromoteTo(kF32, hn::BitCast(hn::Rebind<hwy::float16_t, DF>(), bits));
    } else {
      return hn::BitCast(kF32, hn::ShiftLeft<16>(hn::PromoteTo(kU32, bits)));
    }
  }
#endif
}

// Elements that are widened together: a block, or as many as a sum has chains.
template <DType kType>
constexpr std::size_t unit_width() {
  return is_block(kType) ? block_layout(kType).width : kChains;
}
template <DType kType>
constexpr std::size_t unit_bytes() {
  return is_block(kType) ? block_layout(kType).bytes : kChains * (kType == DType::f32 ? 4 : 2);
}

// sink(i, F): the elements of a unit in vectors, i ascending and known when this is compiled.
template <DType kType, class Sink>
HWY_INLINE void widen_unit(const std::byte* HWY_RESTRICT from, Sink sink) {
  if constexpr (is_block(kType)) {
    widen_block<kType>(from, sink);
  } else {
    unroll<static_cast<int>(kParts)>([&](auto part) SIGHTLINE_LAMBDA {
      constexpr std::size_t kAt = decltype(part)::value * kLanes;
      sink(kAt, widen_lanes<kType>(from + kAt * (kType == DType::f32 ? 4 : 2)));
    });
  }
}

// The same of all whole units of a row.
template <DType kType, class Sink>
HWY_INLINE void widen_row(const std::byte* HWY_RESTRICT from, std::size_t count, Sink sink) {
  constexpr std::size_t kWidth = unit_width<kType>();
  for (std::size_t unit = 0; unit + kWidth <= count; unit += kWidth, from += unit_bytes<kType>()) {
    widen_unit<kType>(from, [&](std::size_t i, F value) SIGHTLINE_LAMBDA { sink(unit + i, value); });
  }
}

// The elements of a row of F32, F16 or BF16 after its last whole unit.
inline void widen_rest(const std::byte* from, DType dtype, std::span<float> to) {
  for (std::size_t i = to.size() / kChains * kChains; i < to.size() && !is_block(dtype); ++i) {
    to[i] = element_as_f32(dtype, from + i * dtype_size(dtype));
  }
}

// body(std::integral_constant<DType, dtype>).
template <class Body>
HWY_INLINE void with_weight_type(DType dtype, Body body) {
  switch (dtype) {
#define SIGHTLINE_OPS_CASE(type) \
  case DType::type:              \
    return body(std::integral_constant<DType, DType::type>())
    SIGHTLINE_OPS_CASE(f32);
    SIGHTLINE_OPS_CASE(f16);
    SIGHTLINE_OPS_CASE(bf16);
    SIGHTLINE_OPS_CASE(q4_0);
    SIGHTLINE_OPS_CASE(q4_1);
    SIGHTLINE_OPS_CASE(q5_0);
    SIGHTLINE_OPS_CASE(q5_1);
    SIGHTLINE_OPS_CASE(q8_0);
    SIGHTLINE_OPS_CASE(q2_k);
    SIGHTLINE_OPS_CASE(q3_k);
    SIGHTLINE_OPS_CASE(q4_k);
    SIGHTLINE_OPS_CASE(q5_k);
    SIGHTLINE_OPS_CASE(q6_k);
    SIGHTLINE_OPS_CASE(iq4_nl);
    SIGHTLINE_OPS_CASE(iq4_xs);
    SIGHTLINE_OPS_CASE(mxfp4);
#undef SIGHTLINE_OPS_CASE
    default:
      return;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace sightline
HWY_AFTER_NAMESPACE();

#endif  // SIGHTLINE_OPS_WIDEN_INL_H_
