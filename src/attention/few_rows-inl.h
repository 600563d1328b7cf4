// Scores and mix of few rows, as in decoding: keys in lanes for the scores, value columns in lanes for the mix. The
// chains of operations are those of score-inl.h and mix-inl.h, so the bits are too; only the lanes are used better.

#if defined(SIGHTLINE_ATTENTION_FEW_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SIGHTLINE_ATTENTION_FEW_ROWS_INL_H_
#undef SIGHTLINE_ATTENTION_FEW_ROWS_INL_H_
#else
#define SIGHTLINE_ATTENTION_FEW_ROWS_INL_H_
#endif

#include <algorithm>

#include "src/attention/head_problem.h"
#include "src/attention/row_elements-inl.h"
#include "src/attention/tile_workspace.h"
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

// Rows of a block whose pointers are made already, RowPointers::kAhead more of them than the block has slots.
struct PointedRows {
  const float* const* rows;

  const float* const* at(int slot, int, const float**) const { return rows + slot; }
};

// Rows as they lie from key `first` on. Pointers are made for as many as are at work: where the rows come from memory
// and fill every miss buffer, a pointer that has left the first-level cache waits as long as they do.
struct SourceRows {
  const RowSource& source;
  std::int64_t rows, first;
  const float* zeros;  // the row of slots without a key

  // Pointers of `count` rows from `slot` on, in `buffer`.
  HWY_INLINE const float* const* at(int slot, int count, const float** buffer) const {
    const std::int64_t index = first + slot;
    const auto begin = static_cast<int>(std::clamp<std::int64_t>(-index, 0, count));
    const auto end = static_cast<int>(std::clamp<std::int64_t>(rows - index, begin, count));
    std::fill_n(buffer, begin, zeros);
    RowPointers::point(source, index + begin, buffer + begin, end - begin);
    std::fill_n(buffer + end, count - end, zeros);
    return buffer;
  }
};

// Reads the lines of the next keys while those before them are scored. The columns of 16 rows at once are no stream
// that the machine would see by itself. On Zen 4 prefetches alone fill its few miss buffers and are dropped, while
// loads in the order of memory, spread over the arithmetic, come at the rate of a plain sum; on Zen 5 loads fill the
// reorder window and wait there, and prefetches take half of the time away. So the keys after the next are asked for,
// and the next are loaded. The machine's own prefetching ends with each page of memory; the first lines of the page
// after are asked for.
class KeyLines {
 public:
  // rows: `count` row pointers. spare: 1 KiB that is read instead where the rows do not lie one after the other, which
  // are prefetched then.
  HWY_INLINE KeyLines(const float* const* rows, int count, std::int64_t row_bytes, const float* spare)
      : rows_(rows), row_bytes_(row_bytes), scattered_{0, count} {
    dense_ = true;
    for (int i = 1; i < count; ++i) dense_ &= address(rows[i]) - address(rows[i - 1]) == row_bytes;
    now_ = dense_ ? bytes_of(rows[0]) : bytes_of(spare);
    beyond_ = dense_ ? count * row_bytes : 0;
    end_ = now_ + beyond_;
  }

  // kLines lines from here on.
  template <int kLines>
  HWY_INLINE void prepare() {
    if (!dense_) return fetch_scattered(rows_, row_bytes_, kLines, scattered_);
    if (static_cast<std::uintptr_t>(address(now_)) % kPage >= kLines * kLine) return;
    for (int line = 0; line < kPageLines; ++line) fetch_ahead(now_ + kPage + line * kLine);
  }
  // Loads to a vector register: those of a byte to a general one were slower by a third.
  HWY_INLINE void read(int line) const {
    using Unaligned __attribute__((aligned(1), may_alias)) = float;
    fetch_ahead(now_ + beyond_ + line * kLine);
    (void)*reinterpret_cast<const volatile Unaligned*>(now_ + line * kLine);
  }
  // The address is ready long before it is used: what comes late is late for memory too.
  template <int kLines>
  HWY_INLINE void advance() {
    now_ = end_ - now_ >= 2 * kLines * kLine ? now_ + kLines * kLine : now_;
  }

 private:
  static std::intptr_t address(const void* pointer) { return reinterpret_cast<std::intptr_t>(pointer); }

