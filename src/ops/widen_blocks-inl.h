// Blocks of quantised weights as fp32: the bits of decode_blocks(), in vectors. Codes are taken apart as bytes, 16 at a
// time in 128 bits, which every target has; the scales of a block are worked out together and then spread one by one.
// Included once per target by way of hwy/foreach_target.h.

#if defined(SIGHTLINE_OPS_WIDEN_BLOCKS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SIGHTLINE_OPS_WIDEN_BLOCKS_INL_H_
#undef SIGHTLINE_OPS_WIDEN_BLOCKS_INL_H_
#else
#define SIGHTLINE_OPS_WIDEN_BLOCKS_INL_H_
#endif

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

using DBytes = hn::FixedTag<std::uint8_t, 16>;
inline constexpr DBytes kBytes{};
using Bytes = hn::Vec<DBytes>;

HWY_INLINE Bytes load_bytes(const std::byte* HWY_RESTRICT from) {
  return hn::LoadU(kBytes, reinterpret_cast<const std::uint8_t*>(from));
}

// An f16 in all lanes, as fp32.
HWY_INLINE F splat_f16(const std::byte* from) {
  const hn::Rebind<std::uint16_t, DF> halves;
  const auto bits = hn::Set(halves, load_element<std::uint16_t>(from));
  return hn::PromoteTo(kF32, hn::BitCast(hn::Rebind<hwy::float16_t, DF>(), bits));
}

// Part kPart of 16 bytes, signed or not, as numbers.
template <bool kSigned, int kPart>
HWY_INLINE I promote(Bytes bytes) {
  using T = std::conditional_t<kSigned, std::int8_t, std::uint8_t>;
  const auto all = hn::BitCast(hn::FixedTag<T, 16>(), bytes);
#if HWY_TARGET == HWY_AVX3
  return hn::PromoteTo(kI32, all);
#elif HWY_TARGET == HWY_AVX2
  if constexpr (kPart == 0)
    return hn::PromoteTo(kI32, hn::LowerHalf(all));
  else
    return hn::PromoteTo(kI32, hn::UpperHalf(hn::FixedTag<T, 8>(), all));
#else
  static_assert(kLanes == 4);
  const hn::FixedTag<std::int16_t, 8> wide;
  const auto half = [&]() SIGHTLINE_LAMBDA {
    if constexpr (kPart < 2)
      return hn::PromoteTo(wide, hn::LowerHalf(all));
    else
      return hn::PromoteTo(wide, hn::UpperHalf(hn::FixedTag<T, 8>(), all));
  }();
  if constexpr (kPart % 2 == 0)
    return hn::PromoteTo(kI32, hn::LowerHalf(half));
  else
    return hn::PromoteTo(kI32, hn::UpperHalf(hn::FixedTag<std::int16_t, 4>(), half));
#endif
}

// body(element, F number) for the parts of 16 bytes.
template <bool kSigned, class Body>
HWY_INLINE void each_number(Bytes bytes, Body body) {
  unroll<static_cast<int>(kParts)>([&](auto part) SIGHTLINE_LAMBDA {
    constexpr int kPart = decltype(part)::value;
    body(kPart * kLanes, hn::ConvertTo(kF32, promote<kSigned, kPart>(bytes)));
  });
}

// Numbers * scale, to sink(first + element, F).
template <class Sink>
HWY_INLINE void scaled(Bytes signed_codes, F scale, std::size_t first, Sink& sink) {
  each_number<true>(signed_codes,
                    [&](std::size_t i, F number) SIGHTLINE_LAMBDA { sink(first + i, hn::Mul(number, scale)); });
}

// Numbers * scale + offset. The product is exact.
template <class Sink>
HWY_INLINE void scaled_onto(Bytes codes, F scale, F offset, std::size_t first, Sink& sink) {
  each_number<false>(codes,
                     [&](std::size_t i, F number) SIGHTLINE_LAMBDA { sink(first + i, fma(number, scale, offset)); });
}

