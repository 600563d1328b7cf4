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
#include "src/attention/transpose-inl.h"
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
  for (int group = 0; group < kBlockKeys; group += kTurned) {
    for (std::int64_t column = 0; column < width; column += kTurned) {
      ahead.fetch(kTurned * kTurned / 16);
      F key[kTurned];
      transpose_rows(keys + group, column, key);
      for (int r = 0; r < rows; ++r) {
        float* at = sums + r * kBlockKeys + group;
        const float* query = queries + r * width + column;
        F sum = load(at);
        for (int c = 0; c < kTurned; ++c) sum = fma(key[c], splat(query[c]), sum);
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
      value[v] = load(values[slot] + column + v * kTurned);
      fetch_ahead(values[slot + kValuesAhead] + column + v * kTurned);
    }
    for (int r = 0; r < kRows; ++r) {
      const F weight = splat(weights[slot * kChains + r]);
      for (int v = 0; v < kVectors; ++v) sum[r][v] = fma(value[v], weight, sum[r][v]);
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      float* at = out + r * columns + column + v * kTurned;
      store(fma(load(at), splat(rescale[r]), sum[r][v]), at);
    }
  }
}

template <int kRows, int kVectors>
HWY_INLINE void mix_few_from(std::int64_t column, const float* const* values, std::int64_t columns, int begin, int end,
                             const float* weights, const float* rescale, float* out) {
  for (; column + kVectors * kTurned <= columns; column += kVectors * kTurned) {
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
    for (std::int64_t column = 0; column < columns; column += kTurned) {
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
    for (std::int64_t column = 0; column < columns; column += kTurned) {
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
