// Blocks of quantised weights as fp32 with AVX-512, whose lookup among 16 numbers of 32 bits costs one instruction:
// what the codes of a group may stand for is worked out once as a table, and a code, whose upper bits need not be
// masked, picks its value. The bits of decode_blocks(), since a table is made of the same products. Included once per
// target by way of hwy/foreach_target.h.

#if defined(SIGHTLINE_OPS_WIDEN_TABLES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SIGHTLINE_OPS_WIDEN_TABLES_INL_H_
#undef SIGHTLINE_OPS_WIDEN_TABLES_INL_H_
#else
#define SIGHTLINE_OPS_WIDEN_TABLES_INL_H_
#endif

#include "src/ops/block_lanes-inl.h"
#include "src/tensor/blocks.h"
#include "src/tensor/element.h"

#if HWY_TARGET == HWY_AVX3
HWY_BEFORE_NAMESPACE();
namespace sightline {
namespace HWY_NAMESPACE {

using U = hn::Vec<DU>;
inline constexpr hn::FixedTag<std::uint8_t, 16> kSixteenBytes{};
using SixteenBytes = hn::Vec<decltype(kSixteenBytes)>;

HWY_INLINE SixteenBytes bytes_at(const std::byte* from) {
  return hn::LoadU(kSixteenBytes, reinterpret_cast<const std::uint8_t*>(from));
}
HWY_INLINE U codes_at(const std::byte* from) { return hn::PromoteTo(kU32, bytes_at(from)); }
HWY_INLINE F numbers(SixteenBytes bytes) { return hn::ConvertTo(kF32, hn::PromoteTo(kI32, bytes)); }
HWY_INLINE F signed_numbers(SixteenBytes bytes) {
  return hn::ConvertTo(kF32, hn::PromoteTo(kI32, hn::BitCast(hn::FixedTag<std::int8_t, 16>(), bytes)));
}

// An f16 in all lanes, as fp32. In the low 16 bits of `bits`.
HWY_INLINE F f16_splat(std::uint32_t bits) {
  const auto halves = hn::BitCast(hn::FixedTag<hwy::float16_t, 4>(), hn::Set(hn::FixedTag<std::uint32_t, 2>(), bits));
  return splat(hn::GetLane(hn::PromoteTo(hn::FixedTag<float, 4>(), halves)));
}
HWY_INLINE F f16_splat(const std::byte* from) { return f16_splat(load_element<std::uint16_t>(from)); }
// The first of a block, which the load may read beyond: 32 bits go to a vector by themselves, 16 do not.
HWY_INLINE F f16_of_block(const std::byte* from) { return f16_splat(load_element<std::uint32_t>(from)); }
// Two f16, over and over.
HWY_INLINE F f16_pairs(const std::byte* from) {
  const auto bits = hn::Set(hn::FixedTag<std::uint32_t, 8>(), load_element<std::uint32_t>(from));
  return hn::PromoteTo(kF32, hn::BitCast(hn::FixedTag<hwy::float16_t, 16>(), bits));
}

// An array that is to be read from memory, where a broadcast is part of the load. Compilers would rather keep it in a
// register and permute that, by the very ports that lookups go through.
template <class T, std::size_t kCount>
HWY_INLINE const T* from_memory(const T (&array)[kCount]) {
  const T* at = array;
  asm("" : "+r"(at) : "m"(array));
  return at;
}

using Word __attribute__((aligned(1), may_alias)) = std::uint32_t;
HWY_INLINE const Word* word_at(const std::byte* from) {
  asm("" : "+r"(from));
  return reinterpret_cast<const Word*>(from);
}

// table[code & 15]
HWY_INLINE F look_up(F table, U codes) { return hn::TableLookupLanes(table, hn::Indices512<float>{codes.raw}); }
HWY_INLINE F look_up(F clear, F set, MaskF fifth, U codes) {
  return hn::IfThenElse(fifth, look_up(set, codes), look_up(clear, codes));
}
// The number of bits 0 to 3 of codes, and bit 4 of fifth, among both tables. Highway 1.0 has no such operation.
HWY_INLINE F look_up(F clear, F set, U fifth, U codes) {
  const U index = hn::IfVecThenElse(hn::Set(kU32, 16), fifth, codes);
  return F{_mm512_permutex2var_ps(clear.raw, index.raw, set.raw)};
}

template <class T>
HWY_INLINE F table_of(const std::array<T, 16>& values) {
  alignas(64) float table[16];
  for (int i = 0; i < 16; ++i) table[i] = static_cast<float>(values[i]);
  return load(table);
}
// first + i % kPeriod
template <int kPeriod>
HWY_INLINE F count_from(int first) {
  alignas(64) float table[16];
  for (int i = 0; i < 16; ++i) table[i] = static_cast<float>(first + i % kPeriod);
  return load(table);
}

// 2^(e - 128)
HWY_INLINE F fp4_scale(std::byte exponent) {
  const auto e = std::to_integer<std::uint32_t>(exponent);
  return hn::BitCast(kF32, hn::Set(kU32, e < 2 ? 0x00200000u << e : (e - 1) << 23));
}

// The scale that a block of this type begins with, which is what its constructor is given.
template <DType kType>
HWY_INLINE F first_scale(const std::byte* from) {
  return kType == DType::mxfp4 ? fp4_scale(from[0]) : f16_of_block(from);
}

// A block as kParts parts: emit<part>(sink) calls sink(i, F) for each 16 of them, i ascending. What
// the parts share is worked out first, so that parts of several rows can take turns: the fma of one row depend on each
// other, and those of a whole block would fill the schedulers of the machine with waiting instructions.
template <DType kType>
struct TableBlock {
  static constexpr int kParts = 1;
  static constexpr bool kFive = kType == DType::q5_0 || kType == DType::q5_1;

