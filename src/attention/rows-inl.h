// Rows of keys and values as the kernels read them: in place where they lie as fp32, otherwise widened block by block.

#if defined(SIGHTLINE_ATTENTION_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SIGHTLINE_ATTENTION_ROWS_INL_H_
#undef SIGHTLINE_ATTENTION_ROWS_INL_H_
#else
#define SIGHTLINE_ATTENTION_ROWS_INL_H_
#endif

#include <algorithm>
#include <cstring>

#include "src/attention/row_source.h"
#include "src/cpu/simd-inl.h"
#include "src/observe/tile_block.h"
#include "src/tensor/element.h"
#include "src/tensor/packed.h"

HWY_BEFORE_NAMESPACE();
namespace sightline {
namespace HWY_NAMESPACE {

using DHalf = hn::Rebind<hwy::float16_t, DF>;
using DU16 = hn::Rebind<std::uint16_t, DF>;
using DU8 = hn::Rebind<std::uint8_t, DF>;
using DI8 = hn::Rebind<std::int8_t, DF>;

HWY_INLINE F widen_f16(const std::uint16_t* from) {
#if HWY_TARGET == HWY_SCALAR
  return splat(f16_to_f32(*from));
#else
  return hn::PromoteTo(kF32, hn::LoadU(DHalf(), reinterpret_cast<const hwy::float16_t*>(from)));
#endif
}
HWY_INLINE F widen_bf16(const std::uint16_t* from) {
  return hn::BitCast(kF32, hn::ShiftLeft<16>(hn::PromoteTo(kU32, hn::LoadU(DU16(), from))));
}

// A contiguous row of a 16-bit type. widen: a vector of it; scalar: one.
template <class Widen, class Scalar>
HWY_INLINE void widen_row(const std::byte* from, std::int64_t width, float* HWY_RESTRICT to, const Widen& widen,
                          const Scalar& scalar) {
  const auto* halves = reinterpret_cast<const std::uint16_t*>(from);
  std::int64_t t = 0;
  for (; t + static_cast<std::int64_t>(kLanes) <= width; t += kLanes) store(widen(halves + t), to + t);
  for (; t < width; ++t) to[t] = scalar(halves[t]);
}

// Elements of i8_row: scale * i8.
HWY_INLINE F widen_i8(const std::int8_t* codes, F scale) {
  return hn::Mul(hn::ConvertTo(kF32, hn::PromoteTo(kI32, hn::LoadU(DI8(), codes))), scale);
}
inline void widen_i8_row(const std::byte* from, std::int64_t width, float* HWY_RESTRICT to) {
  const float scale = load_element<float>(from);
  const auto* codes = reinterpret_cast<const std::int8_t*>(from + sizeof(float));
  std::int64_t t = 0;
  for (; t + static_cast<std::int64_t>(kLanes) <= width; t += kLanes) store(widen_i8(codes + t, splat(scale)), to + t);
  for (; t < width; ++t) to[t] = static_cast<float>(codes[t]) * scale;
}

// Elements of q4_1: fma(code, scale, minimum). code: 0 to 15.
HWY_INLINE F widen_q4(hn::Vec<DU> code, F scale, F minimum) {
  return fma(hn::ConvertTo(kF32, hn::BitCast(kI32, code)), scale, minimum);
}
HWY_INLINE hn::Vec<DU> lower_codes(hn::Vec<DU> both) { return hn::And(both, hn::Set(kU32, 15)); }

// Blocks of 32, of which only `width` elements are written.
inline void widen_q4_row(const std::byte* from, std::int64_t width, float* HWY_RESTRICT to) {
  constexpr int kBlock = kQ4BlockWidth, kHalf = kBlock / 2, kBytes = kQ4BlockBytes;
  for (std::int64_t begin = 0; begin < width; begin += kBlock, from += kBytes) {
    const F scale = splat(f16_to_f32(load_element<std::uint16_t>(from)));
    const F minimum = splat(f16_to_f32(load_element<std::uint16_t>(from + 2)));
    const auto* codes = reinterpret_cast<const std::uint8_t*>(from + 4);
    alignas(64) float values[kBlock];
    float* out = begin + kBlock <= width ? to + begin : values;
    for (std::size_t i = 0; i < kHalf; i += kLanes) {
      const auto both = hn::PromoteTo(kU32, hn::LoadU(DU8(), codes + i));
      store(widen_q4(lower_codes(both), scale, minimum), out + i);
      store(widen_q4(hn::ShiftRight<4>(both), scale, minimum), out + kHalf + i);
    }
    if (out == values) std::copy_n(values, width - begin, to + begin);
  }
}

// One row as fp32.
inline void widen(const RowSource& source, std::int64_t index, std::int64_t width, float* HWY_RESTRICT to) {
  const std::byte* from = source.row(index);
  if (source.column_stride != 1) {
    const std::int64_t step = source.column_stride * (source.dtype == DType::f32 ? 4 : 2);
    for (std::int64_t t = 0; t < width; ++t) to[t] = element_as_f32(source.dtype, from + t * step);
    return;
  }
  switch (source.dtype) {
    case DType::f16:
      return widen_row(
          from, width, to, [](const std::uint16_t* h) SIGHTLINE_LAMBDA { return widen_f16(h); }, f16_to_f32);
    case DType::bf16:
      return widen_row(
          from, width, to, [](const std::uint16_t* h) SIGHTLINE_LAMBDA { return widen_bf16(h); }, bf16_to_f32);
    case DType::i8_row:
      return widen_i8_row(from, width, to);
    case DType::q4_1:
      return widen_q4_row(from, width, to);
    default:
      std::memcpy(to, from, static_cast<std::size_t>(width) * sizeof(float));
  }
}

// Into the second-level cache: fetches to the first fill its few miss buffers, and came at half of the rate on Zen 4.
HWY_INLINE void fetch_ahead(const void* address) { __builtin_prefetch(address, 0, 2); }

// Row pointers of a block's slots and of some that follow, to be fetched ahead. Slots without a key point to zeros.
class RowPointers {
 public:
  // As far as few rows look beyond a block (few_rows-inl.h).
  static constexpr int kAhead = 32;

