// Packing of bf16 pairs in AVX-512, for the units that multiply them. Every function here and in those units carries
// its instruction set as an attribute and has internal linkage; nothing else is compiled for it.

#ifndef SIGHTLINE_ATTENTION_FAST_PACK_INL_H_
#define SIGHTLINE_ATTENTION_FAST_PACK_INL_H_

#include <immintrin.h>

#include "src/attention/fast.h"
#include "src/observe/tile_block.h"

#if defined(__GNUC__) && !defined(__clang__)
// GCC's own headers leave the operand of "undefined" intrinsics unset, and it warns of that where it inlines them.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

#define SIGHTLINE_BF16 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")))

namespace sightline {
namespace {

inline constexpr int kPairs = kBlockKeys / 2;
static_assert(kFastLanes == 16);

SIGHTLINE_BF16 inline __mmask32 first_of_32(std::int64_t count) {
  return count >= 32 ? ~__mmask32{0} : (__mmask32{1} << (count < 0 ? 0 : count)) - 1;
}
SIGHTLINE_BF16 inline __mmask16 first_of_16(std::int64_t count) {
  return static_cast<__mmask16>(first_of_32(count > 16 ? 16 : count));
}

SIGHTLINE_BF16 void round_row(const float* from, std::int64_t width, std::uint16_t* to) {
  for (std::int64_t t = 0; t < padded_columns(width); t += 16) {
    const __m512 row = _mm512_maskz_loadu_ps(first_of_16(width - t), from + t);
    _mm256_storeu_si256(reinterpret_cast<__m256i_u*>(to + t), reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(row)));
  }
}

// Word i of the first half beside word i of the second.
SIGHTLINE_BF16 inline __m512i interleaving() {
  const __m512i low = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
  return _mm512_or_si512(low, _mm512_slli_epi32(_mm512_add_epi32(low, _mm512_set1_epi32(16)), 16));
}

// Whatever is not finite becomes 0. Rare, so that it is not done in passing.
SIGHTLINE_BF16 void clear_unbounded(std::uint32_t* pairs, std::int64_t count) {
  const __m512i exponent = _mm512_set1_epi16(0x7f80);
  for (std::int64_t i = 0; i < count; i += kFastLanes) {
    const __m512i pair = _mm512_loadu_si512(pairs + i);
    const __mmask32 finite = _mm512_cmpneq_epi16_mask(_mm512_and_si512(pair, exponent), exponent);
    _mm512_storeu_si512(pairs + i, _mm512_maskz_mov_epi16(finite, pair));
  }
}

SIGHTLINE_BF16 bool pair_values(const std::uint16_t* const* rows, std::int64_t columns, int begin, int end,
                                std::uint32_t* pairs) {
  const std::int64_t stride = padded_values(columns);
  const __m512i low_half = interleaving();
  // Words 16 and on of the one beside those of the other; the second source counts from 32.
  const __m512i low = _mm512_add_epi16(low_half, _mm512_set1_epi32(16 << 16));
  const __m512i high = _mm512_add_epi16(low, _mm512_set1_epi16(16));
  const __m512i magnitude = _mm512_set1_epi16(0x7fff);
  __m512i largest = _mm512_setzero_si512();
  for (int pair = 0; pair < kPairs; ++pair) {
    const bool has_a = 2 * pair >= begin && 2 * pair < end, has_b = 2 * pair + 1 >= begin && 2 * pair + 1 < end;
    std::uint32_t* to = pairs + pair * stride;
    for (std::int64_t c = 0; c < stride; c += 32) {
      const __mmask32 held = first_of_32(columns - c);
      const __m512i a = _mm512_maskz_loadu_epi16(has_a ? held : 0, rows[2 * pair] + c);
      const __m512i b = _mm512_maskz_loadu_epi16(has_b ? held : 0, rows[2 * pair + 1] + c);
      largest = _mm512_max_epu16(largest, _mm512_and_si512(a, magnitude));
      largest = _mm512_max_epu16(largest, _mm512_and_si512(b, magnitude));
      _mm512_storeu_si512(to + c, _mm512_permutex2var_epi16(a, low, b));
      if (c + 16 < stride) _mm512_storeu_si512(to + c + 16, _mm512_permutex2var_epi16(a, high, b));
    }
  }
  if (_mm512_cmpge_epu16_mask(largest, _mm512_set1_epi16(0x7f80)) == 0) return true;
  clear_unbounded(pairs, kPairs * stride);
  return false;
}

// weights: [kBlockKeys, lanes], rounded to pairs [kPairs, lanes]; 0 for slots outside [begin, end).
SIGHTLINE_BF16 void pair_weights(const float* weights, int lanes, int begin, int end, std::uint32_t* pairs) {
  const __m512i order = interleaving();
  for (int pair = 0; pair < kPairs; ++pair) {
    const int slot = 2 * pair;
    const __mmask16 has_a = slot >= begin && slot < end ? 0xffff : 0;
    const __mmask16 has_b = slot + 1 >= begin && slot + 1 < end ? 0xffff : 0;
    for (int lane = 0; lane < lanes; lane += 16) {
      const __m512 a = _mm512_maskz_loadu_ps(has_a, weights + slot * lanes + lane);
      const __m512 b = _mm512_maskz_loadu_ps(has_b, weights + (slot + 1) * lanes + lane);
      const auto both = reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(b, a));
      _mm512_storeu_si512(pairs + pair * lanes + lane, _mm512_permutexvar_epi16(order, both));
    }
  }
}

