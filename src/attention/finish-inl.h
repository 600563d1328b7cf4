// From the final state of a tile's rows to what the caller asked for.

#if defined(SIGHTLINE_ATTENTION_FINISH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SIGHTLINE_ATTENTION_FINISH_INL_H_
#undef SIGHTLINE_ATTENTION_FINISH_INL_H_
#else
#define SIGHTLINE_ATTENTION_FINISH_INL_H_
#endif

#include <algorithm>
#include <limits>

#include "src/attention/final_state-inl.h"
#include "src/attention/store_row-inl.h"
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
        state_(state_in(workspace.state_total, workspace.lanes)),
        max_(workspace.lane_array(TileWorkspace::kFinalMax)),
        sum_(workspace.lane_array(TileWorkspace::kFinalSum)),
        inverse_(workspace.lane_array(TileWorkspace::kInverse)),
        norm_(workspace.lane_array(TileWorkspace::kNorm)) {
    sinks_of(head, tile, sinks_);
  }

  void run() {
    take_sinks();
    per_row(sight_.row_max, [&](int lane) HWY_ATTR {
      const F l = load(state_.l + lane);
      // + 0, since max(-0, +0) is either.
      return hn::IfThenElse(hn::Eq(l, l), hn::Add(load(state_.m + lane), hn::Zero(kF32)), l);
    });
    per_row(sight_.row_sum, [&](int lane) HWY_ATTR { return load(state_.l + lane); });
    per_row(sight_.lse, [&](int lane) HWY_ATTR { return log_sum_exp(lane); });
    per_row(sight_.entropy, [&](int lane) HWY_ATTR { return not_below_zero(entropy(lane), lane); });
    per_row(sight_.position, [&](int lane) HWY_ATTR { return mean(state_.position + lane, lane); });
    per_row(sight_.distance, [&](int lane) HWY_ATTR { return mean(state_.distance + lane, lane); });
    per_row(sight_.sink_weight, [&](int lane) HWY_ATTR { return sink_weight(lane); });
    per_row(sight_.entropy_with_sink, [&](int lane) HWY_ATTR { return entropy_with_sink(lane); });
    if (sight_.out) finish_out();
    if (sight_.top_k > 0) finish_top_keys();
    finish_offsets();
    finish_segments();
    normalize_segments(work_.bin_total.data(), work_.bins_seen, sight_.bin_parts, nullptr);
  }

 private:
  void take_sinks() {
    for (int lane = 0; lane < lanes_; lane += static_cast<int>(kLanes)) {
      const F m = load(state_.m + lane), l = load(state_.l + lane);
      const FinalState state = head_.sinks == nullptr ? final_state(m, l) : final_state(m, l, load(sinks_ + lane));
      store(state.max, max_ + lane);
      store(state.sum, sum_ + lane);
      store(state.inverse, inverse_ + lane);
      store(state.norm, norm_ + lane);
    }
  }

  // A sum relative to m as one of weights.
  F normalized(const float* sums, int lane) const {
    return hn::Add(hn::Mul(load(sums), load(norm_ + lane)), hn::Zero(kF32));
  }

  // A mean over the keys, which a sink does not enter.
  F mean(const float* sums, int lane) const {
    return hn::Add(hn::Mul(load(sums), inverse_sum(load(state_.l + lane))), hn::Zero(kF32));
  }

  F log_sum_exp(int lane) const {
    const F l = load(sum_ + lane);
    const F lse = hn::Add(load(max_ + lane), ln_positive(l));
    return hn::IfThenElse(hn::Eq(l, hn::Zero(kF32)), splat(-__builtin_inff()), lse);
  }

  // -sum w ln w = ln l - ln 2 (e / l); with a sink the weights come to less than 1, and are relative to m'.
  F entropy(int lane) const {
    const F mean_exponent = hn::Mul(load(state_.e + lane), load(norm_ + lane));
    F logarithm = ln_positive(load(sum_ + lane));
    if (head_.sinks != nullptr) {
      // A row without a key has m = -inf and weights of 0.
      const F moved = hn::Sub(load(max_ + lane), reference_of(load(state_.m + lane)));
      logarithm = hn::Mul(hn::Add(logarithm, moved), hn::Mul(load(state_.l + lane), load(norm_ + lane)));
    }
    return fma(splat(-kLn2), mean_exponent, logarithm);
  }

  F not_below_zero(F value, int lane) const {
    const MaskF nothing = hn::Eq(load(state_.l + lane), hn::Zero(kF32));
    return hn::IfThenZeroElse(hn::Or(nothing, hn::Lt(value, hn::Zero(kF32))), value);
  }

  F sink_exponent(int lane) const { return exponent(load(sinks_ + lane), load(max_ + lane)); }

  F sink_weight(int lane) const {
    const F weight = hn::Mul(exp2_nonpositive(sink_exponent(lane)), load(inverse_ + lane));
    return hn::IfThenZeroElse(hn::Eq(load(sinks_ + lane), splat(-__builtin_inff())), weight);
  }

  F entropy_with_sink(int lane) const {
    const F of_keys = not_below_zero(entropy(lane), lane);
    const F weight = sink_weight(lane);
    const F logarithm = fma(sink_exponent(lane), splat(kLn2), hn::Neg(ln_positive(load(sum_ + lane))));
    const F with = fma(hn::Neg(weight), logarithm, of_keys);
    const F value = hn::IfThenElse(hn::Eq(weight, hn::Zero(kF32)), of_keys, with);
    return hn::IfThenZeroElse(hn::Lt(value, hn::Zero(kF32)), value);
  }

  // Calls use(lane, index of its row) for the live lanes.
  template <class Use>
  void for_each_row(const Use& use) const {
    for (int lane = tile_.live_begin; lane < tile_.live_end; ++lane) use(lane, sight_.row_index(tile_, lane));
  }

  // Writes value(lane) of the live lanes to an array of one float a row.
  template <class Value>
  void per_row(float* to, const Value& value) const {
    if (to == nullptr) return;
    alignas(64) float values[kTileRows];
    for (int lane = 0; lane < lanes_; lane += static_cast<int>(kLanes)) store(value(lane), values + lane);
    for_each_row([&](int lane, std::int64_t row) { to[row] = values[lane]; });
  }

  // sums: [count, lanes] divided by the rows' sums, in place. In a row of NaN only the segments that hold a key it saw
  // are NaN. marks: [count, lanes] where an earlier pass saw one, or null.
  void normalize_segments(float* sums, std::int64_t count, const SegmentParts* parts, const std::uint8_t* marks) const {
    for (std::int64_t i = 0; i < count; ++i) {
      for (int lane = 0; lane < lanes_; lane += static_cast<int>(kLanes)) {
        float* at = sums + i * lanes_ + lane;
        store(normalized(at, lane), at);
      }
    }
    for (int lane = tile_.live_begin; count > 0 && lane < tile_.live_end; ++lane) {
      if (sum_[lane] == sum_[lane]) continue;
      clear_unseen(sums + lane, count, *parts, lane);
      for (std::int64_t i = 0; marks != nullptr && i < count; ++i) {
        if (marks[i * lanes_ + lane] != 0) sums[i * lanes_ + lane] = std::numeric_limits<float>::quiet_NaN();
      }
    }
  }

  // sums: [count, lanes] of one row.
  void clear_unseen(float* sums, std::int64_t count, const SegmentParts& parts, int lane) const {
    for (std::int64_t i = 0; i < count; ++i) sums[i * lanes_] = 0;
    for_each_seen_segment(
        head_, tile_, lane, parts, [&](std::int32_t segment) { return sums[segment * lanes_] != 0; },
        [&](std::int32_t segment) { sums[segment * lanes_] = std::numeric_limits<float>::quiet_NaN(); });
  }

  void finish_out() const {
    const std::int64_t columns = head_.value_width;
    if (few_rows(head_, tile_)) {
      for (int lane = 0; lane < tile_.live_end; ++lane) finish_row(lane, work_.out_total.data() + lane * columns);
      return;
    }
    float* rows = work_.value_rows.data();
    for (int first = 0; first < lanes_; first += kTurned) {
      turn_output(first, rows);
      for (int i = 0; i < kTurned; ++i) {
        const int lane = first + i;
        if (lane >= tile_.live_begin && lane < tile_.live_end) finish_row(lane, rows + i * columns);
      }
    }
  }

  // rows: [kTurned, value width] of the lanes from `first` on.
  void turn_output(int first, float* rows) const {
    const std::int64_t columns = head_.value_width;
    const float* total = work_.out_total.data();
    std::int64_t column = 0;
    for (; column + kTurned <= columns; column += kTurned) {
      const float* of_column[kTurned];
      for (int c = 0; c < kTurned; ++c) of_column[c] = total + (column + c) * lanes_;
      F turned[kTurned];
      transpose_rows(of_column, first, turned);
      for (int i = 0; i < kTurned; ++i) store(turned[i], rows + i * columns + column);
    }
    for (; column < columns; ++column) {
      for (int i = 0; i < kTurned; ++i) rows[i * columns + column] = total[column * lanes_ + first + i];
    }
  }

  void finish_row(int lane, float* row) const {
    const float norm = norm_[lane], scale = head_.head_scale == nullptr ? 1.0f : head_.head_scale[tile_.head(lane)];
    const std::int64_t columns = head_.value_width;
    if (scale == 0) {
      std::fill_n(row, columns, 0.0f);  // knocked out, whatever it would be
    } else {
      // The weights' factor first: a head that is scaled has the bits of one that isn't, times the scale.
      for (std::int64_t column = 0; column < columns; ++column) row[column] = row[column] * norm * scale + 0.0f;
    }
    store_row(sight_.out, tile_.head(lane), tile_.row(lane), columns, row);
  }

  void finish_top_keys() const {
    const int k = sight_.top_k;
    final_weights(work_.topk_score.data(), k);
    for_each_row([&](int lane, std::int64_t row) {
      for (int i = 0; i < k; ++i) {
        const std::int64_t to = row * k + i, from = static_cast<std::int64_t>(i) * lanes_ + lane;
        if (sight_.topk_weight != nullptr) sight_.topk_weight[to] = work_.topk_score.data()[from];
        if (sight_.topk_index != nullptr) sight_.topk_index[to] = work_.topk_index.data()[from];
      }
    });
  }

  // scores: [count, lanes], turned into weights of the final map.
  void final_weights(float* scores, std::int64_t count) const {
    for (std::int64_t i = 0; i < count; ++i) {
      for (int lane = 0; lane < lanes_; lane += static_cast<int>(kLanes)) {
        float* at = scores + i * lanes_ + lane;
        store(final_weight(load(at), load(max_ + lane), load(inverse_ + lane)), at);
      }
    }
  }

  void finish_offsets() const {
    const auto count = static_cast<std::int64_t>(sight_.offsets.size());
    final_weights(work_.offset_score.data(), count);
    for_each_row([&](int lane, std::int64_t row) {
      for (std::int64_t o = 0; o < count; ++o) {
        const std::int64_t from = o * lanes_ + lane;
        float weight = work_.offset_score.data()[from];
        if (sight_.measures_values() && weight != 0) weight *= work_.offset_length.data()[from];
        sight_.offset_mass[row * count + o] = weight;
      }
    });
  }

  void finish_segments() const {
    float* sums = work_.segment_total.data();
    normalize_segments(sums, work_.segments_seen, sight_.segment_parts, work_.segment_marks.data());
    if (sight_.segments == 0) return;
    for_each_row([&](int lane, std::int64_t row) {
      for (std::int64_t s = 0; s < sight_.segments; ++s) {
        sight_.segment_mass[row * sight_.segments + s] = sums[s * lanes_ + lane];
      }
    });
  }

  const HeadProblem& head_;
  const HeadSight& sight_;
  const TileRows& tile_;
  const int lanes_;
  TileWorkspace& work_;
  const SoftmaxState state_;
  float* const max_;  // [lanes] each, of FinalState
  float* const sum_;
  float* const inverse_;
  float* const norm_;
  alignas(64) float sinks_[kTileRows];
};

}  // namespace HWY_NAMESPACE
}  // namespace sightline
HWY_AFTER_NAMESPACE();

#endif  // SIGHTLINE_ATTENTION_FINISH_INL_H_