// Bits kShift to kShift + kBits - 1 of bytes. Those of neighbours that a shift of 16 bits brings in are masked.
template <int kShift, int kBits>
HWY_INLINE Bytes bits_of(Bytes bytes) {
  const hn::Repartition<std::uint16_t, DBytes> wide;
  const Bytes shifted = hn::BitCast(kBytes, hn::ShiftRight<kShift>(hn::BitCast(wide, bytes)));
  return hn::And(shifted, hn::Set(kBytes, (1 << kBits) - 1));
}

// Bit kBit of bytes, moved to bit kTo.
template <int kBit, int kTo>
HWY_INLINE Bytes moved_bit(Bytes bytes) {
  const hn::Repartition<std::uint16_t, DBytes> wide;
  const auto from = hn::BitCast(wide, bytes);
  const Bytes mask = hn::Set(kBytes, 1 << kTo);
  if constexpr (kBit > kTo)
    return hn::And(hn::BitCast(kBytes, hn::ShiftRight<kBit - kTo>(from)), mask);
  else
    return hn::And(hn::BitCast(kBytes, hn::ShiftLeft<kTo - kBit>(from)), mask);
}

HWY_INLINE Bytes minus(Bytes bytes, int subtrahend) {
  return hn::Sub(bytes, hn::Set(kBytes, static_cast<std::uint8_t>(subtrahend)));
}

// 16 bytes of bits of kBit, from 16 bits of a number.
template <int kTo>
HWY_INLINE Bytes spread_bits(unsigned bits) {
  alignas(16) static constexpr std::uint8_t kByte[16] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1};
  alignas(16) static constexpr std::uint8_t kBit[16] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
  const Bytes both =
      hn::BitCast(kBytes, hn::Set(hn::Repartition<std::uint16_t, DBytes>(), static_cast<std::uint16_t>(bits)));
  const Bytes bit = hn::Load(kBytes, kBit);
  const auto set = hn::Eq(hn::And(hn::TableLookupBytes(both, hn::Load(kBytes, kByte)), bit), bit);
  return hn::And(hn::VecFromMask(kBytes, set), hn::Set(kBytes, 1 << kTo));
}

// What codes of four bits stand for, before they are scaled.
enum class Levels { plain, centred, iq4, fp4 };

template <Levels kLevels>
constexpr int level(int code) {
  if (kLevels == Levels::plain) return code;
  if (kLevels == Levels::centred) return code - 8;
  return kLevels == Levels::iq4 ? kIq4Levels[code] : kFp4Levels[code];
}

template <class T, Levels kLevels>
struct LevelTable {
  constexpr LevelTable() {
    for (int code = 0; code < 16; ++code) value[code] = static_cast<T>(level<kLevels>(code));
  }
  alignas(64) T value[16] = {};
};

// Codes of four bits, with a scale: level * scale, or with kOffset level * scale + offset.
template <Levels kLevels, bool kOffset>
class FourBits {
 public:
#if HWY_TARGET == HWY_AVX3
  // The sixteen values fill a vector, so that a code selects its own: one instruction instead of three.
  HWY_INLINE FourBits(F scale, F offset) {
    static constexpr LevelTable<float, kLevels> kTable;
    const F levels = hn::Load(kF32, kTable.value);
    if constexpr (kOffset)
      values_ = fma(levels, scale, offset);
    else
      values_ = hn::Mul(levels, scale);
  }

  // 16 codes in the low or the high halves of bytes.
  template <bool kHigh, class Sink>
  HWY_INLINE void emit(Bytes codes, std::size_t first, Sink& sink) const {
    const I index = hn::PromoteTo(kI32, codes);
    // The instruction reads four bits of an index, whatever stands above them.
    sink(first, hn::TableLookupLanes(values_, {kHigh ? hn::ShiftRight<4>(index).raw : index.raw}));
  }

 private:
  F values_;
#else
  HWY_INLINE FourBits(F scale, F offset) : scale_(scale), offset_(offset) {}

