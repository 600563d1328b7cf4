// Products by vdpbf16ps: of two pairs of bf16 onto a sum of fp32. A sum is one chain of them over the pairs, ascending,
// from 0, whichever of the schedules below computes it: rows in lanes, as score-inl.h and mix-inl.h have them, or for
// few rows keys and value columns in lanes, as few_rows-inl.h has them.

#include "src/attention/fast.h"

#if defined(__x86_64__)

#include "src/attention/fast_pack-inl.h"

namespace sightline {
namespace {

// 24 accumulators of 32 registers, as in score-inl.h.
constexpr int kBlockRows = 8;
// Up to so many rows, turning keys over costs less than vectors with idle lanes.
constexpr int kFewRows = 8;

SIGHTLINE_BF16 inline __m512 dot(__m512 sum, __m512i a, __m512i b) {
  return _mm512_dpbf16_ps(sum, reinterpret_cast<__m512bh>(a), reinterpret_cast<__m512bh>(b));
}

SIGHTLINE_BF16 inline __m512i splat_pair(const void* at) {
  std::int32_t pair;
  __builtin_memcpy(&pair, at, sizeof(pair));
  return _mm512_set1_epi32(pair);
}

// kBlockRows keys against kVectors vectors of rows. queries, scores: at the first lane.
template <int kVectors>
SIGHTLINE_BF16 inline void score_rows(const FastScores& block, int slot, int lane, __m512* maxima) {
  const std::uint16_t* const* keys = block.keys + slot;
  const std::uint32_t* queries = block.queries + lane;
  const std::int64_t pairs = (block.width + 1) / 2;
  __m512 sum[kBlockRows][kVectors];
  for (auto& row : sum) {
    for (__m512& value : row) value = _mm512_setzero_ps();
  }
  for (std::int64_t t = 0; t < pairs; ++t) {
    __m512i query[kVectors];
    for (int v = 0; v < kVectors; ++v) query[v] = _mm512_loadu_si512(queries + t * block.lanes + v * 16);
    for (int i = 0; i < kBlockRows; ++i) {
      const __m512i key = splat_pair(keys[i] + 2 * t);
      for (int v = 0; v < kVectors; ++v) sum[i][v] = dot(sum[i][v], key, query[v]);
    }
  }
  for (int i = 0; i < kBlockRows; ++i) {
    for (int v = 0; v < kVectors; ++v) {
      const __m512 score = _mm512_mul_ps(sum[i][v], _mm512_set1_ps(block.scale));
      maxima[v] = _mm512_max_ps(score, maxima[v]);
      _mm512_storeu_ps(block.scores + (slot + i) * block.lanes + lane + v * 16, score);
    }
  }
}

template <int kVectors>
SIGHTLINE_BF16 void score_lanes(const FastScores& block, int lane) {
  __m512 maxima[kVectors];
  for (__m512& maximum : maxima) maximum = _mm512_set1_ps(-__builtin_inff());
  for (int slot = block.begin / kBlockRows * kBlockRows; slot < block.end; slot += kBlockRows) {
    score_rows<kVectors>(block, slot, lane, maxima);
  }
  for (int v = 0; v < kVectors; ++v) _mm512_storeu_ps(block.block_max + lane + v * 16, maxima[v]);
}

// Keys in lanes: sums of kRows rows, [kRows, kBlockKeys], take in 16 pairs of columns. turned: [4, 16, 16] by groups of
// keys; queries: [16, lanes] at the first row.
template <int kRows>
SIGHTLINE_BF16 inline void score_slab(const std::uint32_t* turned, const std::uint32_t* queries, int lanes,
                                      float* sums) {
  constexpr int kGroups = kBlockKeys / 16;
  __m512 sum[kRows][kGroups];
  for (int r = 0; r < kRows; ++r) {
    for (int g = 0; g < kGroups; ++g) sum[r][g] = _mm512_loadu_ps(sums + r * kBlockKeys + g * 16);
  }
  for (int c = 0; c < 16; ++c) {
    for (int g = 0; g < kGroups; ++g) {
      const __m512i key = _mm512_loadu_si512(turned + (g * 16 + c) * 16);
      for (int r = 0; r < kRows; ++r) sum[r][g] = dot(sum[r][g], key, splat_pair(queries + c * lanes + r));
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int g = 0; g < kGroups; ++g) _mm512_storeu_ps(sums + r * kBlockKeys + g * 16, sum[r][g]);
  }
}

// Rows that end within a slab are copied, with zeros behind them.
SIGHTLINE_BF16 inline void turn_keys(const FastScores& block, std::int64_t column, std::uint32_t* turned) {
  std::uint32_t tails[16][16];
  const std::uint32_t* rows[16];
  const __mmask32 held = first_of_32(block.width - column);
  for (int slot = 0; slot < kBlockKeys; slot += 16) {
    for (int i = 0; i < 16; ++i) {
      _mm512_storeu_si512(tails[i], _mm512_maskz_loadu_epi16(held, block.keys[slot + i] + column));
      rows[i] = tails[i];
    }
    turn(rows, turned + slot * 16, 16);
  }
}

SIGHTLINE_BF16 void score_few(const FastScores& block) {
  float sums[kFewRows * kBlockKeys];
  std::uint32_t turned[kBlockKeys * 16];
  for (int i = 0; i < block.rows * kBlockKeys; ++i) sums[i] = 0;
  for (std::int64_t column = 0; column < block.width; column += kFastColumns) {
    turn_keys(block, column, turned);
    const std::uint32_t* queries = block.queries + column / 2 * block.lanes;
    int r = 0;
    for (; r + 4 <= block.rows; r += 4) score_slab<4>(turned, queries + r, block.lanes, sums + r * kBlockKeys);
    for (; r < block.rows; ++r) score_slab<1>(turned, queries + r, block.lanes, sums + r * kBlockKeys);
  }
  for (int slot = 0; slot < kBlockKeys; ++slot) {
    for (int r = 0; r < block.rows; ++r) {
      block.scores[slot * block.lanes + r] = sums[r * kBlockKeys + slot] * block.scale;
    }
  }
}

SIGHTLINE_BF16 void score(const FastScores& block) {
  if (block.rows <= kFewRows) return score_few(block);
  switch (block.lanes) {
    case 48:
      return score_lanes<3>(block, 0);
    case 32:
      return score_lanes<2>(block, 0);
    default:
      return score_lanes<1>(block, 0);
  }
}

// kBlockRows value columns, fewer where they end, against kVectors vectors of rows.
template <int kVectors>
SIGHTLINE_BF16 inline void mix_columns(const FastMix& block, std::int64_t column) {
  const std::int64_t stride = padded_values(block.columns);
  __m512 sum[kBlockRows][kVectors];
  for (auto& row : sum) {
    for (__m512& value : row) value = _mm512_setzero_ps();
  }
  for (int pair = block.begin / 2; pair < (block.end + 1) / 2; ++pair) {
    const std::uint32_t* values = block.values + pair * stride + column;
    __m512i weight[kVectors];
    for (int v = 0; v < kVectors; ++v) {
      weight[v] = _mm512_loadu_si512(block.weight_pairs + pair * block.lanes + v * 16);
    }
    for (int i = 0; i < kBlockRows; ++i) {
      const __m512i value = splat_pair(values + i);
      for (int v = 0; v < kVectors; ++v) sum[i][v] = dot(sum[i][v], value, weight[v]);
    }
  }
  for (int i = 0; i < kBlockRows; ++i) {
    if (column + i >= block.columns) return;
    for (int v = 0; v < kVectors; ++v) {
      float* at = block.out + (column + i) * block.lanes + v * 16;
      const __m512 rescale = _mm512_loadu_ps(block.rescale + v * 16);
      _mm512_storeu_ps(at, _mm512_fmadd_ps(_mm512_loadu_ps(at), rescale, sum[i][v]));
    }
  }
}

template <int kVectors>
SIGHTLINE_BF16 void mix_lanes(const FastMix& block) {
  for (std::int64_t column = 0; column < block.columns; column += kBlockRows) mix_columns<kVectors>(block, column);
}

// Value columns in lanes: kVectors vectors of them for kRows rows.
template <int kRows, int kVectors>
SIGHTLINE_BF16 inline void mix_few_columns(const FastMix& block, int row, std::int64_t column) {
  const std::int64_t stride = padded_values(block.columns);
  __m512 sum[kRows][kVectors];
  for (auto& of_row : sum) {
    for (__m512& value : of_row) value = _mm512_setzero_ps();
  }
  for (int pair = block.begin / 2; pair < (block.end + 1) / 2; ++pair) {
    const std::uint32_t* weights = block.weight_pairs + pair * block.lanes + row;
    for (int v = 0; v < kVectors; ++v) {
      const __m512i value = _mm512_loadu_si512(block.values + pair * stride + column + v * 16);
      for (int r = 0; r < kRows; ++r) sum[r][v] = dot(sum[r][v], value, splat_pair(weights + r));
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      float* at = block.out + (row + r) * block.columns + column + v * 16;
      const __mmask16 held = first_of_16(block.columns - column - v * 16);
      const __m512 before = _mm512_maskz_loadu_ps(held, at), rescale = _mm512_set1_ps(block.rescale[row + r]);
      _mm512_mask_storeu_ps(at, held, _mm512_fmadd_ps(before, rescale, sum[r][v]));
    }
  }
}

template <int kRows>
SIGHTLINE_BF16 void mix_few(const FastMix& block, int row) {
  std::int64_t column = 0;
  for (; column + 64 <= padded_values(block.columns); column += 64) mix_few_columns<kRows, 4>(block, row, column);
  for (; column < block.columns; column += 16) mix_few_columns<kRows, 1>(block, row, column);
}

SIGHTLINE_BF16 void mix(const FastMix& block) {
  pair_weights(block.weights, block.lanes, block.begin, block.end, block.weight_pairs);
  if (!block.few) {
    switch (block.lanes) {
      case 48:
        return mix_lanes<3>(block);
      case 32:
        return mix_lanes<2>(block);
      default:
        return mix_lanes<1>(block);
    }
  }
  int row = 0;
  for (; row + 4 <= block.rows; row += 4) mix_few<4>(block, row);
  for (; row < block.rows; ++row) mix_few<1>(block, row);
}

constexpr FastProducts kProducts = {"avx512_bf16", round_row, pair_values, score, mix};

}  // namespace

const FastProducts* avx512_products() { return &kProducts; }

}  // namespace sightline

#else

namespace sightline {
const FastProducts* avx512_products() { return nullptr; }
}  // namespace sightline

#endif