  struct Cursor {
    int row = 0, rows;
    std::int64_t column = 0;  // bytes
  };
  // Not a member's: the numbers of an object whose address is taken would live in memory. A step's lines are rounded
  // up, and so may be more than there are.
  static HWY_NOINLINE void fetch_scattered(const float* const* rows, std::int64_t row_bytes, int lines, Cursor& at) {
    for (; lines > 0 && at.row < at.rows; --lines) {
      fetch_ahead(bytes_of(rows[at.row]) + at.column);
      at.column += kLine;
      if (at.column < row_bytes) continue;
      fetch_ahead(bytes_of(rows[at.row]) + row_bytes - 1);  // rows that begin within a line end in one more
      at.column = 0;
      ++at.row;
    }
  }

  static constexpr int kLine = 64, kPage = 4096, kPageLines = 8;
  const float* const* rows_;
  std::int64_t row_bytes_;
  Cursor scattered_;
  bool dense_;
  std::int64_t beyond_;  // from a row that is read to the one that is asked for
  const std::byte *now_, *end_;
};

// sums[r] += the columns' products with kRows queries, which lie `width` apart as the sums lie kBlockKeys.
template <int kRows, int kReads, int kColumns>
HWY_INLINE void add_products(const F (&key)[kColumns], const float* HWY_RESTRICT queries, std::int64_t width,
                             float* HWY_RESTRICT sums, const KeyLines& ahead) {
  F sum[kRows];
  for (int r = 0; r < kRows; ++r) sum[r] = load(sums + r * kBlockKeys);
#pragma GCC unroll 16
  for (int c = 0; c < kColumns; ++c) {
    if (c < kReads) ahead.read(c);
    for (int r = 0; r < kRows; ++r) sum[r] = fma(key[c], splat(queries[r * width + c]), sum[r]);
  }
  for (int r = 0; r < kRows; ++r) store(sum[r], sums + r * kBlockKeys);
}

// keys: row pointers of Elements::kKeys slots. queries: [rows, width]. sums: [rows, kBlockKeys], unscaled. kRows: 0 if
// known at run time alone.
template <class Elements, int kRows>
HWY_INLINE void score_few_keys(const float* const* keys, const float* queries, std::int64_t width, int rows,
                               KeyLines& ahead, float* HWY_RESTRICT sums) {
  constexpr int kColumns = Elements::kColumns, kReads = Elements::kLines;
  typename Elements::Common common[Elements::kKeys / kTurned];
  for (std::int64_t column = 0; column < width; column += kColumns) {
    for (int group = 0; group < Elements::kKeys; group += kTurned) {
      ahead.template prepare<kReads>();
      F key[kColumns];
      Elements::turn(keys + group, column, common[group / kTurned], key);
      if constexpr (kRows > 0) {
        add_products<kRows, kReads>(key, queries + column, width, sums + group, ahead);
      } else {
        for (int line = 0; line < kReads; ++line) ahead.read(line);
        by_rows(rows, [&](auto count, int r) SIGHTLINE_LAMBDA {
          add_products<count(), 0>(key, queries + r * width + column, width, sums + r * kBlockKeys + group, ahead);
        });
      }
      ahead.template advance<kReads>();
    }
  }
}

// The keys of a block. queries: room for 1 KiB, however few rows there are.
template <class Elements, int kRows, class Rows>
void score_few_rows(const Rows& keys, const float* queries, std::int64_t width, int rows, std::int64_t bytes,
                    float* HWY_RESTRICT sums) {
  constexpr int kKeys = Elements::kKeys;
  static_assert(kKeys <= RowPointers::kAhead);
  const float* pointers[2][kKeys];
  std::fill_n(sums, rows * kBlockKeys, 0.0f);
  const float* const* at_work = keys.at(0, kKeys, pointers[0]);
  for (int slot = 0; slot < kBlockKeys; slot += kKeys) {
    const float* const* next = keys.at(slot + kKeys, kKeys, pointers[slot / kKeys % 2 == 0]);
    KeyLines ahead(next, kKeys, bytes, queries);
    score_few_keys<Elements, kRows>(at_work, queries, width, rows, ahead, sums + slot);
    at_work = next;
  }
}

// A loop of its own for the usual numbers of rows: what a step costs bounds how many lines are on their way at a time.
template <class Elements>
void score_few_rows(const SourceRows& keys, const float* queries, std::int64_t width, int rows, std::int64_t bytes,
                    float* HWY_RESTRICT sums) {
  if (rows == 1) return score_few_rows<Elements, 1>(keys, queries, width, rows, bytes, sums);
  if (rows == 4) return score_few_rows<Elements, 4>(keys, queries, width, rows, bytes, sums);
  score_few_rows<Elements, 0>(keys, queries, width, rows, bytes, sums);
}

// What the values of a block are mixed into.
struct FewMix {
  std::int64_t columns;
  int begin, end;  // slots
  const float* weights;
  int slot_stride, row_stride;  // of the weights
  const float* rescale;         // [rows]
  int rows;
  float* out;   // [rows, columns]
  float* sums;  // as many, to use
};