  template <bool kHigh, class Sink>
  HWY_INLINE void emit(Bytes codes, std::size_t first, Sink& sink) const {
    const Bytes code = bits_of < kHigh ? 4 : 0, 4 > (codes);
    if constexpr (kOffset) {
      static_assert(kLevels == Levels::plain);
      scaled_onto(code, scale_, offset_, first, sink);
    } else if constexpr (kLevels == Levels::centred) {
      scaled(minus(code, 8), scale_, first, sink);
    } else {
      static constexpr LevelTable<std::uint8_t, kLevels> kTable;
      scaled(hn::TableLookupBytes(hn::Load(kBytes, kTable.value), code), scale_, first, sink);
    }
  }

 private:
  F scale_, offset_;
#endif
};

template <Levels kLevels, bool kOffset, class Sink>
HWY_INLINE void four_bit_block(const std::byte* codes, F scale, F offset, Sink& sink) {
  const FourBits<kLevels, kOffset> values(scale, offset);
  const Bytes bytes = load_bytes(codes);
  values.template emit<false>(bytes, 0, sink);
  values.template emit<true>(bytes, 16, sink);
}

// Codes of five bits: halves of bytes, and 32 fifth bits.
template <class Emit>
HWY_INLINE void five_bit_block(const std::byte* fifth, const std::byte* codes, Emit emit) {
  const auto bits = load_element<std::uint32_t>(fifth);
  const Bytes bytes = load_bytes(codes);
  emit(0, hn::Or(bits_of<0, 4>(bytes), spread_bits<4>(bits & 0xFFFF)));
  emit(16, hn::Or(bits_of<4, 4>(bytes), spread_bits<4>(bits >> 16)));
}

// The scales of a block's groups.
struct GroupScales {
  alignas(64) float scale[16];

  template <bool kSigned>
  HWY_INLINE void set(Bytes numbers, F factor) {
    each_number<kSigned>(numbers,
                         [&](std::size_t i, F number) SIGHTLINE_LAMBDA { store(hn::Mul(number, factor), scale + i); });
  }
  HWY_INLINE F of(int group) const { return splat(scale[group]); }
};

// Eight scales and eight minima of q4_k and q5_k, which stand in scale[0, 8) and [8, 16); the latter with their sign
// turned round.
HWY_INLINE void set_scales_and_minima(const std::byte* block, GroupScales& scales) {
  constexpr std::uint32_t kSix = 0x3F3F3F3F, kFour = 0x0F0F0F0F, kTwo = 0x03030303;
  const auto a = load_element<std::uint32_t>(block + 4), b = load_element<std::uint32_t>(block + 8),
             c = load_element<std::uint32_t>(block + 12);
  alignas(16) const std::uint32_t words[4] = {a & kSix, (c & kFour) | (a >> 6 & kTwo) << 4, b & kSix,
                                              (c >> 4 & kFour) | (b >> 6 & kTwo) << 4};
  const Bytes numbers = hn::BitCast(kBytes, hn::Load(hn::FixedTag<std::uint32_t, 4>(), words));
  const F d = splat_f16(block), dmin = hn::Neg(splat_f16(block + 2));
  each_number<false>(numbers, [&](std::size_t i, F number) SIGHTLINE_LAMBDA {
#if HWY_TARGET == HWY_AVX3
    const F factor = hn::IfThenElse(hn::FirstN(kF32, 8), d, dmin);
#else
    const F factor = i < 8 ? d : dmin;
#endif
    store(hn::Mul(number, factor), scales.scale + i);
  });
}

// Sixteen scales of six bits of q3_k.
HWY_INLINE void set_q3_k_scales(const std::byte* from, F d, GroupScales& scales) {
  constexpr std::uint32_t kFour = 0x0F0F0F0F, kTwo = 0x03030303;
  const auto a = load_element<std::uint32_t>(from), b = load_element<std::uint32_t>(from + 4),
             c = load_element<std::uint32_t>(from + 8);
  alignas(16)
      const std::uint32_t words[4] = {(a & kFour) | (c & kTwo) << 4, (b & kFour) | (c >> 2 & kTwo) << 4,
                                      (a >> 4 & kFour) | (c >> 4 & kTwo) << 4, (b >> 4 & kFour) | (c >> 6 & kTwo) << 4};
  scales.set<true>(minus(hn::BitCast(kBytes, hn::Load(hn::FixedTag<std::uint32_t, 4>(), words)), 32), d);
}