  HWY_INLINE TableBlock(const std::byte* from, F d) : from_(from) {
    if constexpr (kType == DType::q4_0) {
      table_ = hn::Mul(count_from<16>(-8), d);
    } else if constexpr (kType == DType::q4_1) {
      table_ = fma(count_from<16>(0), d, f16_splat(from + 2));
    } else if constexpr (kType == DType::iq4_nl) {
      table_ = hn::Mul(table_of(kIq4Levels), d);
    } else if constexpr (kType == DType::mxfp4) {
      table_ = hn::Mul(table_of(kFp4Levels), d);
    } else if constexpr (kType == DType::q5_0) {
      table_ = hn::Mul(count_from<16>(-16), d);
      table_on_ = hn::Mul(count_from<16>(0), d);
    } else if constexpr (kType == DType::q5_1) {
      const F m = f16_splat(from + 2);
      table_ = fma(count_from<16>(0), d, m);
      table_on_ = fma(count_from<16>(16), d, m);
    }
  }

  template <int kPart, class Sink>
  HWY_INLINE void emit(Sink sink) const {
    constexpr std::size_t kCodes = block_layout(kType).bytes - 16;
    const U codes = codes_at(from_ + kCodes);
    if constexpr (kFive) {
      alignas(64) static constexpr std::uint32_t kTo4[16] = {4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19};
      // Bit i of the 16 at `at` goes to bit 4 of lane i: 8 bits before it are read along, so that all shift right.
      const auto fifth = [&](std::size_t at) SIGHTLINE_LAMBDA {
        return hn::Shr(hn::Set(kU32, *word_at(from_ + at - 1)), hn::Load(kU32, kTo4));
      };
      sink(0, look_up(table_, table_on_, fifth(kCodes - 4), codes));
      sink(16, look_up(table_, table_on_, fifth(kCodes - 2), hn::ShiftRight<4>(codes)));
    } else {
      sink(0, look_up(table_, codes));
      sink(16, look_up(table_, hn::ShiftRight<4>(codes)));
    }
  }

 private:
  const std::byte* from_;
  F table_, table_on_;
};

template <>
struct TableBlock<DType::q8_0> {
  static constexpr int kParts = 1;

  HWY_INLINE TableBlock(const std::byte* from, F d) : from_(from), d_(d) {}
  template <int kPart, class Sink>
  HWY_INLINE void emit(Sink sink) const {
    sink(0, hn::Mul(signed_numbers(bytes_at(from_ + 2)), d_));
    sink(16, hn::Mul(signed_numbers(bytes_at(from_ + 18)), d_));
  }

 private:
  const std::byte* from_;
  F d_;
};

template <>
struct TableBlock<DType::q2_k> {
  static constexpr int kParts = 16;

