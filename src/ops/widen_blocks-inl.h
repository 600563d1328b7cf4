// Blocks of quantised weights as fp32: the bits of decode_blocks(), in vectors. The scales of a block are worked out
// together and then spread one by one.
// Included once per target by way of hwy/foreach_target.h.

#if defined(SIGHTLINE_OPS_WIDEN_BLOCKS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SIGHTLINE_OPS_WIDEN_BLOCKS_INL_H_
#undef SIGHTLINE_OPS_WIDEN_BLOCKS_INL_H_
#else
#define SIGHTLINE_OPS_WIDEN_BLOCKS_INL_H_
#endif

#include "src/ops/block_lanes-inl.h"
#include "src/tensor/blocks.h"
#include "src/tensor/element.h"

#if HWY_TARGET != HWY_AVX3  // which has widen_tables-inl.h
HWY_BEFORE_NAMESPACE();
namespace sightline {
namespace HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR
template <DType kType, class Sink>
HWY_INLINE void widen_block(const std::byte* HWY_RESTRICT from, Sink sink) {
  float values[block_layout(kType).width];
  decode_blocks(kType, from, values);
  for (std::size_t i = 0; i < block_layout(kType).width; ++i) sink(i, F(values[i]));
}
#else

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
#endif  // HWY_TARGET != HWY_AVX3

#endif  // SIGHTLINE_OPS_WIDEN_BLOCKS_INL_H_