// 2^(e - 128).
HWY_INLINE F fp4_scale(const std::byte* from) {
  const auto e = std::to_integer<std::uint32_t>(*from);
  return hn::BitCast(kF32, hn::Set(kU32, e < 2 ? 0x00200000u << e : (e - 1) << 23));
}

template <class Sink>
HWY_INLINE void widen_q2_k(const std::byte* block, Sink& sink) {
  GroupScales scales, minima;
  const Bytes pairs = load_bytes(block);
  scales.set<false>(bits_of<0, 4>(pairs), splat_f16(block + 80));
  minima.set<false>(bits_of<4, 4>(pairs), hn::Neg(splat_f16(block + 82)));
  unroll<16>([&](auto group) SIGHTLINE_LAMBDA {
    constexpr int kGroup = decltype(group)::value;
    const Bytes bytes = load_bytes(block + 16 + kGroup / 8 * 32 + kGroup % 2 * 16);
    scaled_onto(bits_of<kGroup % 8 / 2 * 2, 2>(bytes), scales.of(kGroup), minima.of(kGroup), kGroup * 16, sink);
  });
}

template <class Sink>
HWY_INLINE void widen_q3_k(const std::byte* block, Sink& sink) {
  GroupScales scales;
  set_q3_k_scales(block + 96, splat_f16(block + 108), scales);
  unroll<16>([&](auto group) SIGHTLINE_LAMBDA {
    constexpr int kGroup = decltype(group)::value;
    const Bytes bytes = load_bytes(block + 32 + kGroup / 8 * 32 + kGroup % 2 * 16);
    const Bytes third = moved_bit<kGroup / 2, 2>(load_bytes(block + kGroup % 2 * 16));
    scaled(minus(hn::Or(bits_of<kGroup % 8 / 2 * 2, 2>(bytes), third), 4), scales.of(kGroup), kGroup * 16, sink);
  });
}

template <class Sink>
HWY_INLINE void widen_q4_k(const std::byte* block, Sink& sink) {
  GroupScales scales;
  set_scales_and_minima(block, scales);
  unroll<8>([&](auto group) SIGHTLINE_LAMBDA {
    constexpr int kGroup = decltype(group)::value;
    const FourBits<Levels::plain, true> values(scales.of(kGroup), scales.of(kGroup + 8));
    const std::byte* codes = block + 16 + kGroup / 2 * 32;
    values.template emit<kGroup % 2 == 1>(load_bytes(codes), kGroup * 32, sink);
    values.template emit<kGroup % 2 == 1>(load_bytes(codes + 16), kGroup * 32 + 16, sink);
  });
}

template <class Sink>
HWY_INLINE void widen_q5_k(const std::byte* block, Sink& sink) {
  GroupScales scales;
  set_scales_and_minima(block, scales);
  unroll<16>([&](auto half) SIGHTLINE_LAMBDA {
    constexpr int kHalf = decltype(half)::value, kGroup = kHalf / 2;
    const Bytes bytes = load_bytes(block + 48 + kGroup / 2 * 32 + kHalf % 2 * 16);
    const Bytes fifth = moved_bit<kGroup, 4>(load_bytes(block + 16 + kHalf % 2 * 16));
    scaled_onto(hn::Or(bits_of<kGroup % 2 * 4, 4>(bytes), fifth), scales.of(kGroup), scales.of(kGroup + 8), kHalf * 16,
                sink);
  });
}

