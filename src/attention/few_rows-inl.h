// Scores and mix of few rows, as in decoding: keys in lanes for the scores, value columns in lanes for the mix. The
// chains of operations are those of score-inl.h and mix-inl.h, so the bits are too; only the lanes are used better.
// Rows stay side by side in the tile of scores, and whatever lies between scores and mix is the same code for many rows
// and few.

#if defined(SIGHTLINE_ATTENTION_FEW_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SIGHTLINE_ATTENTION_FEW_ROWS_INL_H_
#undef SIGHTLINE_ATTENTION_FEW_ROWS_INL_H_
#else
#define SIGHTLINE_ATTENTION_FEW_ROWS_INL_H_
#endif

#include <algorithm>

#include "src/attention/head_problem.h"
#include "src/attention/rows-inl.h"
#include "src/cpu/simd-inl.h"
#include "src/observe/tile_block.h"

HWY_BEFORE_NAMESPACE();
namespace sightline {
namespace HWY_NAMESPACE {

// Stacked rows are few. Widths that fill no vector take the other way.
inline bool few_rows(const HeadProblem& head, const TileRows& tile) {
  constexpr auto kWhole = static_cast<std::int64_t>(kLanes);
  return kLanes > 1 && tile.stacked > 0 && head.width % kWhole == 0 && head.value_width % kWhole == 0;
}

#if HWY_TARGET != HWY_SCALAR

inline constexpr int kLaneKeys = static_cast<int>(kLanes);  // keys side by side in a vector
inline constexpr int kSlab = kLaneKeys;                     // columns that are turned over at once

// Columns [column, column + kSlab) of kLaneKeys rows, turned over: to[c] holds column c of every row.
#if HWY_TARGET == HWY_AVX3
// Pairs, fours, then blocks of four: 64 shuffles for 256 numbers. Gathering each vector from quarters of four rows
// needs half of the shuffles and four times the loads, and was a third slower.
HWY_INLINE void transpose_rows(const float* const* HWY_RESTRICT rows, std::int64_t column, F (&to)[kSlab]) {
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
    to[c] = F(_mm512_shuffle_f32x4(even_low, even_high, 0x88));
    to[c + 4] = F(_mm512_shuffle_f32x4(odd_low, odd_high, 0x88));
    to[c + 8] = F(_mm512_shuffle_f32x4(even_low, even_high, 0xdd));
    to[c + 12] = F(_mm512_shuffle_f32x4(odd_low, odd_high, 0xdd));
  }
}
#else
// Each vector is gathered from four-column pieces of every fourth row, which leaves only shuffles within 128 bits.
HWY_INLINE void transpose_rows(const float* const* HWY_RESTRICT rows, std::int64_t column, F (&to)[kSlab]) {
  const hn::RepartitionToWide<DF> wide;
  const auto gather = [&](int first, std::int64_t at) SIGHTLINE_LAMBDA {
    F piece = hn::LoadDup128(kF32, rows[first] + at);
    for (int block = 1; block < kLaneKeys / 4; ++block) {
      piece = hn::IfThenElse(hn::FirstN(kF32, 4 * block), piece, hn::LoadDup128(kF32, rows[first + 4 * block] + at));
    }
    return piece;
  };
  for (int c = 0; c < kSlab; c += 4) {
    const F a = gather(0, column + c), b = gather(1, column + c), e = gather(2, column + c), f = gather(3, column + c);
    const auto low_ab = hn::BitCast(wide, hn::InterleaveLower(kF32, a, b));
    const auto low_ef = hn::BitCast(wide, hn::InterleaveLower(kF32, e, f));
    const auto high_ab = hn::BitCast(wide, hn::InterleaveUpper(kF32, a, b));
    const auto high_ef = hn::BitCast(wide, hn::InterleaveUpper(kF32, e, f));
    to[c] = hn::BitCast(kF32, hn::InterleaveLower(wide, low_ab, low_ef));
    to[c + 1] = hn::BitCast(kF32, hn::InterleaveUpper(wide, low_ab, low_ef));
    to[c + 2] = hn::BitCast(kF32, hn::InterleaveLower(wide, high_ab, high_ef));
    to[c + 3] = hn::BitCast(kF32, hn::InterleaveUpper(wide, high_ab, high_ef));
  }
}
#endif

// use(integral constant of 4, 2 or 1, first row) for rows [0, rows).
template <class Use>
HWY_INLINE void by_rows(int rows, const Use& use) {
  int r = 0;
  for (; r + 4 <= rows; r += 4) use(std::integral_constant<int, 4>(), r);
  if (r + 2 <= rows) {
    use(std::integral_constant<int, 2>(), r);
    r += 2;
  }
  if (r < rows) use(std::integral_constant<int, 1>(), r);
}

// Fetches rows line by line in the order in which they lie in memory; the columns of 16 rows at once are no stream that
// the machine would see by itself. Column by column they came at two thirds of the rate.
class LineFetcher {
 public:
  LineFetcher(const float* const* rows, std::int64_t width) : row_(rows), lines_(static_cast<int>((width + 15) / 16)) {}

  HWY_INLINE void fetch(int count) {
    for (int i = 0; i < count; ++i) {
      fetch_ahead(*row_ + 16 * line_);
      if (++line_ < lines_) continue;
      line_ = 0;
      ++row_;
    }
  }

