// The softmax of few rows with keys in lanes: the 16 sub-chains of a row are lanes, where softmax_state-inl.h has rows
// in them, most of which would hold none. For blocks that all rows see whole and that nothing else looks at.

#if defined(SIGHTLINE_ATTENTION_FEW_SOFTMAX_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SIGHTLINE_ATTENTION_FEW_SOFTMAX_INL_H_
#undef SIGHTLINE_ATTENTION_FEW_SOFTMAX_INL_H_
#else
#define SIGHTLINE_ATTENTION_FEW_SOFTMAX_INL_H_
#endif

#include <algorithm>

#include "src/attention/softmax_state-inl.h"
#include "src/observe/chain_fold.h"

HWY_BEFORE_NAMESPACE();
namespace sightline {
namespace HWY_NAMESPACE {

// The largest of a row's scores, -inf if all are NaN.
HWY_INLINE float largest_of_row(const float* scores) {
  F maximum = splat(-__builtin_inff());
  for (int slot = 0; slot < kBlockKeys; slot += static_cast<int>(kLanes)) {
    maximum = max_or_second(load(scores + slot), maximum);
  }
  alignas(64) float lanes[kLanes];
  store(maximum, lanes);
  return *std::max_element(lanes, lanes + kLanes);
}

// Sums of rows, a lane each.
struct FewSums {
  alignas(64) float l[kChains] = {}, e[kChains] = {}, p[kChains] = {};
};

// A row's scores become its weights.
template <bool kEntropy, bool kPosition>
HWY_INLINE void weigh_row(float* HWY_RESTRICT scores, float reference, int row, FewSums& to) {
  alignas(64) float l[kChains], e[kChains], p[kChains];
  for (int r = 0; r < kChains; r += static_cast<int>(kLanes)) {
    const BlockSums sums = weigh_chain<kEntropy, kPosition>(
        splat(reference), hn::Iota(kF32, static_cast<float>(r)),
        [&](int step) SIGHTLINE_LAMBDA { return load(scores + step * kChains + r); },
        [&](F weight, int step) SIGHTLINE_LAMBDA { store(weight, scores + step * kChains + r); });
    store(sums.l, l + r);
    if (kEntropy) store(sums.e, e + r);
    if (kPosition) store(sums.p, p + r);
  }
  to.l[row] = sightline::fold_chains(l);
  if (kEntropy) to.e[row] = sightline::fold_chains(e);
  if (kPosition) to.p[row] = sightline::fold_chains(p);
}

// A block of few rows. Lanes without a row have -inf as their largest score.
struct FewScores {
  std::int64_t position;  // of the block
  float* scores;          // [rows, kBlockKeys], which become weights
  int rows;
  const float* maxima;  // [kChains]
  float* tile;          // [kBlockKeys, kChains]
  bool spread;          // whether the weights are wanted in the tile, too
};

// rows of [rows, kBlockKeys] from `begin` to `end` as columns of a tile.
inline void spread_rows(const float* from, int begin, int end, float* tile) {
  for (int row = begin; row < end; ++row) {
    for (int slot = 0; slot < kBlockKeys; ++slot) tile[slot * kChains + row] = from[row * kBlockKeys + slot];
  }
}

// As absorb_block(). positions: null where distances are not asked for; with them the weights are wanted in the tile
// unless the block lies beside the positions of all rows.
template <bool kEntropy, bool kPosition>
void absorb_few_rows(const SoftmaxState& state, const FewScores& block, const BlockResult& result,
                     const LanePositions* positions) {
  FewSums of_rows;
  for (int lane = 0; lane < kChains; lane += static_cast<int>(kLanes)) {
    absorb_vector<kEntropy, kPosition>(
        state, block.position, lane, block.maxima, result,
        [&](F reference) SIGHTLINE_LAMBDA {
          alignas(64) float references[kLanes];
          store(reference, references);
          const int end = std::min(block.rows, lane + static_cast<int>(kLanes));
          for (int row = lane; row < end; ++row) {
            weigh_row<kEntropy, kPosition>(block.scores + row * kBlockKeys, references[row - lane], row, of_rows);
          }
          if (block.spread) spread_rows(block.scores, lane, end, block.tile);
          return BlockSums{load(of_rows.l + lane), load(of_rows.e + lane), load(of_rows.p + lane)};
        },
        [&](const BlockSums& sums, F rescale) SIGHTLINE_LAMBDA {
          if (positions == nullptr) return;
          const F away = block_distance(block.tile + lane, kChains, sums, positions->distance(lane, block.position));
          store(fma(load(state.distance + lane), rescale, away), state.distance + lane);
        });
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace sightline
HWY_AFTER_NAMESPACE();

#endif  // SIGHTLINE_ATTENTION_FEW_SOFTMAX_INL_H_