  // rows: how many the source has. widened: [kBlockKeys, width], used where rows cannot be read in place.
  void set(const RowSource& source, std::int64_t width, std::int64_t rows, const TileBlock& block, const float* zeros,
           float* widened) {
    set(source, width, rows, block, zeros, widened, source.in_place());
  }
  // in_place: the caller reads rows as they lie, whatever their type.
  void set(const RowSource& source, std::int64_t width, std::int64_t rows, const TileBlock& block, const float* zeros,
           float* widened, bool in_place) {
    std::fill_n(rows_, block.begin, zeros);
    std::fill_n(rows_ + block.end, kBlockKeys - block.end, zeros);
    const auto ahead = static_cast<int>(std::clamp<std::int64_t>(rows - block.first_key - kBlockKeys, 0, kAhead));
    point(source, block.first_key + block.begin, rows_ + block.begin, block.end - block.begin);
    point(source, block.first_key + kBlockKeys, rows_ + kBlockKeys, ahead);
    std::fill_n(rows_ + kBlockKeys + ahead, kAhead - ahead, zeros);
    if (in_place) return;
    const auto bytes = static_cast<std::int64_t>(row_bytes(source.dtype, width));
    for (int slot = block.begin; slot < block.end; ++slot) {
      const auto* ahead = reinterpret_cast<const std::byte*>(rows_[slot + kAhead]);
      for (std::int64_t at = 0; at < bytes; at += 64) fetch_ahead(ahead + at);
      float* to = widened + slot * width;
      widen(source, block.first_key + slot, width, to);
      rows_[slot] = to;
    }
    std::fill_n(rows_ + kBlockKeys, kAhead, zeros);
  }
  const float* const* data() const { return rows_; }

  // Rows [first, first + count). A division a page, not one a row.
  static void point(const RowSource& source, std::int64_t first, const float** to, int count) {
    for (int i = 0; i < count;) {
      const std::byte* row = source.row(first + i);
      const std::int64_t left = source.pages == nullptr ? count : source.page_size - (first + i) % source.page_size;
      const int end = static_cast<int>(std::min<std::int64_t>(count, i + left));
      for (; i < end; ++i, row += source.row_stride) to[i] = reinterpret_cast<const float*>(row);
    }
  }

 private:
  const float* rows_[kBlockKeys + kAhead];
};

}  // namespace HWY_NAMESPACE
}  // namespace sightline
HWY_AFTER_NAMESPACE();

#endif  // SIGHTLINE_ATTENTION_ROWS_INL_H_
