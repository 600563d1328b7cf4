// How blocks of quantised weights lie in vectors. Codes are taken apart as bytes, 16 of a row in each 128 bits: of one
// row, for panels, or of as many rows as a vector has 128 bits, for a product with one row of x.
// Included once per target by way of hwy/foreach_target.h.

#if defined(SIGHTLINE_OPS_BLOCK_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SIGHTLINE_OPS_BLOCK_LANES_INL_H_
#undef SIGHTLINE_OPS_BLOCK_LANES_INL_H_
#else
#define SIGHTLINE_OPS_BLOCK_LANES_INL_H_
#endif

#include <array>
#include <cstring>
#include <type_traits>
#include <utility>

#include "src/ops/fold-inl.h"
#include "src/tensor/blocks.h"
#include "src/tensor/element.h"

HWY_BEFORE_NAMESPACE();
namespace sightline {
namespace HWY_NAMESPACE {

// body(i) for each i below kCount, as a constant.
template <class Body, int... kIndexes>
HWY_INLINE void unroll_indexes(Body& body, std::integer_sequence<int, kIndexes...>) {
  (body(std::integral_constant<int, kIndexes>()), ...);
}
template <int kCount, class Body>
HWY_INLINE void unroll(Body body) {
  unroll_indexes(body, std::make_integer_sequence<int, kCount>());
}

#if HWY_TARGET != HWY_SCALAR

template <class V>
using Words = hn::Repartition<std::uint32_t, hn::DFromV<V> >;

template <class V>
HWY_INLINE V set_bytes(V, int value) {
  return hn::Set(hn::DFromV<V>(), static_cast<std::uint8_t>(value));
}

// Bits kShift to kShift + kBits - 1 of bytes. Those of neighbours that a shift of 16 bits brings in are masked.
template <int kShift, int kBits, class V>
HWY_INLINE V bits_of(V bytes) {
  const hn::Repartition<std::uint16_t, hn::DFromV<V> > wide;
  const V shifted = hn::BitCast(hn::DFromV<V>(), hn::ShiftRight<kShift>(hn::BitCast(wide, bytes)));
  return hn::And(shifted, set_bytes(bytes, (1 << kBits) - 1));
}

// Bit kBit of bytes, moved to bit kTo.
template <int kBit, int kTo, class V>
HWY_INLINE V moved_bit(V bytes) {
  const hn::DFromV<V> d;
  const auto from = hn::BitCast(hn::Repartition<std::uint16_t, decltype(d)>(), bytes);
  if constexpr (kBit > kTo) {
    return hn::And(hn::BitCast(d, hn::ShiftRight<kBit - kTo>(from)), set_bytes(bytes, 1 << kTo));
  } else {
    return hn::And(hn::BitCast(d, hn::ShiftLeft<kTo - kBit>(from)), set_bytes(bytes, 1 << kTo));
  }
}

template <class V>
HWY_INLINE V minus(V bytes, int subtrahend) {
  return hn::Sub(bytes, set_bytes(bytes, subtrahend));
}

// Bytes 8 kHalf to 8 kHalf + 7, say, of four that repeat: 1 << kTo where bit i of the half of 32 bits is set.
template <int kHalf, int kTo, class V>
HWY_INLINE V spread_bits(V repeated) {
  const hn::DFromV<V> d;
  alignas(16) static constexpr std::uint8_t kByte[16] = {2 * kHalf,     2 * kHalf,     2 * kHalf,     2 * kHalf,
                                                         2 * kHalf,     2 * kHalf,     2 * kHalf,     2 * kHalf,
                                                         2 * kHalf + 1, 2 * kHalf + 1, 2 * kHalf + 1, 2 * kHalf + 1,
                                                         2 * kHalf + 1, 2 * kHalf + 1, 2 * kHalf + 1, 2 * kHalf + 1};
  alignas(16) static constexpr std::uint8_t kBit[16] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
  const V bit = hn::LoadDup128(d, kBit);
  const auto set = hn::Eq(hn::And(hn::TableLookupBytes(repeated, hn::LoadDup128(d, kByte)), bit), bit);
  return hn::And(hn::VecFromMask(d, set), set_bytes(bit, 1 << kTo));
}

// From the second 64 bits of each 128 of `upper`, from the first of `lower`.
template <class V>
HWY_INLINE V halves_of(V upper, V lower) {
  const hn::DFromV<V> d;
  const hn::Repartition<std::uint64_t, decltype(d)> wide;
  return hn::BitCast(d, hn::OddEven(hn::BitCast(wide, upper), hn::BitCast(wide, lower)));
}

// Eight scales and eight minima of six bits of q4_k and q5_k, in 16 bytes.
template <class V>
HWY_INLINE V scales_and_minima(V bytes) {
  const Words<V> words;
  const auto w = hn::BitCast(words, bytes);             // a, b, c, codes
  const auto pairs = hn::InterleaveLower(words, w, w);  // a, a, b, b
  const auto c = hn::Broadcast<2>(w);
  const auto low = hn::And(pairs, hn::Set(words, 0x3F3F3F3F));
  const auto high = hn::Or(hn::And(halves_of(hn::ShiftRight<4>(c), c), hn::Set(words, 0x0F0F0F0F)),
                           hn::And(hn::ShiftRight<2>(pairs), hn::Set(words, 0x30303030)));
  return hn::BitCast(hn::DFromV<V>(), hn::OddEven(high, low));
}

// Sixteen scales of six bits of q3_k, less 32.
template <class V>
HWY_INLINE V q3_k_scales(V bytes) {
  const Words<V> words;
  const hn::Repartition<std::uint64_t, hn::DFromV<V> > wide;
  alignas(16) static constexpr std::uint32_t kShifts[4] = {0, 2, 4, 6};
  const auto w = hn::BitCast(words, bytes);  // a, b, c, and more
  const auto both = hn::BitCast(wide, bytes);
  const auto pairs = hn::BitCast(words, hn::InterleaveLower(wide, both, both));  // a, b, a, b
  const auto low = hn::And(halves_of(hn::ShiftRight<4>(pairs), pairs), hn::Set(words, 0x0F0F0F0F));
  const auto high = hn::And(hn::Shr(hn::Broadcast<2>(w), hn::LoadDup128(words, kShifts)), hn::Set(words, 0x03030303));
  return minus(hn::BitCast(hn::DFromV<V>(), hn::Or(low, hn::ShiftLeft<4>(high))), 32);
}

#if HWY_TARGET != HWY_AVX3  // which has widen_tables-inl.h
// 2^(e - 128), e of 32 bits.
HWY_INLINE F fp4_scale(hn::Vec<DU> e) {
  const auto two = hn::Set(kU32, 2), one = hn::Set(kU32, 1);
  const auto subnormal = hn::IfThenElse(hn::Eq(e, one), hn::Set(kU32, 0x00400000), hn::Set(kU32, 0x00200000));
  const auto small = hn::Eq(hn::Min(e, two), e);  // 0, 1 and 2, whose scale is a power of two lower down
  const auto normal = hn::ShiftLeft<23>(hn::Sub(e, one));
  return hn::BitCast(kF32, hn::IfThenElse(hn::And(small, hn::Ne(e, two)), subnormal, normal));
}

// A block whose elements, 16 at a time, go to sink(i, F) in vectors.
template <class Sink>
class BlockInLanes {
 public:
  using D = hn::FixedTag<std::uint8_t, 16>;
  using V = hn::Vec<D>;

