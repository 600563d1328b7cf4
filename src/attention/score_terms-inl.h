// What scores become between the dot product and the mask: softcap, bias, relative bias, ALiBi, the caller's function.
// One pass over the tile each, in the cache; a pass costs 1 to 2 % of a block, and most problems have none.

#if defined(SIGHTLINE_ATTENTION_SCORE_TERMS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SIGHTLINE_ATTENTION_SCORE_TERMS_INL_H_
#undef SIGHTLINE_ATTENTION_SCORE_TERMS_INL_H_
#else
#define SIGHTLINE_ATTENTION_SCORE_TERMS_INL_H_
#endif

#include "src/attention/head_problem.h"
#include "src/attention/lane_positions-inl.h"
#include "src/attention/pair_mask.h"
#include "src/cpu/tanh-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sightline {
namespace HWY_NAMESPACE {

class ScoreTerms {
 public:
  // bias: [kBlockKeys, lanes], filled for the block.
  ScoreTerms(const HeadProblem& head, const TileRows& tile, const float* bias)
      : head_(head),
        tile_(tile),
        bias_(bias),
        consecutive_(tile.stacked == 0 && head.tree == nullptr),
        positions_(head, tile, true) {
    for (int lane = 0; lane < tile.lanes && head.alibi_slopes != nullptr; ++lane) {
      slope_[lane] = head.alibi_slopes[tile.head(lane)];
    }
  }

  void cap(const TileBlock& block, float* scores) const {
    if (head_.softcap == 0) return;
    const F cap = splat(head_.softcap);
    change(block, scores, [&](F score, int, int) SIGHTLINE_LAMBDA { return hn::Mul(cap, tanh(hn::Div(score, cap))); });
  }

  void add(const TileBlock& block, float* scores) const {
    if (head_.bias) add_bias(block, scores);
    if (head_.relative != nullptr) add_relative(block, scores);
    if (head_.alibi_slopes != nullptr) add_alibi(block, scores);
    if (head_.score_function != nullptr) {
      for_each_head_part(head_, tile_, block, scores,
                         [&](const ScoreTile& part) { head_.score_function->apply(part); });
    }
  }

 private:
  // score = to(score, slot, lane) for all slots that hold a key.
  template <class To>
  HWY_INLINE void change(const TileBlock& block, float* scores, const To& to) const {
    for (int slot = block.begin; slot < block.end; ++slot) {
      for (int lane = 0; lane < tile_.lanes; lane += static_cast<int>(kLanes)) {
        float* at = scores + static_cast<std::ptrdiff_t>(slot) * tile_.lanes + lane;
        store(to(load(at), slot, lane), at);
      }
    }
  }

  void add_bias(const TileBlock& block, float* scores) const {
    change(block, scores, [&](F score, int slot, int lane) SIGHTLINE_LAMBDA {
      return hn::Add(score, load(bias_ + static_cast<std::ptrdiff_t>(slot) * tile_.lanes + lane));
    });
  }

  void add_alibi(const TileBlock& block, float* scores) const {
    change(block, scores, [&](F score, int slot, int lane) SIGHTLINE_LAMBDA {
      const F away = hn::Abs(positions_.distance(lane, head_.position_of_key(block.first_key + slot)));
      return fma(hn::Neg(load(slope_ + lane)), away, score);
    });
  }

  void add_relative(const TileBlock& block, float* scores) const {
    if (consecutive_) {
      const std::int64_t first = head_.query_position + tile_.first;
      change(block, scores, [&](F score, int slot, int lane) SIGHTLINE_LAMBDA {
        return hn::Add(score, load(head_.relative->from(first + lane - (block.position + slot))));
      });
      return;
    }
    for (int slot = block.begin; slot < block.end; ++slot) {
      const std::int64_t key = head_.position_of_key(block.first_key + slot);
      for (int lane = 0; lane < tile_.lanes; ++lane) {
        scores[static_cast<std::ptrdiff_t>(slot) * tile_.lanes + lane] +=
            *head_.relative[tile_.head(lane)].from(positions_.of(lane) - key);
      }
    }
  }

  const HeadProblem& head_;
  const TileRows& tile_;
  const float* const bias_;
  const bool consecutive_;  // the lanes' rows follow one another and are of one head
  const LanePositions positions_;
  alignas(64) float slope_[kTileRows];
};

}  // namespace HWY_NAMESPACE
}  // namespace sightline
HWY_AFTER_NAMESPACE();

#endif  // SIGHTLINE_ATTENTION_SCORE_TERMS_INL_H_
