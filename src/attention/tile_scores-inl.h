// Scores of one tile of rows against one block of keys, after bias and mask: what the pass and tile() share, so that
// both have the same bits.

#if defined(SIGHTLINE_ATTENTION_TILE_SCORES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SIGHTLINE_ATTENTION_TILE_SCORES_INL_H_
#undef SIGHTLINE_ATTENTION_TILE_SCORES_INL_H_
#else
#define SIGHTLINE_ATTENTION_TILE_SCORES_INL_H_
#endif

#include <algorithm>

#include "src/attention/head_problem.h"
#include "src/attention/score-inl.h"
#include "src/attention/tile_mask-inl.h"
#include "src/attention/tile_workspace.h"

HWY_BEFORE_NAMESPACE();
namespace sightline {
namespace HWY_NAMESPACE {

// Row pointers of a block's slots. Where columns are apart the block is copied; slots without a key point to zeros, and
// the pointers behind the block (fetched ahead) to what follows it.
class RowPointers {
 public:
  static constexpr int kAhead = kBlockRows;

  void set(const Matrix<const float>& matrix, std::int64_t width, std::int64_t rows, const TileBlock& block,
           const float* zeros, float* packed) {
    for (int slot = 0; slot < kBlockKeys + kAhead; ++slot) {
      const std::int64_t row = block.first_key + slot;
      const bool held = slot < kBlockKeys ? slot >= block.begin && slot < block.end : row < rows;
      rows_[slot] = held ? matrix.data + row * matrix.row_stride : zeros;
    }
    if (matrix.column_stride != 1 && width > 1) pack(matrix, width, block, packed);
  }
  const float* const* data() const { return rows_; }

 private:
  void pack(const Matrix<const float>& matrix, std::int64_t width, const TileBlock& block, float* packed) {
    for (int slot = block.begin; slot < block.end; ++slot) {
      float* to = packed + slot * width;
      for (std::int64_t t = 0; t < width; ++t) to[t] = matrix.at(block.first_key + slot, t);
      rows_[slot] = to;
    }
  }

  const float* rows_[kBlockKeys + kAhead];
};

inline TileBlock block_at(const HeadProblem& head, std::int64_t number) {
  TileBlock block;
  block.position = number * kBlockKeys;
  block.first_key = block.position - head.key_position;
  block.begin = static_cast<int>(std::max<std::int64_t>(0, -block.first_key));
  block.end = static_cast<int>(std::min<std::int64_t>(kBlockKeys, head.keys - block.first_key));
  return block;
}

// A tile's queries with rows in lanes: queries is [width, lanes].
inline void pack_queries(const HeadProblem& head, const TileRows& tile, float* queries) {
  for (int lane = 0; lane < tile.lanes; ++lane) {
    const std::int64_t row = row_of_lane(tile, lane);
    for (std::int64_t t = 0; t < head.width; ++t) queries[t * tile.lanes + lane] = head.q.at(row, t);
  }
}

// scale * dot of the block's keys with the tile's packed queries, into workspace.scores; the largest of each lane into
// kBlockMax.
inline void raw_scores(const HeadProblem& head, const TileRows& tile, const TileBlock& block,
                       TileWorkspace& workspace) {
  RowPointers keys;
  keys.set(head.k, head.width, head.keys, block, workspace.zeros.data(), workspace.packed_keys.data());
  with_vectors(tile.lanes, [&](auto vectors) HWY_ATTR {
    score_block<vectors()>(keys.data(), workspace.queries.data(), head.width, tile.lanes, head.scale, block.begin,
                           block.end, workspace.scores.data(), workspace.lane_array(TileWorkspace::kBlockMax));
  });
}

// Applies the mask to raw scores in place, hides slots without a key, and takes the largest score anew.
template <class Mask>
void mask_scores(const Mask& mask, const TileBlock& block, int lanes, float* scores, float* block_max) {
  const F hidden = splat(-__builtin_inff());
  for (int lane = 0; lane < lanes; lane += static_cast<int>(kLanes)) {
    F maximum = hidden;
    for (int slot = 0; slot < kBlockKeys; ++slot) {
      float* at = scores + static_cast<std::ptrdiff_t>(slot) * lanes + lane;
      const bool held = slot >= block.begin && slot < block.end;
      const F score = held ? mask.apply(load(at), slot, lane) : hidden;
      maximum = max_or_second(score, maximum);
      store(score, at);
    }
    store(maximum, block_max + lane);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace sightline
HWY_AFTER_NAMESPACE();

#endif  // SIGHTLINE_ATTENTION_TILE_SCORES_INL_H_
