// The running softmax state of a tile's rows: init, absorb a block, merge a chunk, finish. Vectors of rows;
// docs/attention.md has the algebra.

#if defined(SIGHTLINE_ATTENTION_SOFTMAX_STATE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SIGHTLINE_ATTENTION_SOFTMAX_STATE_INL_H_
#undef SIGHTLINE_ATTENTION_SOFTMAX_STATE_INL_H_
#else
#define SIGHTLINE_ATTENTION_SOFTMAX_STATE_INL_H_
#endif

#include <algorithm>

#include "src/attention/lane_positions-inl.h"
#include "src/observe/chains-inl.h"
#include "src/observe/tile_block.h"
#include "src/observe/weight-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sightline {
namespace HWY_NAMESPACE {

// Sums over a block's keys, relative to the running max.
struct BlockSums {
  F l, e, p;  // sum of w, of w t, of w (slot)
  HWY_INLINE BlockSums operator+(const BlockSums& other) const {
    return {hn::Add(l, other.l), hn::Add(e, other.e), hn::Add(p, other.p)};
  }
};

// A sub-chain of weights, or a vector of them: its four keys are added from the last to the first, whose running sums
// give sum w (slot) by two additions and no multiplication a key: slots r, r + 16, r + 32, r + 48 weigh r + 16 (0, 1,
// 2, 3). score_at(step), keep(weight, step): of the chain's key number `step`. first: r.
template <bool kEntropy, bool kPosition, class ScoreAt, class Keep>
HWY_INLINE BlockSums weigh_chain(F reference, F first, const ScoreAt& score_at, const Keep& keep) {
  constexpr int kLast = kBlockKeys / kChains - 1;
  BlockSums sums = {hn::Zero(kF32), hn::Zero(kF32), hn::Zero(kF32)};
  F steps = hn::Zero(kF32);
#pragma GCC unroll 4
  for (int step = kLast; step >= 0; --step) {
    const F t = hn::Mul(hn::Sub(score_at(step), reference), splat(kLog2E));
    const MaskF nothing = hn::Lt(t, splat(kExp2Floor));
    const F w = hn::IfThenZeroElse(nothing, exp2_in_range(t));
    keep(w, step);
    sums.l = step == kLast ? w : hn::Add(sums.l, w);  // w is never -0
    if constexpr (kEntropy) sums.e = hn::IfThenElse(nothing, sums.e, fma(w, t, sums.e));
    if constexpr (kPosition) steps = step == kLast ? sums.l : step > 0 ? hn::Add(steps, sums.l) : steps;
  }
  if constexpr (kPosition) sums.p = fma(steps, splat(static_cast<float>(kChains)), hn::Mul(sums.l, first));
  return sums;
}

// Weights of one vector of rows from its scores, and their sums. scores, weights: [kBlockKeys, lanes], at the vector's
// first lane.
template <bool kEntropy, bool kPosition>
HWY_INLINE BlockSums weigh(const float* scores, float* weights, int lanes, F reference) {
  const auto chain = [=](int r) SIGHTLINE_LAMBDA {
    const auto at = [=](int step) { return static_cast<std::ptrdiff_t>(r + step * kChains) * lanes; };
    return weigh_chain<kEntropy, kPosition>(
        reference, splat(static_cast<float>(r)), [&](int step) SIGHTLINE_LAMBDA { return load(scores + at(step)); },
        [&](F weight, int step) SIGHTLINE_LAMBDA { store(weight, weights + at(step)); });
  };
  return fold_chains(chain);
}

// Arrays of one float a lane. m: running max; l: sum of w; e: sum of w t; position: sum of w j; distance: sum of w |i -
// j|, with w = exp(x - m), t = log2(w). Both of the current chunk and of all chunks before.
struct SoftmaxState {
  float* m = nullptr;
  float* l = nullptr;
  float* e = nullptr;
  float* position = nullptr;
  float* distance = nullptr;