// 16 rows of 16 numbers, turned over: to[c][r] = rows[r][c].
SIGHTLINE_BF16 inline void turn(const std::uint32_t* const* rows, std::uint32_t* to, std::int64_t to_stride) {
  __m512i a[16], b[16];
  for (int r = 0; r < 16; ++r) a[r] = _mm512_loadu_si512(rows[r]);
  for (int r = 0; r < 16; r += 4) {  // within 128 bits, four rows to four columns
    const __m512i low01 = _mm512_unpacklo_epi32(a[r], a[r + 1]), high01 = _mm512_unpackhi_epi32(a[r], a[r + 1]);
    const __m512i low23 = _mm512_unpacklo_epi32(a[r + 2], a[r + 3]), high23 = _mm512_unpackhi_epi32(a[r + 2], a[r + 3]);
    b[r] = _mm512_unpacklo_epi64(low01, low23);
    b[r + 1] = _mm512_unpackhi_epi64(low01, low23);
    b[r + 2] = _mm512_unpacklo_epi64(high01, high23);
    b[r + 3] = _mm512_unpackhi_epi64(high01, high23);
  }
  for (int c = 0; c < 4; ++c) {  // b[4 g + c] holds columns c, c + 4, c + 8, c + 12 of rows 4 g to 4 g + 3
    const __m512i even01 = _mm512_shuffle_i32x4(b[c], b[4 + c], 0x88);
    const __m512i odd01 = _mm512_shuffle_i32x4(b[c], b[4 + c], 0xdd);
    const __m512i even23 = _mm512_shuffle_i32x4(b[8 + c], b[12 + c], 0x88);
    const __m512i odd23 = _mm512_shuffle_i32x4(b[8 + c], b[12 + c], 0xdd);
    _mm512_storeu_si512(to + c * to_stride, _mm512_shuffle_i32x4(even01, even23, 0x88));
    _mm512_storeu_si512(to + (c + 4) * to_stride, _mm512_shuffle_i32x4(odd01, odd23, 0x88));
    _mm512_storeu_si512(to + (c + 8) * to_stride, _mm512_shuffle_i32x4(even01, even23, 0xdd));
    _mm512_storeu_si512(to + (c + 12) * to_stride, _mm512_shuffle_i32x4(odd01, odd23, 0xdd));
  }
}

}  // namespace
}  // namespace sightline

#endif  // SIGHTLINE_ATTENTION_FAST_PACK_INL_H_
