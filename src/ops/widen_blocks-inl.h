// Blocks of quantised weights as fp32: the bits of decode_blocks(), in vectors. Codes are taken apart as bytes, 16 of a
// row in each 128 bits: of one row, for panels, or of as many rows as a vector has 128 bits, for a product with one row
// of x. The scales of a block are worked out together and then spread one by one.
// Included once per target by way of hwy/foreach_target.h.

#if defined(SIGHTLINE_OPS_WIDEN_BLOCKS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SIGHTLINE_OPS_WIDEN_BLOCKS_INL_H_
#undef SIGHTLINE_OPS_WIDEN_BLOCKS_INL_H_
#else
#define SIGHTLINE_OPS_WIDEN_BLOCKS_INL_H_
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

#if HWY_TARGET == HWY_SCALAR
template <DType kType, class Sink>
HWY_INLINE void widen_block(const std::byte* HWY_RESTRICT from, Sink sink) {
  float values[block_layout(kType).width];
  decode_blocks(kType, from, values);
  for (std::size_t i = 0; i < block_layout(kType).width; ++i) sink(i, F(values[i]));
}
#else

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
#if HWY_TARGET == HWY_AVX3
        const F scale = hn::IfThenElse(hn::FirstN(kF32, 8), first, second);
#else
        const F scale = i < 8 ? first : second;
#endif
        store(hn::Mul(number, scale), scales_ + i);
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
#if HWY_TARGET == HWY_AVX3
    return hn::PromoteTo(kI32, all);
#elif HWY_TARGET == HWY_AVX2
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
#if HWY_TARGET == HWY_AVX3
    const hn::FixedTag<std::uint8_t, 32> two;
    return hn::Combine(D(), hn::Combine(two, of_row(3), of_row(2)), hn::Combine(two, of_row(1), of_row(0)));
#elif HWY_TARGET == HWY_AVX2
    return hn::Combine(D(), of_row(1), of_row(0));
#else
    return of_row(0);
