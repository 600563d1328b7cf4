// Rows rounded to bf16 and turned over in AVX-512, for the units that multiply bf16. Every function here and in those
// units carries its instruction set as an attribute and has internal linkage; nothing else is compiled for it.

#ifndef SIGHTLINE_ATTENTION_FAST_ROUND_INL_H_
#define SIGHTLINE_ATTENTION_FAST_ROUND_INL_H_

#include <immintrin.h>

#include "src/attention/fast.h"

#if defined(__GNUC__) && !defined(__clang__)
// GCC's own headers leave the operand of "undefined" intrinsics unset, and it warns of that where it inlines them.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

#define SIGHTLINE_BF16 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")))

namespace sightline {
namespace {

SIGHTLINE_BF16 inline __mmask32 first_of_32(std::int64_t count) {
  return count >= 32 ? ~__mmask32{0} : (__mmask32{1} << (count < 0 ? 0 : count)) - 1;
}
SIGHTLINE_BF16 inline __mmask16 first_of_16(std::int64_t count) {
  return static_cast<__mmask16>(first_of_32(count > 16 ? 16 : count));
}

SIGHTLINE_BF16 inline void round_row(const float* from, std::int64_t width, std::uint16_t* to) {
  for (std::int64_t t = 0; t < padded_columns(width); t += 16) {
    const __m512 row = _mm512_maskz_loadu_ps(first_of_16(width - t), from + t);
    _mm256_storeu_si256(reinterpret_cast<__m256i_u*>(to + t), reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(row)));
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

#endif  // SIGHTLINE_ATTENTION_FAST_ROUND_INL_H_