inline constexpr int kMixedSlots = 16;   // at a time
inline constexpr int kValuesAhead = 32;  // rows; scattered ones gained 5 to 10 % over 16 on Zen 5
static_assert(kValuesAhead <= RowPointers::kAhead);

// Slots [begin, end) of columns [column, column + kVectors * kLanes) of rows [row, row + kRows).
template <class Elements, int kRows, int kVectors, class Rows>
HWY_NOINLINE void mix_few_columns(const FewMix& mix, const Rows& values, int begin, int end, std::int64_t column,
                                  int row) {
  // Every loop over the sums is unrolled, so that they never leave their registers.
  const auto each = [](const auto& use) SIGHTLINE_LAMBDA {
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) use(r, v);
    }
  };
  F sum[kRows][kVectors];
  float* sums = mix.sums + row * mix.columns + column;
  if (begin == mix.begin) {
    each([&](int r, int v) SIGHTLINE_LAMBDA { sum[r][v] = hn::Zero(kF32); });
  } else {
    each([&](int r, int v) SIGHTLINE_LAMBDA { sum[r][v] = load(sums + r * mix.columns + v * kTurned); });
  }
  const float* pointers[kMixedSlots + kValuesAhead];
  for (int first = begin; first < end; first += kMixedSlots) {
    const float* const* row_of = values.at(first, kMixedSlots + kValuesAhead, pointers);
    const int count = std::min(kMixedSlots, end - first);
    for (int i = 0; i < count; ++i) {
      F value[kVectors], weight[kRows];
      Elements::values(row_of[i], column, value);
      const std::byte* ahead = bytes_of(row_of[i + kValuesAhead]) + column * Elements::kBits / 8;
      constexpr int kBytes = kVectors * kTurned * Elements::kBits / 8;
#pragma GCC unroll 8
      for (int byte = 0; byte < kBytes; byte += 64) fetch_ahead(ahead + byte);
      // Rows that begin within a line end in one more. Of packed types the bytes are an average over the row.
      fetch_ahead(ahead + kBytes - 1);
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) {
        weight[r] = splat(mix.weights[(first + i) * mix.slot_stride + (row + r) * mix.row_stride]);
      }
      each([&](int r, int v) SIGHTLINE_LAMBDA { sum[r][v] = fma(value[v], weight[r], sum[r][v]); });
    }
  }
  if (end < mix.end) {
    return each([&](int r, int v) SIGHTLINE_LAMBDA { store(sum[r][v], sums + r * mix.columns + v * kTurned); });
  }
  float* out = mix.out + row * mix.columns + column;
  each([&](int r, int v) SIGHTLINE_LAMBDA {
    float* at = out + r * mix.columns + v * kTurned;
    store(fma(load(at), splat(mix.rescale[row + r]), sum[r][v]), at);
  });
}

template <class Elements, int kRows, int kVectors, class Rows>
void mix_few_from(const FewMix& mix, const Rows& values, int begin, int end, std::int64_t column, int row) {
  for (; column + kVectors * kTurned <= mix.columns; column += kVectors * kTurned) {
    mix_few_columns<Elements, kRows, kVectors>(mix, values, begin, end, column, row);
  }
  if constexpr (kVectors > 1) mix_few_from<Elements, kRows, kVectors / 2>(mix, values, begin, end, column, row);
}

// As mix_block(), for out of [rows, columns]. Whole value rows are read in their order, and some of them by all rows of
// weights, so that all but the first find them in the first-level cache. Packed values are dear to widen: four rows of
// weights share them, half a row at a time.
template <class Elements, class Rows>
void mix_few_rows(const Rows& values, const FewMix& mix) {
  const int slots = mix.rows == 1 ? kBlockKeys : kMixedSlots;
  for (int begin = mix.begin; begin < mix.end; begin += slots) {
    const int end = std::min(begin + slots, mix.end);
    by_rows(mix.rows, [&](auto count, int r) SIGHTLINE_LAMBDA {
      if constexpr (count() < 4) {
        mix_few_from<Elements, count(), 8>(mix, values, begin, end, 0, r);
      } else if (Elements::kBits < 16 || mix.columns <= 4 * kTurned) {
        mix_few_from<Elements, 4, 4>(mix, values, begin, end, 0, r);
      } else {
        mix_few_from<Elements, 2, 8>(mix, values, begin, end, 0, r);
        mix_few_from<Elements, 2, 8>(mix, values, begin, end, 0, r + 2);
      }
    });
  }
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
