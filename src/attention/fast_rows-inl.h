// Rows, queries and values of a block on bf16, as FastProducts takes them. Whatever is not bf16 already is widened and
// then rounded.

#if defined(SIGHTLINE_ATTENTION_FAST_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SIGHTLINE_ATTENTION_FAST_ROWS_INL_H_
#undef SIGHTLINE_ATTENTION_FAST_ROWS_INL_H_
#else
#define SIGHTLINE_ATTENTION_FAST_ROWS_INL_H_
#endif

#include <algorithm>
#include <cmath>

#include "hwy/cache_control.h"
#include "src/attention/fast.h"
#include "src/attention/head_problem.h"
#include "src/attention/rows-inl.h"
#include "src/attention/tile_workspace.h"
#include "src/tensor/half.h"

HWY_BEFORE_NAMESPACE();
namespace sightline {
namespace HWY_NAMESPACE {

// Where rows that are widened and rounded go: [kBlockKeys, width], [kBlockKeys, padded_columns(width)].
struct RoundedRows {
  float* widened;
  std::uint16_t* rounded;
};

// The rows of a block's slots: where they lie, or rounded.
class Bf16Rows {
 public:
  // rows: how many the source has. ahead: fetch those of the next block.
  void set(const FastProducts& fast, const RowSource& source, std::int64_t width, std::int64_t rows,
           const TileBlock& block, const float* zeros, const RoundedRows& to, bool ahead) {
    // The last pair of an odd width would reach into the next row.
    const bool in_place = source.dtype == DType::bf16 && source.column_stride == 1 && width % 2 == 0;
    pointers_.set(source, width, rows, block, zeros, to.widened, in_place || source.in_place());
    padded_ = !in_place;
    const std::int64_t stride = padded_columns(width);
    for (int slot = 0; slot < kBlockKeys; ++slot) {
      const float* row = pointers_.data()[slot];
      rows_[slot] = in_place ? reinterpret_cast<const std::uint16_t*>(row) : to.rounded + slot * stride;
      const bool held = slot >= block.begin && slot < block.end;
      if (!in_place && held) fast.round(row, width, to.rounded + slot * stride);
      if (!in_place && !held) std::fill_n(to.rounded + slot * stride, stride, std::uint16_t{0});
      if (ahead) fetch(pointers_.data()[slot + RowPointers::kAhead], width * (in_place ? 2 : 4));
    }
  }
  const std::uint16_t* const* data() const { return rows_; }
  bool padded() const { return padded_; }  // as in FastScores

 private:
  static void fetch(const float* row, std::int64_t bytes) {
    for (std::int64_t at = 0; at < bytes; at += 64) hwy::Prefetch(reinterpret_cast<const std::byte*>(row) + at);
  }

  RowPointers pointers_;
  const std::uint16_t* rows_[kBlockKeys];
  bool padded_ = false;
};

// A tile's queries, rows in lanes: pairs [padded_columns(width) / 2, lanes].
inline void pair_queries(const HeadProblem& head, const TileRows& tile, TileWorkspace& work) {
  std::uint16_t* row = work.rounded_keys.data();
  for (int lane = 0; lane < tile.lanes; ++lane) {
    RowSource source = head.q;
    source.data += tile.head(lane) * head.q_head_stride;
    widen(source, tile.row(lane), head.width, work.query_rows.data());
    head.fast->round(work.query_rows.data(), head.width, row);
    for (std::int64_t pair = 0; pair < padded_columns(head.width) / 2; ++pair) {
      work.query_pairs[pair * tile.lanes + lane] = row[2 * pair] | std::uint32_t{row[2 * pair + 1]} << 16;
    }
  }
}

inline void score_fast(const HeadProblem& head, const TileRows& tile, const TileBlock& block, bool few,
                       const Bf16Rows& keys, TileWorkspace& work, float* block_max) {
  FastScores scores;
  scores.keys = keys.data();
  scores.padded = keys.padded();
  scores.queries = work.query_pairs.data();
  scores.width = head.width;
  scores.lanes = tile.lanes;
  scores.rows = few ? tile.live_end : tile.lanes;
  scores.begin = block.begin;
  scores.end = block.end;
  scores.scale = head.scale;
  scores.stage = work.rounded_keys.data();
  scores.scores = work.scores.data();
  scores.block_max = block_max;
  head.fast->score(scores);
}

// out takes in the block's values. False: some of them are not finite, and were left out.
inline bool mix_fast(const HeadProblem& head, const TileRows& tile, const TileBlock& block, bool few,
                     const Bf16Rows& values, const float* weights, const float* rescale, TileWorkspace& work) {
  const bool finite =
      head.fast->pair_values(values.data(), head.value_width, block.begin, block.end, work.value_pairs.data());
  FastMix mix;
  mix.values = work.value_pairs.data();
  mix.columns = head.value_width;
  mix.weights = weights;
  mix.rescale = rescale;
  mix.lanes = tile.lanes;
  mix.rows = few ? tile.live_end : tile.lanes;
  mix.begin = block.begin;
  mix.end = block.end;
  mix.weight_pairs = work.weight_pairs.data();
  mix.turned = work.turned_pairs.data();
  mix.few = few;
  mix.out = work.out.data();
  head.fast->mix(mix);
  return finite;
}

// The products that mix_fast() left out, for the rows that see them: whatever the order, they make a sum infinite or
// NaN. So they are taken apart also where every row sees every key, and a row's bits do not depend on its company.
// shown: [kBlockKeys, lanes], 0 where seen.
inline void mix_unbounded(const HeadProblem& head, const TileRows& tile, const TileBlock& block, bool few,
                          const Bf16Rows& values, const float* weights, const float* shown, float* out) {
  const int rows = few ? tile.live_end : tile.lanes;
  for (int slot = block.begin; slot < block.end; ++slot) {
    for (std::int64_t column = 0; column < head.value_width; ++column) {
      const float value = bf16_to_f32(values.data()[slot][column]);
      if (std::isfinite(value)) continue;
      for (int lane = 0; lane < rows; ++lane) {
        const int at = slot * tile.lanes + lane;
        float& sum = out[few ? lane * head.value_width + column : column * tile.lanes + lane];
        if (shown[at] == 0) sum += weights[at] * value;
      }
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace sightline
HWY_AFTER_NAMESPACE();

#endif  // SIGHTLINE_ATTENTION_FAST_ROWS_INL_H_
