// From the final state of a tile's rows to what the caller asked for.

#if defined(SIGHTLINE_ATTENTION_FINISH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SIGHTLINE_ATTENTION_FINISH_INL_H_
#undef SIGHTLINE_ATTENTION_FINISH_INL_H_
#else
#define SIGHTLINE_ATTENTION_FINISH_INL_H_
#endif

#include <limits>

#include "src/attention/tile_pass-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sightline {
namespace HWY_NAMESPACE {

class TileFinish {
 public:
  TileFinish(const HeadProblem& head, const HeadSight& sight, const TileRows& tile, TileWorkspace& workspace)
      : head_(head),
        sight_(sight),
        tile_(tile),
        lanes_(tile.lanes),
        work_(workspace),
        state_(state_in(workspace.state_total)) {}

  void run() {
    per_row(sight_.row_max, [&](int lane) HWY_ATTR {
      const F l = load(state_.l + lane);
      // + 0, since max(-0, +0) is either.
      return hn::IfThenElse(hn::Eq(l, l), hn::Add(load(state_.m + lane), hn::Zero(kF32)), l);
    });
    per_row(sight_.row_sum, [&](int lane) HWY_ATTR { return load(state_.l + lane); });
    per_row(sight_.lse, [&](int lane) HWY_ATTR { return log_sum_exp(lane); });
    per_row(sight_.entropy, [&](int lane) HWY_ATTR { return entropy(lane); });
    per_row(sight_.position, [&](int lane) HWY_ATTR { return normalized(state_.position + lane, lane); });
    per_row(sight_.distance, [&](int lane) HWY_ATTR { return normalized(state_.distance + lane, lane); });
    if (sight_.out) finish_out();
    if (sight_.top_k > 0) finish_top_keys();
    finish_offsets();
    finish_segments();
    normalize_segments(work_.bin_total.data(), work_.bins_seen, sight_.bin_parts);
  }

 private:
  F inverse(int lane) const { return inverse_sum(load(state_.l + lane)); }

  F normalized(const float* sums, int lane) const {
    return hn::Add(hn::Mul(load(sums), inverse(lane)), hn::Zero(kF32));
  }

  F log_sum_exp(int lane) const {
    const F l = load(state_.l + lane);
    const F lse = hn::Add(load(state_.m + lane), ln_positive(l));
    return hn::IfThenElse(hn::Eq(l, hn::Zero(kF32)), splat(-__builtin_inff()), lse);
  }

  // -sum w ln w = ln l - ln 2 (e / l); never below 0.
  F entropy(int lane) const {
    const F l = load(state_.l + lane);
    const F mean_exponent = hn::Mul(load(state_.e + lane), inverse(lane));
    const F value = fma(splat(-kLn2), mean_exponent, ln_positive(l));
    return hn::IfThenZeroElse(hn::Or(hn::Eq(l, hn::Zero(kF32)), hn::Lt(value, hn::Zero(kF32))), value);
  }

  // Writes value(lane) of the live lanes to an array of one float a row.
  template <class Value>
  void per_row(float* to, const Value& value) const {
    if (to == nullptr) return;
    alignas(64) float values[kTileRows];
    for (int lane = 0; lane < lanes_; lane += static_cast<int>(kLanes)) store(value(lane), values + lane);
    std::copy(values + tile_.live_begin, values + tile_.live_end, to + (tile_.first + tile_.live_begin));
  }

  // sums: [count, lanes] divided by the rows' sums, in place.
  // sums: [count, lanes] divided by the rows' sums, in place. In a row of NaN only the segments that hold a key it saw
  // are NaN.
  void normalize_segments(float* sums, std::int64_t count, const SegmentParts* parts) const {
    for (std::int64_t i = 0; i < count; ++i) {
      for (int lane = 0; lane < lanes_; lane += static_cast<int>(kLanes)) {
        float* at = sums + i * lanes_ + lane;
        store(normalized(at, lane), at);
      }
    }
    for (int lane = tile_.live_begin; count > 0 && lane < tile_.live_end; ++lane) {
      if (state_.l[lane] != state_.l[lane]) clear_unseen(sums + lane, count, *parts, tile_.first + lane);
    }
  }