  void clear(int lanes) const {
    std::fill_n(m, lanes, -__builtin_inff());
    for (float* array : {l, e, position, distance}) std::fill_n(array, lanes, 0.0f);
  }
};

// What absorbing a block leaves for the output and the observers, [lanes] each.
struct BlockResult {
  float* rescale = nullptr;  // exp(old max - new max)
  float* sum = nullptr;      // sum of w
};

// |i - j| summed over the slots of a block that holds the row's own position. relative: row position - block position.
HWY_INLINE F distance_within(const float* weights, int lanes, F relative) {
  const auto chain = [=](int r) SIGHTLINE_LAMBDA {
    F sum = hn::Zero(kF32);
    for (int slot = r + kBlockKeys - kChains; slot >= 0; slot -= kChains) {
      const F away = hn::Abs(hn::Sub(relative, splat(static_cast<float>(slot))));
      sum = fma(load(weights + static_cast<std::ptrdiff_t>(slot) * lanes), away, sum);
    }
    return Sum{sum};
  };
  return fold_chains(chain).value;
}

// A block that lies wholly before or after the row needs no pass of its own: sum w (i - j) = l i - sum w j.
HWY_INLINE F block_distance(const float* weights, int lanes, const BlockSums& sums, F relative) {
  const MaskF before = hn::Ge(relative, splat(kBlockKeys - 1.0f));
  const MaskF after = hn::Le(relative, hn::Zero(kF32));
  const F forward = fma(sums.l, relative, hn::Neg(sums.p));
  const F outside = hn::IfThenElse(before, forward, hn::Neg(forward));
  const MaskF beside = hn::Or(before, after);
  if (hn::AllTrue(kF32, beside)) return outside;
  return hn::IfThenElse(beside, outside, distance_within(weights, lanes, relative));
}

// Takes a block into the state of a vector of rows. weigh(reference) makes the weights and returns their sums;
// distance(sums) is asked where it is not null.
template <bool kEntropy, bool kPosition, class Weigh, class Distance>
HWY_INLINE void absorb_vector(const SoftmaxState& state, std::int64_t block_position, int lane, const float* block_max,
                              const BlockResult& result, const Weigh& weigh, const Distance& distance) {
  const F old_max = load(state.m + lane), old_sum = load(state.l + lane);
  const F new_max = max_or_second(load(block_max + lane), old_max);
  const Weight rescale = weight_of(exponent(old_max, new_max));
  const BlockSums sums = weigh(reference_of(new_max));
  store(new_max, state.m + lane);
  store(fma(old_sum, rescale.value, sums.l), state.l + lane);
  store(rescale.value, result.rescale + lane);
  store(sums.l, result.sum + lane);
  if constexpr (kEntropy) {
    const F moved = fma(old_sum, rescale.exponent, load(state.e + lane));
    store(fma(moved, rescale.value, sums.e), state.e + lane);
  }
  if constexpr (kPosition) {
    const F here = fma(sums.l, splat(static_cast<float>(block_position)), sums.p);
    store(fma(load(state.position + lane), rescale.value, here), state.position + lane);
    distance(sums, rescale.value);
  }
}

// Turns the block's scores into weights (in place if the arrays are the same) and takes them into the state.
// positions: null where distances are not asked for.
template <bool kEntropy, bool kPosition>
void absorb_block(const SoftmaxState& state, const TileBlock& block, float* weights, int lanes, const float* block_max,
                  const BlockResult& result, const LanePositions* positions) {
  const auto absorb = [&](int stride) SIGHTLINE_LAMBDA {
    for (int lane = 0; lane < stride; lane += static_cast<int>(kLanes)) {
      absorb_vector<kEntropy, kPosition>(
          state, block.position, lane, block_max, result,
          [&](F reference) SIGHTLINE_LAMBDA {
            return weigh<kEntropy, kPosition>(block.scores + lane, weights + lane, stride, reference);
          },
          [&](const BlockSums& sums, F rescale) SIGHTLINE_LAMBDA {
            if (positions == nullptr) return;
            const F away = block_distance(weights + lane, stride, sums, positions->distance(lane, block.position));
            store(fma(load(state.distance + lane), rescale, away), state.distance + lane);
          });
    }
  };
  // A stride that is known takes no registers for the addresses of 64 slots.
  if (lanes == kTileRows) return absorb(kTileRows);
  absorb(lanes);
}

// total = total merged with chunk. Writes the factors of both, [lanes] each, for whatever else is summed.
inline void merge_state(const SoftmaxState& total, const SoftmaxState& chunk, int lanes, float* factor_total,
                        float* factor_chunk) {
  for (int lane = 0; lane < lanes; lane += static_cast<int>(kLanes)) {
    const F m = max_or_second(load(chunk.m + lane), load(total.m + lane));
    const Weight a = weight_of(exponent(load(total.m + lane), m));
    const Weight b = weight_of(exponent(load(chunk.m + lane), m));
    store(a.value, factor_total + lane);
    store(b.value, factor_chunk + lane);
    const auto merge = [&](float* into, F mine, F theirs)
                           HWY_ATTR { store(fma(mine, a.value, hn::Mul(theirs, b.value)), into + lane); };
    const F l = load(total.l + lane), chunk_l = load(chunk.l + lane);
    merge(total.e, fma(l, a.exponent, load(total.e + lane)), fma(chunk_l, b.exponent, load(chunk.e + lane)));
    merge(total.l, l, chunk_l);
    merge(total.position, load(total.position + lane), load(chunk.position + lane));
    merge(total.distance, load(total.distance + lane), load(chunk.distance + lane));
    store(m, total.m + lane);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace sightline
HWY_AFTER_NAMESPACE();

#endif  // SIGHTLINE_ATTENTION_SOFTMAX_STATE_INL_H_