#endif
  }
  // An f16 of each row in its lanes, as fp32.
  HWY_INLINE F f16(int at) const {
    const hn::Rebind<std::uint16_t, DF> halves;
    const hn::Repartition<std::uint8_t, decltype(halves)> bytes;
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
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

// What follows takes blocks apart, whichever of the two classes holds them.

// 32 codes of four bits that stand for d * (code - kZero), at `codes`.
template <int kZero, class Blocks>
HWY_INLINE void four_bits(const Blocks& blocks, int codes, F d) {
  const auto bytes = blocks.load(codes);
  blocks.scaled(minus(bits_of<0, 4>(bytes), kZero), d, 0);
  blocks.scaled(minus(bits_of<4, 4>(bytes), kZero), d, 16);
}

// 32 codes of four bits that stand for d * levels[code].
template <class Blocks>
HWY_INLINE void levels(const Blocks& blocks, int codes, const std::array<std::int8_t, 16>& levels, F d, int first) {
  const typename Blocks::D bytes_tag;
  const auto table = hn::LoadDup128(bytes_tag, reinterpret_cast<const std::uint8_t*>(levels.data()));
  const auto bytes = blocks.load(codes);
  blocks.scaled(hn::TableLookupBytes(table, bits_of<0, 4>(bytes)), d, first);
  blocks.scaled(hn::TableLookupBytes(table, bits_of<4, 4>(bytes)), d, first + 16);
}

// 32 codes: halves of bytes at `codes`, fifth bits at `fifth`.
template <class Blocks, class Emit>
HWY_INLINE void five_bits(const Blocks& blocks, int fifth, int codes, Emit emit) {
  const auto bits = blocks.word(fifth), bytes = blocks.load(codes);
  emit(0, hn::Or(bits_of<0, 4>(bytes), spread_bits<0, 4>(bits)));
  emit(16, hn::Or(bits_of<4, 4>(bytes), spread_bits<1, 4>(bits)));
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

template <class Blocks>
HWY_INLINE void widen_q2_k(const Blocks& blocks) {
  typename Blocks::Scales scales, minima;
  const auto pairs = blocks.load(0);
  scales.template set<false>(bits_of<0, 4>(pairs), blocks.f16(80));
  minima.template set<false>(bits_of<4, 4>(pairs), hn::Neg(blocks.f16(82)));
  unroll<16>([&](auto group) SIGHTLINE_LAMBDA {
    constexpr int kGroup = decltype(group)::value;
    const auto codes = bits_of<kGroup % 8 / 2 * 2, 2>(blocks.load(16 + kGroup / 8 * 32 + kGroup % 2 * 16));
    blocks.scaled_onto(codes, scales.template of<kGroup>(), minima.template of<kGroup>(), kGroup * 16);
  });
}

template <class Blocks>
HWY_INLINE void widen_q3_k(const Blocks& blocks) {
  typename Blocks::Scales scales;
  // The twelve bytes at 96, read so that the block's end is not passed.
  scales.template set<true>(q3_k_scales(hn::ShiftRightBytes<2>(typename Blocks::D(), blocks.load(94))),
                            blocks.f16(108));
  unroll<16>([&](auto group) SIGHTLINE_LAMBDA {
    constexpr int kGroup = decltype(group)::value;
    const auto codes = bits_of<kGroup % 8 / 2 * 2, 2>(blocks.load(32 + kGroup / 8 * 32 + kGroup % 2 * 16));
    const auto third = moved_bit<kGroup / 2, 2>(blocks.load(kGroup % 2 * 16));
    blocks.scaled(minus(hn::Or(codes, third), 4), scales.template of<kGroup>(), kGroup * 16);
  });
}

// kFive: q5_k.
template <bool kFive, class Blocks>
HWY_INLINE void widen_q45_k(const Blocks& blocks) {
  typename Blocks::Scales scales;
  scales.set_halves(scales_and_minima(blocks.load(4)), blocks.f16(0), hn::Neg(blocks.f16(2)));
  unroll<16>([&](auto half) SIGHTLINE_LAMBDA {
    constexpr int kHalf = decltype(half)::value, kGroup = kHalf / 2;
    auto codes = bits_of<kGroup % 2 * 4, 4>(blocks.load((kFive ? 48 : 16) + kGroup / 2 * 32 + kHalf % 2 * 16));
    if constexpr (kFive) codes = hn::Or(codes, moved_bit<kGroup, 4>(blocks.load(16 + kHalf % 2 * 16)));
    blocks.scaled_onto(codes, scales.template of<kGroup>(), scales.template of<kGroup + 8>(), kHalf * 16);
  });
}

template <class Blocks>
HWY_INLINE void widen_q6_k(const Blocks& blocks) {
  typename Blocks::Scales scales;
  scales.template set<true>(blocks.load(192), blocks.f16(208));
  unroll<16>([&](auto group) SIGHTLINE_LAMBDA {
    constexpr int kGroup = decltype(group)::value, kPart = kGroup / 8, kQuarter = kGroup % 8 / 2, kHalf = kGroup % 2;
    const auto low = bits_of<kQuarter / 2 * 4, 4>(blocks.load(kPart * 64 + kQuarter % 2 * 32 + kHalf * 16));
    const auto high = bits_of<kQuarter * 2, 2>(blocks.load(128 + kPart * 32 + kHalf * 16));
    const hn::Repartition<std::uint16_t, typename Blocks::D> wide;
    const auto moved = hn::BitCast(typename Blocks::D(), hn::ShiftLeft<4>(hn::BitCast(wide, high)));
    blocks.scaled(minus(hn::Or(low, moved), 32), scales.template of<kGroup>(), kGroup * 16);
  });
}

template <class Blocks>
HWY_INLINE void widen_iq4_xs(const Blocks& blocks) {
  typename Blocks::Scales scales;
  const auto numbers = blocks.numbers([](const std::byte* block, std::uint8_t* to) SIGHTLINE_LAMBDA {
    const unsigned high = load_element<std::uint16_t>(block + 2);
    const auto low = load_element<std::uint32_t>(block + 4);
    for (int g = 0; g < 8; ++g) {
      to[g] = static_cast<std::uint8_t>(((low >> (4 * g) & 15) | (high >> (2 * g) & 3) << 4) - 32);
    }
  });
  scales.template set<true>(numbers, blocks.f16(0));
  unroll<8>([&](auto group) SIGHTLINE_LAMBDA {
    constexpr int kGroup = decltype(group)::value;
    levels(blocks, 8 + kGroup * 16, kIq4Levels, scales.template of<kGroup>(), kGroup * 32);
  });
}

template <DType kType, class Blocks>
HWY_INLINE void widen_blocks(const Blocks& blocks) {
  if constexpr (kType == DType::q4_0) {
    four_bits<8>(blocks, 2, blocks.f16(0));
  } else if constexpr (kType == DType::q4_1) {
    const F d = blocks.f16(0), m = blocks.f16(2);
    const auto bytes = blocks.load(4);
    blocks.scaled_onto(bits_of<0, 4>(bytes), d, m, 0);
    blocks.scaled_onto(bits_of<4, 4>(bytes), d, m, 16);
  } else if constexpr (kType == DType::iq4_nl) {
    levels(blocks, 2, kIq4Levels, blocks.f16(0), 0);
  } else if constexpr (kType == DType::mxfp4) {
    levels(blocks, 1, kFp4Levels, fp4_scale(blocks.byte(0)), 0);
  } else if constexpr (kType == DType::q5_0) {
    const F d = blocks.f16(0);
    five_bits(blocks, 2, 6, [&](int i, auto codes) SIGHTLINE_LAMBDA { blocks.scaled(minus(codes, 16), d, i); });
  } else if constexpr (kType == DType::q5_1) {
    const F d = blocks.f16(0), m = blocks.f16(2);
    five_bits(blocks, 4, 8, [&](int i, auto codes) SIGHTLINE_LAMBDA { blocks.scaled_onto(codes, d, m, i); });
  } else if constexpr (kType == DType::q8_0) {
    const F d = blocks.f16(0);
    blocks.scaled(blocks.load(2), d, 0);
    blocks.scaled(blocks.load(18), d, 16);
  } else if constexpr (kType == DType::q2_k) {
    widen_q2_k(blocks);
  } else if constexpr (kType == DType::q3_k) {
    widen_q3_k(blocks);
  } else if constexpr (kType == DType::q4_k || kType == DType::q5_k) {
    widen_q45_k<kType == DType::q5_k>(blocks);
  } else if constexpr (kType == DType::q6_k) {
    widen_q6_k(blocks);
  } else {
    static_assert(kType == DType::iq4_xs);
    widen_iq4_xs(blocks);
  }
}

// sink(i, F): the elements of a block in vectors, i ascending and known when this is compiled.
template <DType kType, class Sink>
HWY_INLINE void widen_block(const std::byte* HWY_RESTRICT from, Sink sink) {
  widen_blocks<kType>(BlockInLanes<Sink>(from, sink));
}

// The blocks `at` bytes from the starts of kRowsTogether rows, to the sink of RowsInLanes.
template <DType kType, class Sink>
HWY_INLINE void widen_row_blocks(const std::byte* const* rows, std::size_t at, Sink sink) {
  widen_blocks<kType>(RowsInLanes<Sink>(rows, at, sink));
}
#endif

}  // namespace HWY_NAMESPACE
}  // namespace sightline
HWY_AFTER_NAMESPACE();

#endif  // SIGHTLINE_OPS_WIDEN_BLOCKS_INL_H_