  HWY_INLINE explicit TableBlock(const std::byte* from) : from_(from) {
    const U pairs = codes_at(from);
    const auto as_floats = [](U codes) SIGHTLINE_LAMBDA { return hn::ConvertTo(kF32, hn::BitCast(kI32, codes)); };
    store(hn::Mul(as_floats(hn::And(pairs, hn::Set(kU32, 15))), f16_splat(from + 80)), scales_);
    store(hn::Mul(as_floats(hn::ShiftRight<4>(pairs)), f16_splat(from + 82)), scales_ + 16);
    stored_ = from_memory(scales_);
  }
  template <int kPart, class Sink>
  HWY_INLINE void emit(Sink sink) const {
    const F table = hn::MulSub(count_from<4>(0), splat(stored_[kPart]), splat(stored_[16 + kPart]));
    const U codes = codes_at(from_ + 16 + kPart / 8 * 32 + kPart % 2 * 16);
    sink(kPart * 16, look_up(table, hn::ShiftRight<kPart % 8 / 2 * 2>(codes)));
  }

 private:
  const std::byte* from_;
  alignas(64) float scales_[32];  // 16 scales, 16 minima
  const float* stored_;
};

template <>
struct TableBlock<DType::q3_k> {
  static constexpr int kParts = 16;

  HWY_INLINE explicit TableBlock(const std::byte* from) : from_(from) {
    // The twelve bytes at 96, read so that the block's end is not passed.
    const SixteenBytes packed = hn::ShiftRightBytes<2>(kSixteenBytes, bytes_at(from + 94));
    store(hn::Mul(signed_numbers(q3_k_scales(packed)), f16_splat(from + 108)), scales_);
    stored_ = from_memory(scales_);
  }
  template <int kPart, class Sink>
  HWY_INLINE void emit(Sink sink) const {
    constexpr int kBit = kPart / 2, kLeft = kBit < 2 ? 2 - kBit : 0, kRight = kBit < 2 ? 0 : kBit - 2;
    const U low = hn::ShiftRight<kPart % 8 / 2 * 2>(codes_at(from_ + 32 + kPart / 8 * 32 + kPart % 2 * 16));
    const U third = hn::ShiftRight<kRight>(hn::ShiftLeft<kLeft>(codes_at(from_ + kPart % 2 * 16)));
    const U codes = hn::IfVecThenElse(hn::Set(kU32, 3), low, third);
    sink(kPart * 16, look_up(hn::Mul(count_from<8>(-4), splat(stored_[kPart])), codes));
  }

 private:
  const std::byte* from_;
  alignas(64) float scales_[16];
  const float* stored_;
};

template <DType kType>
requires(kType == DType::q4_k || kType == DType::q5_k) struct TableBlock<kType> {
  static constexpr int kParts = 16;
  static constexpr bool kFive = kType == DType::q5_k;

  HWY_INLINE explicit TableBlock(const std::byte* from) : from_(from) {
    alignas(16) static constexpr std::uint8_t kInTurn[16] = {0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15};
    const auto packed = hn::TableLookupBytes(scales_and_minima(bytes_at(from + 4)), hn::Load(kSixteenBytes, kInTurn));
    store(hn::Mul(numbers(packed), f16_pairs(from)), scales_);
    stored_ = from_memory(scales_);
  }
  template <int kPart, class Sink>
  HWY_INLINE void emit(Sink sink) const {
    constexpr int kGroup = kPart / 2, kHalf = kPart % 2;
    const F scale = splat(stored_[2 * kGroup]), minimum = splat(stored_[2 * kGroup + 1]);
    const F table = hn::MulSub(count_from<16>(0), scale, minimum);
    const U codes = hn::ShiftRight<kGroup % 2 * 4>(codes_at(from_ + (kFive ? 48 : 16) + kGroup / 2 * 32 + kHalf * 16));
    if constexpr (kFive) {
      const F table_on = hn::MulSub(count_from<16>(16), scale, minimum);
      const auto fifth = hn::TestBit(codes_at(from_ + 16 + kHalf * 16), hn::Set(kU32, 1u << kGroup));
      sink(kPart * 16, look_up(table, table_on, hn::RebindMask(kF32, fifth), codes));
    } else {
      sink(kPart * 16, look_up(table, codes));
    }
  }

 private:
  const std::byte* from_;
  alignas(64) float scales_[16];  // a scale, its minimum, the next scale, ...
  const float* stored_;
};
// Six bits are too many for tables: codes are put together as bytes, 64 at a time, and taken from memory as numbers.
template <>
struct TableBlock<DType::q6_k> {
  static constexpr int kParts = 16;

