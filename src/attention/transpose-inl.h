// Squares of numbers turned over in registers.

#if defined(SIGHTLINE_ATTENTION_TRANSPOSE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SIGHTLINE_ATTENTION_TRANSPOSE_INL_H_
#undef SIGHTLINE_ATTENTION_TRANSPOSE_INL_H_
#else
#define SIGHTLINE_ATTENTION_TRANSPOSE_INL_H_
#endif

#include "src/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sightline {
namespace HWY_NAMESPACE {

// Numbers of a vector, and so of rows and columns that are turned over at once.
inline constexpr int kTurned = static_cast<int>(kLanes);

#if HWY_TARGET != HWY_SCALAR
// Four 32-bit units of kTurned rows from byte `at` on, turned over: to[c] holds unit c of every row. Each vector is
// gathered from pieces of every fourth row, which leaves only shuffles within 128 bits.
HWY_INLINE void transpose_four(const float* const* HWY_RESTRICT rows, std::ptrdiff_t at, F (&to)[4]) {
  const hn::RepartitionToWide<DF> wide;
  const auto piece = [&](int row) SIGHTLINE_LAMBDA {
    return reinterpret_cast<const float*>(reinterpret_cast<const std::byte*>(rows[row]) + at);
  };
#if HWY_TARGET == HWY_AVX3
  const auto gather = [&](int first) SIGHTLINE_LAMBDA {
    __m512 pieces = _mm512_castps128_ps512(_mm_loadu_ps(piece(first)));
    pieces = _mm512_insertf32x4(pieces, _mm_loadu_ps(piece(first + 4)), 1);
    pieces = _mm512_insertf32x4(pieces, _mm_loadu_ps(piece(first + 8)), 2);
    return F{_mm512_insertf32x4(pieces, _mm_loadu_ps(piece(first + 12)), 3)};
  };
#else
  static_assert(kTurned <= 8);
  const auto gather = [&](int first) SIGHTLINE_LAMBDA {
    const F low = hn::LoadDup128(kF32, piece(first));
    return kTurned == 4 ? low
                        : hn::IfThenElse(hn::FirstN(kF32, 4), low, hn::LoadDup128(kF32, piece(first + kTurned - 4)));
  };
#endif
  const F a = gather(0), b = gather(1), c = gather(2), d = gather(3);
  const auto low_ab = hn::BitCast(wide, hn::InterleaveLower(kF32, a, b));
  const auto low_cd = hn::BitCast(wide, hn::InterleaveLower(kF32, c, d));
  const auto high_ab = hn::BitCast(wide, hn::InterleaveUpper(kF32, a, b));
  const auto high_cd = hn::BitCast(wide, hn::InterleaveUpper(kF32, c, d));
  to[0] = hn::BitCast(kF32, hn::InterleaveLower(wide, low_ab, low_cd));
  to[1] = hn::BitCast(kF32, hn::InterleaveUpper(wide, low_ab, low_cd));
  to[2] = hn::BitCast(kF32, hn::InterleaveLower(wide, high_ab, high_cd));
  to[3] = hn::BitCast(kF32, hn::InterleaveUpper(wide, high_ab, high_cd));
}
#endif

// Columns [column, column + kTurned) of kTurned rows, turned over: to[c] holds column c of every row.
#if HWY_TARGET == HWY_SCALAR
HWY_INLINE void transpose_rows(const float* const* HWY_RESTRICT rows, std::int64_t column, F (&to)[kTurned]) {
  to[0] = load(rows[0] + column);
}
#elif HWY_TARGET == HWY_AVX3
// Pairs, fours, then blocks of four: 64 shuffles for 256 numbers. Gathering each vector from quarters of four rows
// needs half of the shuffles and four times the loads, and was a third slower.
HWY_INLINE void transpose_rows(const float* const* HWY_RESTRICT rows, std::int64_t column, F (&to)[kTurned]) {
  __m512 a[16], b[16];
  for (int i = 0; i < 16; ++i) a[i] = _mm512_loadu_ps(rows[i] + column);
  for (int i = 0; i < 16; i += 2) {
    b[i] = _mm512_unpacklo_ps(a[i], a[i + 1]);
    b[i + 1] = _mm512_unpackhi_ps(a[i], a[i + 1]);
  }
  const auto pair = [](__m512 low, __m512 high, bool upper) SIGHTLINE_LAMBDA {
    const __m512d x = _mm512_castps_pd(low), y = _mm512_castps_pd(high);
    return _mm512_castpd_ps(upper ? _mm512_unpackhi_pd(x, y) : _mm512_unpacklo_pd(x, y));
  };
  // a[4 g + c]: columns c, c + 4, c + 8, c + 12 (by block) of rows 4 g to 4 g + 3.
  for (int g = 0; g < 16; g += 4) {
    a[g] = pair(b[g], b[g + 2], false);
    a[g + 1] = pair(b[g], b[g + 2], true);
    a[g + 2] = pair(b[g + 1], b[g + 3], false);
    a[g + 3] = pair(b[g + 1], b[g + 3], true);
  }
  for (int c = 0; c < 4; ++c) {
    const __m512 even_low = _mm512_shuffle_f32x4(a[c], a[c + 4], 0x88),
                 odd_low = _mm512_shuffle_f32x4(a[c], a[c + 4], 0xdd);
    const __m512 even_high = _mm512_shuffle_f32x4(a[c + 8], a[c + 12], 0x88);
    const __m512 odd_high = _mm512_shuffle_f32x4(a[c + 8], a[c + 12], 0xdd);
    to[c] = F{_mm512_shuffle_f32x4(even_low, even_high, 0x88)};
    to[c + 4] = F{_mm512_shuffle_f32x4(odd_low, odd_high, 0x88)};
    to[c + 8] = F{_mm512_shuffle_f32x4(even_low, even_high, 0xdd)};
    to[c + 12] = F{_mm512_shuffle_f32x4(odd_low, odd_high, 0xdd)};
  }
}
#else
HWY_INLINE void transpose_rows(const float* const* HWY_RESTRICT rows, std::int64_t column, F (&to)[kTurned]) {
  for (int c = 0; c < kTurned; c += 4) {
    F four[4];
    transpose_four(rows, (column + c) * static_cast<std::int64_t>(sizeof(float)), four);
    for (int i = 0; i < 4; ++i) to[c + i] = four[i];
  }
}
#endif

// All `width` columns of kTurned rows, turned over: to[t * stride + i] = rows[i][t].
inline void turn_rows(const float* const* HWY_RESTRICT rows, std::int64_t width, std::int64_t stride,
                      float* HWY_RESTRICT to) {
  std::int64_t t = 0;
  for (; t + kTurned <= width; t += kTurned) {
    F turned[kTurned];
    transpose_rows(rows, t, turned);
    for (int c = 0; c < kTurned; ++c) store(turned[c], to + (t + c) * stride);
  }
  for (; t < width; ++t) {
    for (int i = 0; i < kTurned; ++i) to[t * stride + i] = rows[i][t];
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace sightline
HWY_AFTER_NAMESPACE();

#endif  // SIGHTLINE_ATTENTION_TRANSPOSE_INL_H_