  HWY_INLINE BlockInLanes(const std::byte* block, Sink sink) : block_(block), sink_(sink) {}

  HWY_INLINE V load(int at) const { return hn::LoadU(D(), reinterpret_cast<const std::uint8_t*>(block_ + at)); }
  // An f16 in all lanes, as fp32.
  HWY_INLINE F f16(int at) const {
    const auto bits = hn::Set(hn::Rebind<std::uint16_t, DF>(), load_element<std::uint16_t>(block_ + at));
    return hn::PromoteTo(kF32, hn::BitCast(hn::Rebind<hwy::float16_t, DF>(), bits));
  }
  HWY_INLINE hn::Vec<DU> byte(int at) const { return hn::Set(kU32, std::to_integer<std::uint32_t>(block_[at])); }
  // 32 bits, over and over.
  HWY_INLINE V word(int at) const {
    return hn::BitCast(D(), hn::Set(hn::Repartition<std::uint32_t, D>(), load_element<std::uint32_t>(block_ + at)));
  }
  // fill(block, 16 bytes to write).
  template <class Fill>
  HWY_INLINE V numbers(Fill fill) const {
    alignas(16) std::uint8_t bytes[16] = {};
    fill(block_, bytes);
    return hn::Load(D(), bytes);
  }

  // Numbers times `scale`, of elements `first` to `first` + 15.
  HWY_INLINE void scaled(V signed_codes, F scale, int first) const {
    each_number<true>(signed_codes,
                      [&](int i, F number) SIGHTLINE_LAMBDA { sink_(first + i, hn::Mul(number, scale)); });
  }
  // Numbers times `scale`, which is exact, and `offset`.
  HWY_INLINE void scaled_onto(V codes, F scale, F offset, int first) const {
    each_number<false>(codes, [&](int i, F number) SIGHTLINE_LAMBDA { sink_(first + i, fma(number, scale, offset)); });
  }