template <class Sink>
HWY_INLINE void widen_q6_k(const std::byte* block, Sink& sink) {
  GroupScales scales;
  scales.set<true>(load_bytes(block + 192), splat_f16(block + 208));
  unroll<16>([&](auto group) SIGHTLINE_LAMBDA {
    constexpr int kGroup = decltype(group)::value, kPart = kGroup / 8, kQuarter = kGroup % 8 / 2, kHalf = kGroup % 2;
    const Bytes low = load_bytes(block + kPart * 64 + kQuarter % 2 * 32 + kHalf * 16);
    const Bytes high = bits_of<kQuarter * 2, 2>(load_bytes(block + 128 + kPart * 32 + kHalf * 16));
    const hn::Repartition<std::uint16_t, DBytes> wide;
    const Bytes moved = hn::BitCast(kBytes, hn::ShiftLeft<4>(hn::BitCast(wide, high)));
    scaled(minus(hn::Or(bits_of<kQuarter / 2 * 4, 4>(low), moved), 32), scales.of(kGroup), kGroup * 16, sink);
  });
}

template <class Sink>
HWY_INLINE void widen_iq4_xs(const std::byte* block, Sink& sink) {
  const float d = f16_to_f32(load_element<std::uint16_t>(block));
  const unsigned high = load_element<std::uint16_t>(block + 2);
  unroll<8>([&](auto group) SIGHTLINE_LAMBDA {
    constexpr int kGroup = decltype(group)::value;
    const unsigned low = std::to_integer<unsigned>(block[4 + kGroup / 2]) >> (4 * (kGroup % 2)) & 15;
    const int scale = static_cast<int>(low | (high >> (2 * kGroup) & 3) << 4) - 32;
    const auto shifted = [&](std::size_t i, F value) SIGHTLINE_LAMBDA { sink(kGroup * 32 + i, value); };
    four_bit_block<Levels::iq4, false>(block + 8 + kGroup * 16, splat(d * static_cast<float>(scale)), F(), shifted);
  });
}

// sink(i, F): the elements of a block in vectors, i ascending and known when this is compiled.
template <DType kType, class Sink>
HWY_INLINE void widen_block(const std::byte* HWY_RESTRICT from, Sink sink) {
  if constexpr (kType == DType::q4_0) {
    four_bit_block<Levels::centred, false>(from + 2, splat_f16(from), F(), sink);
  } else if constexpr (kType == DType::q4_1) {
    four_bit_block<Levels::plain, true>(from + 4, splat_f16(from), splat_f16(from + 2), sink);
  } else if constexpr (kType == DType::iq4_nl) {
    four_bit_block<Levels::iq4, false>(from + 2, splat_f16(from), F(), sink);
  } else if constexpr (kType == DType::mxfp4) {
    four_bit_block<Levels::fp4, false>(from + 1, fp4_scale(from), F(), sink);
  } else if constexpr (kType == DType::q5_0) {
    const F d = splat_f16(from);
    five_bit_block(from + 2, from + 6,
                   [&](std::size_t i, Bytes codes) SIGHTLINE_LAMBDA { scaled(minus(codes, 16), d, i, sink); });
  } else if constexpr (kType == DType::q5_1) {
    const F d = splat_f16(from), m = splat_f16(from + 2);
    five_bit_block(from + 4, from + 8,
                   [&](std::size_t i, Bytes codes) SIGHTLINE_LAMBDA { scaled_onto(codes, d, m, i, sink); });
  } else if constexpr (kType == DType::q8_0) {
    const F d = splat_f16(from);
    scaled(load_bytes(from + 2), d, 0, sink);
    scaled(load_bytes(from + 18), d, 16, sink);
  } else if constexpr (kType == DType::q2_k) {
    widen_q2_k(from, sink);
  } else if constexpr (kType == DType::q3_k) {
    widen_q3_k(from, sink);
  } else if constexpr (kType == DType::q4_k) {
    widen_q4_k(from, sink);
  } else if constexpr (kType == DType::q5_k) {
    widen_q5_k(from, sink);
  } else if constexpr (kType == DType::q6_k) {
    widen_q6_k(from, sink);
  } else {
    static_assert(kType == DType::iq4_xs);
    widen_iq4_xs(from, sink);
  }
}
#endif

}  // namespace HWY_NAMESPACE
}  // namespace sightline
HWY_AFTER_NAMESPACE();

#endif  // SIGHTLINE_OPS_WIDEN_BLOCKS_INL_H_
