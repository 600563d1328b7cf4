// Packing of bf16 pairs in AVX-512, for the units that multiply them. Every function here and in those units carries
// its instruction set as an attribute and has internal linkage; nothing else is compiled for it.

#ifndef SIGHTLINE_ATTENTION_FAST_PACK_INL_H_
#define SIGHTLINE_ATTENTION_FAST_PACK_INL_H_

#include "src/attention/fast_round-inl.h"
#include "src/observe/tile_block.h"

namespace sightline {
namespace {

inline constexpr int kPairs = kBlockKeys / 2;
static_assert(kFastLanes == 16);

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

}  // namespace
}  // namespace sightline

#endif  // SIGHTLINE_ATTENTION_FAST_PACK_INL_H_