  HWY_INLINE explicit TableBlock(const std::byte* from) {
    const hn::Repartition<std::uint8_t, DF> bytes;
    const hn::Half<decltype(bytes)> half;
    alignas(64) static constexpr std::uint32_t kShifts[16] = {0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 2, 2, 2, 2, 2, 2};
    store(hn::Mul(signed_numbers(bytes_at(from + 192)), f16_splat(from + 208)), scales_);
    const auto put = [&](U low_bits, U high_bits, std::uint8_t* to) SIGHTLINE_LAMBDA {
      const U both = hn::IfVecThenElse(hn::Set(kU32, 0x0F0F0F0F), low_bits, high_bits);
      hn::Store(minus(hn::BitCast(bytes, hn::And(both, hn::Set(kU32, 0x3F3F3F3F))), 32), bytes, to);
    };
    const auto* at = reinterpret_cast<const std::uint8_t*>(from);
    for (int part = 0; part < 2; ++part) {
      const U low = hn::BitCast(kU32, hn::LoadU(bytes, at + part * 64));
      const auto upper = hn::LoadU(half, at + 128 + part * 32);
      const U high = hn::Shr(hn::BitCast(kU32, hn::Combine(bytes, upper, upper)), hn::Load(kU32, kShifts));
      put(low, hn::ShiftLeft<4>(high), codes_ + part * 128);
      put(hn::ShiftRight<4>(low), high, codes_ + part * 128 + 64);
    }
    stored_ = from_memory(scales_);
    stored_codes_ = from_memory(codes_);
  }
  template <int kPart, class Sink>
  HWY_INLINE void emit(Sink sink) const {
    sink(kPart * 16,
         hn::Mul(signed_numbers(hn::Load(kSixteenBytes, stored_codes_ + kPart * 16)), splat(stored_[kPart])));
  }

 private:
  alignas(64) std::uint8_t codes_[256];
  const std::uint8_t* stored_codes_;
  alignas(64) float scales_[16];
  const float* stored_;
};

template <>
struct TableBlock<DType::iq4_xs> {
  static constexpr int kParts = 8;

  HWY_INLINE explicit TableBlock(const std::byte* from) : from_(from) {
    alignas(64) static constexpr std::uint32_t kCount[16] = {0, 1, 2, 3, 4, 5, 6, 7};
    const U count = hn::Load(kU32, kCount);
    const U low = hn::Shr(hn::Set(kU32, load_element<std::uint32_t>(from + 4)), hn::ShiftLeft<2>(count));
    const U high = hn::Shr(hn::Set(kU32, load_element<std::uint16_t>(from + 2)), hn::Add(count, count));
    const U packed = hn::Or(hn::And(low, hn::Set(kU32, 15)), hn::ShiftLeft<4>(hn::And(high, hn::Set(kU32, 3))));
    const F number = hn::ConvertTo(kF32, hn::Sub(hn::BitCast(kI32, packed), hn::Set(kI32, 32)));
    store(hn::Mul(number, f16_of_block(from)), scales_);
    stored_ = from_memory(scales_);
  }
  template <int kPart, class Sink>
  HWY_INLINE void emit(Sink sink) const {
    const F table = hn::Mul(table_of(kIq4Levels), splat(stored_[kPart]));
    const U codes = codes_at(from_ + 8 + kPart * 16);
    sink(kPart * 32, look_up(table, codes));
    sink(kPart * 32 + 16, look_up(table, hn::ShiftRight<4>(codes)));
  }

 private:
  const std::byte* from_;
  alignas(64) float scales_[16];  // eight of them
  const float* stored_;
};

template <DType kType>
HWY_INLINE TableBlock<kType> table_block(const std::byte* from) {
  if constexpr (TableBlock<kType>::kParts == 1) {
    return TableBlock<kType>(from, first_scale<kType>(from));
  } else {
    return TableBlock<kType>(from);
  }
}

template <DType kType, class Sink>
HWY_INLINE void widen_block(const std::byte* HWY_RESTRICT from, Sink sink) {
  const auto block = table_block<kType>(from);
  unroll<TableBlock<kType>::kParts>([&](auto part)
                                        SIGHTLINE_LAMBDA { block.template emit<decltype(part)::value>(sink); });
}

}  // namespace HWY_NAMESPACE
}  // namespace sightline
HWY_AFTER_NAMESPACE();
#endif  // HWY_TARGET == HWY_AVX3

#endif  // SIGHTLINE_OPS_WIDEN_TABLES_INL_H_