  // Sixteen numbers, scaled, to be taken one by one.
  class Scales {
   public:
    template <bool kSigned>
    HWY_INLINE void set(V numbers, F scale) {
      each_number<kSigned>(numbers,
                           [&](int i, F number) SIGHTLINE_LAMBDA { store(hn::Mul(number, scale), scales_ + i); });
    }
    // The second eight with a scale of their own.
    HWY_INLINE void set_halves(V numbers, F first, F second) {
      each_number<false>(numbers, [&](int i, F number) SIGHTLINE_LAMBDA {
        store(hn::Mul(number, i < 8 ? first : second), scales_ + i);
      });
    }
    template <int kGroup>
    HWY_INLINE F of() const {
      return splat(scales_[kGroup]);
    }

   private:
    alignas(64) float scales_[16];
  };

 private:
  // Part kPart of 16 bytes, signed or not, as numbers.
  template <bool kSigned, int kPart>
  static HWY_INLINE I promote(V bytes) {
    using T = std::conditional_t<kSigned, std::int8_t, std::uint8_t>;
    const auto all = hn::BitCast(hn::FixedTag<T, 16>(), bytes);
#if HWY_TARGET == HWY_AVX2
    if constexpr (kPart == 0) {
      return hn::PromoteTo(kI32, hn::LowerHalf(all));
    } else {
      return hn::PromoteTo(kI32, hn::UpperHalf(hn::FixedTag<T, 8>(), all));
    }
#else
    static_assert(kLanes == 4);
    const hn::FixedTag<std::int16_t, 8> wide;
    const auto half = [&]() SIGHTLINE_LAMBDA {
      if constexpr (kPart < 2) {
        return hn::PromoteTo(wide, hn::LowerHalf(all));
      } else {
        return hn::PromoteTo(wide, hn::UpperHalf(hn::FixedTag<T, 8>(), all));
      }
    }();
    if constexpr (kPart % 2 == 0) {
      return hn::PromoteTo(kI32, hn::LowerHalf(half));
    } else {
      return hn::PromoteTo(kI32, hn::UpperHalf(hn::FixedTag<std::int16_t, 4>(), half));
    }
#endif
  }

  // body(element, F number) for the parts of 16 bytes.
  template <bool kSigned, class Body>
  static HWY_INLINE void each_number(V bytes, Body body) {
    unroll<static_cast<int>(kParts)>([&](auto part) SIGHTLINE_LAMBDA {
      constexpr int kPart = decltype(part)::value;
      body(kPart * static_cast<int>(kLanes), hn::ConvertTo(kF32, promote<kSigned, kPart>(bytes)));
    });
  }

  const std::byte* block_;
  Sink sink_;
};

// Blocks of as many rows as a vector has 128 bits. Each of those holds 16 codes of its row; byte b of its number j of
// 32 bits is element 4 j + b, so that four shifts take them apart, and no number crosses from one 128 bits to others.
inline constexpr int kRowsTogether = static_cast<int>(kLanes / 4);

// sink(first, b, F): lane 4 r + j holds element first + 4 j + b of row r.
template <class Sink>
class RowsInLanes {
 public:
  using D = hn::Repartition<std::uint8_t, DF>;
  using V = hn::Vec<D>;

  HWY_INLINE RowsInLanes(const std::byte* const* rows, std::size_t at, Sink sink) : sink_(sink) {
    for (int r = 0; r < kRowsTogether; ++r) rows_[r] = rows[r] + at;
  }

