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

HWY_BEFORE_NAMESPACE();
namespace sightline {
namespace HWY_NAMESPACE {

// The sub-chains of a sum, folded as fold_chains() does.
HWY_INLINE float fold_lanes(float (&chains)[kChains]) {
  for (int half = kChains / 2; half > 0; half /= 2) {
    for (int r = 0; r < half; ++r) chains[r] += chains[r + half];
  }
  return chains[0];
}

// A row's sums of products become its scores. Returns the largest, -inf if all are NaN.
HWY_INLINE float scale_scores(float* HWY_RESTRICT scores, float scale) {
  F maximum = splat(-__builtin_inff());
  for (int slot = 0; slot < kBlockKeys; slot += static_cast<int>(kLanes)) {
    const F score = hn::Mul(load(scores + slot), splat(scale));
    maximum = max_or_second(score, maximum);
    store(score, scores + slot);
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
  to.l[row] = fold_lanes(l);
  if (kEntropy) to.e[row] = fold_lanes(e);
  if (kPosition) to.p[row] = fold_lanes(p);
}

// As absorb_block(), without distances. sums: [rows, kBlockKeys] of products, which become weights.
template <bool kEntropy, bool kPosition>
void absorb_few_rows(const SoftmaxState& state, std::int64_t block_position, float* sums, int rows, float scale,
                     const BlockResult& result) {
  alignas(64) float maxima[kChains];
  std::fill_n(maxima, kChains, -__builtin_inff());
  for (int row = 0; row < rows; ++row) maxima[row] = scale_scores(sums + row * kBlockKeys, scale);
  FewSums of_rows;
  for (int lane = 0; lane < kChains; lane += static_cast<int>(kLanes)) {
    absorb_vector<kEntropy, kPosition>(
        state, block_position, lane, maxima, result,
        [&](F reference) SIGHTLINE_LAMBDA {
          alignas(64) float references[kLanes];
          store(reference, references);
          for (int row = lane; row < std::min(rows, lane + static_cast<int>(kLanes)); ++row) {
            weigh_row<kEntropy, kPosition>(sums + row * kBlockKeys, references[row - lane], row, of_rows);
          }
          return BlockSums{load(of_rows.l + lane), load(of_rows.e + lane), load(of_rows.p + lane)};
        },
        [](const BlockSums&, F) {});
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace sightline
HWY_AFTER_NAMESPACE();

#endif  // SIGHTLINE_ATTENTION_FEW_SOFTMAX_INL_H_