 private:
  const float* const* row_;
  int line_ = 0, lines_;
};

// keys: row pointers of the block's slots, and RowPointers::kAhead more that are fetched. queries: [rows, width].
// scores: [kBlockKeys, kChains], of which the first `rows` lanes are written.
inline void score_few_rows(const float* const* keys, const float* queries, std::int64_t width, int rows, float scale,
                           float* HWY_RESTRICT scores) {
  alignas(64) float sums[kChains * kBlockKeys];  // [rows, kBlockKeys]
  std::fill_n(sums, rows * kBlockKeys, 0.0f);
  LineFetcher ahead(keys + RowPointers::kAhead, width);
  for (int group = 0; group < kBlockKeys; group += kLaneKeys) {
    for (std::int64_t column = 0; column < width; column += kSlab) {
      ahead.fetch(kLaneKeys * kSlab / 16);
      F key[kSlab];
      transpose_rows(keys + group, column, key);
      for (int r = 0; r < rows; ++r) {
        float* at = sums + r * kBlockKeys + group;
        const float* query = queries + r * width + column;
        F sum = load(at);
        for (int c = 0; c < kSlab; ++c) sum = fma(key[c], splat(query[c]), sum);
        store(sum, at);
      }
    }
  }
  for (int r = 0; r < rows; ++r) {
    for (int slot = 0; slot < kBlockKeys; ++slot) scores[slot * kChains + r] = sums[r * kBlockKeys + slot] * scale;
  }
}

inline constexpr int kValuesAhead = 16;  // rows; they are read in order, and a stream needs less

// Columns [column, column + kVectors * kLanes) of kRows rows. weights: [kBlockKeys, kChains]; out: [rows, columns].
template <int kRows, int kVectors>
HWY_INLINE void mix_few_columns(const float* const* HWY_RESTRICT values, std::int64_t column, std::int64_t columns,
                                int begin, int end, const float* HWY_RESTRICT weights,
                                const float* HWY_RESTRICT rescale, float* HWY_RESTRICT out) {
  F sum[kRows][kVectors];
  for (auto& row : sum) {
    for (F& value : row) value = hn::Zero(kF32);
  }
  for (int slot = begin; slot < end; ++slot) {
    F value[kVectors];
    for (int v = 0; v < kVectors; ++v) {
      value[v] = load(values[slot] + column + v * kLaneKeys);
      fetch_ahead(values[slot + kValuesAhead] + column + v * kLaneKeys);
    }
    for (int r = 0; r < kRows; ++r) {
      const F weight = splat(weights[slot * kChains + r]);
      for (int v = 0; v < kVectors; ++v) sum[r][v] = fma(value[v], weight, sum[r][v]);
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      float* at = out + r * columns + column + v * kLaneKeys;
      store(fma(load(at), splat(rescale[r]), sum[r][v]), at);
    }
  }
}

template <int kRows, int kVectors>
HWY_INLINE void mix_few_from(std::int64_t column, const float* const* values, std::int64_t columns, int begin, int end,
                             const float* weights, const float* rescale, float* out) {
  for (; column + kVectors * kLaneKeys <= columns; column += kVectors * kLaneKeys) {
    mix_few_columns<kRows, kVectors>(values, column, columns, begin, end, weights, rescale, out);
  }
  if constexpr (kVectors > 1) {
    mix_few_from<kRows, kVectors / 2>(column, values, columns, begin, end, weights, rescale, out);
  }
}

// As mix_block(), for out of [rows, columns].
inline void mix_few_rows(const float* const* values, std::int64_t columns, int begin, int end, const float* weights,
                         const float* rescale, int rows, float* out) {
  by_rows(rows, [&](auto count, int r) SIGHTLINE_LAMBDA {
    constexpr int kVectors = count() == 4 ? 4 : 8;
    mix_few_from<count(), kVectors>(0, values, columns, begin, end, weights + r, rescale + r, out + r * columns);
  });
}

// As mix_block_selectively().
inline void mix_few_selectively(const float* const* values, std::int64_t columns, int begin, int end,
                                const float* weights, const float* rescale, int rows, const float* shown, float* out) {
  for (int r = 0; r < rows; ++r) {
    for (std::int64_t column = 0; column < columns; column += kLaneKeys) {
      F sum = hn::Zero(kF32);
      for (int slot = begin; slot < end; ++slot) {
        if (shown[slot * kChains + r] != 0) continue;
        sum = fma(load(values[slot] + column), splat(weights[slot * kChains + r]), sum);
      }
      float* at = out + r * columns + column;
      store(fma(load(at), splat(rescale[r]), sum), at);
    }
  }
}

// As merge_output(), for [rows, columns].
inline void merge_few_rows(float* HWY_RESTRICT total, const float* HWY_RESTRICT chunk, std::int64_t columns, int rows,
                           const float* HWY_RESTRICT a, const float* HWY_RESTRICT b) {
  for (int r = 0; r < rows; ++r) {
    for (std::int64_t column = 0; column < columns; column += kLaneKeys) {
      const std::int64_t at = r * columns + column;
      store(fma(load(total + at), splat(a[r]), hn::Mul(load(chunk + at), splat(b[r]))), total + at);
    }
  }
}

#endif  // HWY_TARGET != HWY_SCALAR

}  // namespace HWY_NAMESPACE
}  // namespace sightline
HWY_AFTER_NAMESPACE();

#endif  // SIGHTLINE_ATTENTION_FEW_ROWS_INL_H_