  HWY_INLINE V load(int at) const {
    const hn::FixedTag<std::uint8_t, 16> one;
    const auto of_row = [&](int r) SIGHTLINE_LAMBDA {
      return hn::LoadU(one, reinterpret_cast<const std::uint8_t*>(rows_[r] + at));
    };
#if HWY_TARGET == HWY_AVX2
    return hn::Combine(D(), of_row(1), of_row(0));
#else
    return of_row(0);
#endif
  }
  // An f16 of each row in its lanes, as fp32.
  HWY_INLINE F f16(int at) const {
    const hn::Rebind<std::uint16_t, DF> halves;
#if HWY_TARGET == HWY_AVX2
    const hn::Repartition<std::uint8_t, decltype(halves)> bytes;
    alignas(32) static constexpr std::uint8_t kSpread[32] = {0, 1, 0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3, 2, 3,
                                                             4, 5, 4, 5, 4, 5, 4, 5, 6, 7, 6, 7, 6, 7, 6, 7};
    std::uint64_t all = 0;
    for (int r = 0; r < kRowsTogether; ++r)
      all |= std::uint64_t{load_element<std::uint16_t>(rows_[r] + at)} << (16 * r);
    const auto repeated = hn::BitCast(bytes, hn::Set(hn::Repartition<std::uint64_t, decltype(halves)>(), all));
    const auto bits = hn::BitCast(halves, hn::TableLookupBytes(repeated, hn::Load(bytes, kSpread)));
#else
    const auto bits = hn::Set(halves, load_element<std::uint16_t>(rows_[0] + at));
#endif
    return hn::PromoteTo(kF32, hn::BitCast(hn::Rebind<hwy::float16_t, DF>(), bits));
  }
  HWY_INLINE hn::Vec<DU> byte(int at) const {
    alignas(64) std::uint32_t lanes[kLanes];
    for (int i = 0; i < static_cast<int>(kLanes); ++i) lanes[i] = std::to_integer<std::uint32_t>(rows_[i / 4][at]);
    return hn::Load(kU32, lanes);
  }
  HWY_INLINE V word(int at) const {
    alignas(64) std::uint32_t lanes[kLanes];
    for (int i = 0; i < static_cast<int>(kLanes); ++i) lanes[i] = load_element<std::uint32_t>(rows_[i / 4] + at);
    return hn::BitCast(D(), hn::Load(kU32, lanes));
  }
  template <class Fill>
  HWY_INLINE V numbers(Fill fill) const {
    alignas(64) std::uint8_t bytes[16 * kRowsTogether] = {};
    for (int r = 0; r < kRowsTogether; ++r) fill(rows_[r], bytes + 16 * r);
    return hn::Load(D(), bytes);
  }

  HWY_INLINE void scaled(V signed_codes, F scale, int first) const {
    unroll<4>([&](auto b) SIGHTLINE_LAMBDA {
      constexpr int kByte = decltype(b)::value;
      sink_(first, kByte, hn::Mul(number<true, kByte>(signed_codes), scale));
    });
  }
  HWY_INLINE void scaled_onto(V codes, F scale, F offset, int first) const {
    unroll<4>([&](auto b) SIGHTLINE_LAMBDA {
      constexpr int kByte = decltype(b)::value;
      sink_(first, kByte, fma(number<false, kByte>(codes), scale, offset));
    });
  }

  class Scales {
   public:
    // Written out, since an implicit constructor is not compiled for the target.
    HWY_INLINE Scales() {}
    template <bool kSigned>
    HWY_INLINE void set(V numbers, F scale) {
      unroll<4>([&](auto b) SIGHTLINE_LAMBDA {
        constexpr int kByte = decltype(b)::value;
        scales_[kByte] = hn::Mul(number<kSigned, kByte>(numbers), scale);
      });
    }
    HWY_INLINE void set_halves(V numbers, F first, F second) { set<false>(numbers, halves_of(second, first)); }
    template <int kGroup>
    HWY_INLINE F of() const {
      return hn::Broadcast<kGroup / 4>(scales_[kGroup % 4]);
    }

   private:
    F scales_[4];
  };

 private:
  template <bool kSigned, int kByte>
  static HWY_INLINE F number(V bytes) {
    if constexpr (kSigned) {
      return hn::ConvertTo(kF32, hn::ShiftRight<24>(hn::ShiftLeft<24 - 8 * kByte>(hn::BitCast(kI32, bytes))));
    } else {
      const auto shifted = hn::ShiftRight<8 * kByte>(hn::BitCast(kU32, bytes));
      return hn::ConvertTo(kF32, hn::BitCast(kI32, hn::And(shifted, hn::Set(kU32, 255))));
    }
  }

  const std::byte* rows_[kRowsTogether];
  Sink sink_;
};
#endif  // HWY_TARGET != HWY_AVX3
#endif

}  // namespace HWY_NAMESPACE
}  // namespace sightline
HWY_AFTER_NAMESPACE();

#endif  // SIGHTLINE_OPS_BLOCK_LANES_INL_H_