  // sums: [count, lanes] of one row.
  void clear_unseen(float* sums, std::int64_t count, const SegmentParts& parts, std::int64_t row) const {
    for (std::int64_t i = 0; i < count; ++i) sums[i * lanes_] = 0;
    const BlockRange blocks = head_.blocks();
    for (std::int64_t number = blocks.begin; number < blocks.end; ++number) {
      const TileBlock block = block_at(head_, number);
      for (const SegmentPart& part : parts.at(block.position)) {
        for (int slot = block.begin; slot < block.end; ++slot) {
          const bool seen = (part.slots >> slot & 1) != 0 && head_.visible(row, block.first_key + slot);
          if (seen) sums[part.segment * lanes_] = std::numeric_limits<float>::quiet_NaN();
        }
      }
    }
  }

  void finish_out() const {
    float* sums = work_.out_total.data();
    for (std::int64_t column = 0; column < head_.value_width; ++column) {
      for (int lane = 0; lane < lanes_; lane += static_cast<int>(kLanes)) {
        float* at = sums + column * lanes_ + lane;
        store(hn::Add(hn::Mul(load(at), inverse(lane)), hn::Zero(kF32)), at);
      }
    }
    for (int lane = tile_.live_begin; lane < tile_.live_end; ++lane) {
      for (std::int64_t column = 0; column < head_.value_width; ++column) {
        sight_.out.at(tile_.first + lane, column) = sums[column * lanes_ + lane];
      }
    }
  }

  void finish_top_keys() const {
    const int k = sight_.top_k;
    final_weights(work_.topk_score.data(), k);
    for (int lane = tile_.live_begin; lane < tile_.live_end; ++lane) {
      for (int i = 0; i < k; ++i) {
        const std::int64_t to = (tile_.first + lane) * k + i, from = static_cast<std::int64_t>(i) * lanes_ + lane;
        if (sight_.topk_weight != nullptr) sight_.topk_weight[to] = work_.topk_score[from];
        if (sight_.topk_index != nullptr) sight_.topk_index[to] = work_.topk_index[from];
      }
    }
  }

  // scores: [count, lanes], turned into weights of the final map.
  void final_weights(float* scores, std::int64_t count) const {
    for (std::int64_t i = 0; i < count; ++i) {
      for (int lane = 0; lane < lanes_; lane += static_cast<int>(kLanes)) {
        float* at = scores + i * lanes_ + lane;
        store(final_weight(load(at), load(state_.m + lane), inverse(lane)), at);
      }
    }
  }

  void finish_offsets() const {
    const auto count = static_cast<std::int64_t>(sight_.offsets.size());
    final_weights(work_.offset_score.data(), count);
    for (int lane = tile_.live_begin; lane < tile_.live_end; ++lane) {
      for (std::int64_t o = 0; o < count; ++o) {
        sight_.offset_mass[(tile_.first + lane) * count + o] = work_.offset_score[o * lanes_ + lane];
      }
    }
  }

  void finish_segments() const {
    float* sums = work_.segment_total.data();
    normalize_segments(sums, work_.segments_seen, sight_.segment_parts);
    for (int lane = tile_.live_begin; lane < tile_.live_end; ++lane) {
      for (std::int64_t s = 0; s < sight_.segments; ++s) {
        sight_.segment_mass[(tile_.first + lane) * sight_.segments + s] = sums[s * lanes_ + lane];
      }
    }
  }

  const HeadProblem& head_;
  const HeadSight& sight_;
  const TileRows& tile_;
  const int lanes_;
  TileWorkspace& work_;
  const SoftmaxState state_;
};

}  // namespace HWY_NAMESPACE
}  // namespace sightline
HWY_AFTER_NAMESPACE();

#endif  // SIGHTLINE_ATTENTION_FINISH_INL_H_
