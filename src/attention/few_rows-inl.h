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

#include "hwy/cache_control.h"
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
inline constexpr int kKeyVectors = kBlockKeys / kLaneKeys;  // vectors that hold a block's keys
inline constexpr int kSlab = kLaneKeys;                     // columns that are turned over at once

// Columns [0, kSlab) of kLaneKeys rows, turned over: to[c][i] = rows[i][c]. Each vector is gathered from four-column
// pieces of every fourth row, which leaves only shuffles within 128 bits.
HWY_INLINE void transpose_rows(const float* const* rows, std::int64_t column, float* HWY_RESTRICT to) {
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
    store(hn::BitCast(kF32, hn::InterleaveLower(wide, low_ab, low_ef)), to + (c + 0) * kLaneKeys);
    store(hn::BitCast(kF32, hn::InterleaveUpper(wide, low_ab, low_ef)), to + (c + 1) * kLaneKeys);
    store(hn::BitCast(kF32, hn::InterleaveLower(wide, high_ab, high_ef)), to + (c + 2) * kLaneKeys);
    store(hn::BitCast(kF32, hn::InterleaveUpper(wide, high_ab, high_ef)), to + (c + 3) * kLaneKeys);
  }
}

// sums[r][key] += queries[r][column + c] * turned[c][key] over a slab, for kRows rows. turned: [kSlab, kBlockKeys] by
// vectors of keys: [kKeyVectors][kSlab][kLaneKeys].
template <int kRows>
HWY_INLINE void score_slab(const float* HWY_RESTRICT turned, const float* HWY_RESTRICT queries, std::int64_t width,
                           float* HWY_RESTRICT sums) {
  constexpr int kVectors = 4;  // with four rows 16 accumulators; with one, enough chains to hide an fma's latency
  for (int first = 0; first < kKeyVectors; first += kVectors) {
    F sum[kRows][kVectors];
    for (int r = 0; r < kRows; ++r) {
      for (int v = 0; v < kVectors; ++v) sum[r][v] = load(sums + r * kBlockKeys + (first + v) * kLaneKeys);
    }
    for (int c = 0; c < kSlab; ++c) {
      F key[kVectors];
      for (int v = 0; v < kVectors; ++v) key[v] = load(turned + ((first + v) * kSlab + c) * kLaneKeys);
      for (int r = 0; r < kRows; ++r) {
        const F query = splat(queries[r * width + c]);
        for (int v = 0; v < kVectors; ++v) sum[r][v] = fma(key[v], query, sum[r][v]);
      }
    }
    for (int r = 0; r < kRows; ++r) {
      for (int v = 0; v < kVectors; ++v) store(sum[r][v], sums + r * kBlockKeys + (first + v) * kLaneKeys);
    }
  }
}

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

// keys: row pointers of the block's slots, and RowPointers::kAhead more that are fetched. queries: [rows, width].
// scores: [kBlockKeys, kChains], of which the first `rows` lanes are written.
inline void score_few_rows(const float* const* keys, const float* queries, std::int64_t width, int rows, float scale,
                           float* HWY_RESTRICT scores) {
  alignas(64) float turned[kBlockKeys * kSlab];
  alignas(64) float sums[kChains * kBlockKeys];
  std::fill_n(sums, rows * kBlockKeys, 0.0f);
  for (std::int64_t column = 0; column < width; column += kSlab) {
    for (int group = 0; group < kKeyVectors; ++group) {
      const float* const* of_group = keys + group * kLaneKeys;
      for (int i = 0; i < kLaneKeys && column % 16 == 0; ++i) hwy::Prefetch(of_group[i + RowPointers::kAhead] + column);
      transpose_rows(of_group, column, turned + group * kSlab * kLaneKeys);
    }
    by_rows(rows, [&](auto count, int r) SIGHTLINE_LAMBDA {
      score_slab<count()>(turned, queries + r * width + column, width, sums + r * kBlockKeys);
    });
  }
  for (int r = 0; r < rows; ++r) {
    for (int slot = 0; slot < kBlockKeys; ++slot) scores[slot * kChains + r] = sums[r * kBlockKeys + slot] * scale;
  }
}

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
      hwy::Prefetch(values[slot + RowPointers::kAhead] + column + v * kLaneKeys);
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
