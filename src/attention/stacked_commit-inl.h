// The sums over rows of a tile whose rows are stacked. A head has at most 16 of them, one for each sub-chain, so that
// nothing waits for other tiles.

#if defined(SIGHTLINE_ATTENTION_STACKED_COMMIT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SIGHTLINE_ATTENTION_STACKED_COMMIT_INL_H_
#undef SIGHTLINE_ATTENTION_STACKED_COMMIT_INL_H_
#else
#define SIGHTLINE_ATTENTION_STACKED_COMMIT_INL_H_
#endif

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "src/attention/row_sums.h"
#include "src/attention/tile_pass-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sightline {
namespace HWY_NAMESPACE {

class StackedCommit {
 public:
  // strips: the workspaces that hold the weights of the tile's blocks.
  StackedCommit(const HeadProblem& head, const HeadSight& sight, const TileRows& tile, TileWorkspace& workspace,
                std::span<TileWorkspace* const> strips)
      : head_(head), sight_(sight), tile_(tile), work_(workspace), strips_(strips) {}

  void run() const {
    for (int lane = 0; lane < tile_.live_end; lane += static_cast<int>(tile_.stacked)) {
      if (sight_.wants_mass()) add_mass(lane);
      if (sight_.overview != nullptr) write_overview(lane);
    }
  }

 private:
  bool counts(std::int64_t row) const { return row >= sight_.mass_row_begin && row < sight_.mass_row_end; }
  float inverse(int lane) const { return work_.lane_array(TileWorkspace::kInverse)[lane]; }

  // use(block, weights [kBlockKeys] of the row, what turns them into final ones) for each block that was seen.
  template <class Use>
  void for_each_block(int lane, const Use& use) const {
    for (TileWorkspace* strip : strips_) {
      for (std::size_t b = 0; b < strip->strip.blocks.size(); ++b) {
        const F moved = exp2_nonpositive(
            exponent(splat(strip->strip_max(b)[lane]), splat(work_.lane_array(TileWorkspace::kFinalMax)[lane])));
        const float factor = hn::GetLane(hn::Mul(moved, splat(inverse(lane))));
        use(strip->strip.blocks[b], strip->strip_weights(b) + lane * kBlockKeys, factor);
      }
    }
  }

  // The keys that a row of NaN saw become NaN, and no other.
  void spoil(int lane, std::int64_t row, float* sums) const {
    for (std::int64_t key = 0; key < head_.keys; ++key) {
      if (head_.visible(tile_.head(lane), row, key)) sums[key] = std::numeric_limits<float>::quiet_NaN();
    }
  }

  void add_mass(int first_lane) const {
    const std::int64_t head = tile_.head(first_lane);
    float* mass = sight_.key_mass == nullptr ? nullptr : sight_.key_mass + head * sight_.key_stride;
    if (sight_.mass_sums == nullptr && tile_.stacked == 1) {  // a row alone is its own mass
      return write_row_of(first_lane, mass);
    }
    const bool running = sight_.mass_sums != nullptr;
    const std::int64_t stride = running ? sight_.mass_sums_keys : sight_.keys;
    float* sums = running ? sight_.mass_sums + head * kChains * stride : work_.mass_chains.data();
    if (!running) std::fill_n(sums, kChains * stride, 0.0f);
    add_rows_of(first_lane, sums, stride);
    if (mass == nullptr) return;
    const MassReader reader(head_, sight_);
    for (std::int64_t key = 0; key < sight_.keys; ++key) mass[key] = reader.read(sums + key, stride);
  }

  // The weights of a row, each key written once.
  void write_row_of(int lane, float* mass) const {
    const bool is_nan = std::isnan(inverse(lane));
    float* end = mass;
    if (counts(0) && !is_nan) {
      for_each_block(lane, [&](const TileBlock& block, const float* weights, float factor) HWY_ATTR {
        float* to = mass + block.first_key;
        std::fill(end, to + block.begin, 0.0f);
        add_block<true>(block, weights, factor, to);
        end = to + block.end;
      });
    }
    std::fill(end, mass + sight_.keys, 0.0f);
    if (counts(0) && is_nan) spoil(lane, 0, mass);
  }

  // sums: chain r at sums[r * stride].
  void add_rows_of(int first_lane, float* sums, std::int64_t stride) const {
    const float past = power(sight_.mass_decay, kChains);
    for (std::int64_t row = 0; row < tile_.stacked; ++row) {
      const int lane = first_lane + static_cast<int>(row);
      float* of_row = sums + chain_of_row(head_, row) * stride;
      for (std::int64_t key = 0; key < sight_.keys && past != 1; ++key) of_row[key] *= past;
      if (!counts(row)) continue;
      if (std::isnan(inverse(lane))) {
        spoil(lane, row, of_row);
        continue;
      }
      for_each_block(lane, [&](const TileBlock& block, const float* weights, float factor)
                               HWY_ATTR { add_block<false>(block, weights, factor, of_row + block.first_key); });
    }
  }

  // sums[slot] += weights[slot] * factor, from 0 if they are the first.
  template <bool kFirst>
  static void add_block(const TileBlock& block, const float* weights, float factor, float* sums) {
    int slot = block.begin;
    for (; slot + static_cast<int>(kLanes) <= block.end; slot += static_cast<int>(kLanes)) {
      const F before = kFirst ? hn::Zero(kF32) : load(sums + slot);
      store(fma(load(weights + slot), splat(factor), before), sums + slot);
    }
    for (; slot < block.end; ++slot) {
      const F before = kFirst ? hn::Zero(kF32) : splat(sums[slot]);
      sums[slot] = hn::GetLane(fma(splat(weights[slot]), splat(factor), before));
    }
  }

  void write_overview(int first_lane) const {
    float* overview = sight_.overview + tile_.head(first_lane) * sight_.overview_rows * sight_.overview_cols;
    std::fill_n(overview, sight_.overview_rows * sight_.overview_cols, 0.0f);
    const Bins bins = sight_.row_bins(head_.rows);
    std::int64_t row = 0;
    for (std::int64_t bin = 0; bin < sight_.overview_rows; ++bin) {
      const std::int64_t count = bins.size(bin);
      float* cells = overview + bin * sight_.overview_cols;
      for (std::int64_t column = 0; column < work_.bins_seen && count > 0; ++column) {
        cells[column] = mean_of(work_.bin_total.data() + column * tile_.lanes + first_lane, row, count);
      }
      row += count;
    }
  }

  // The mean over `count` rows from `first` on of values [rows].
  float mean_of(const float* values, std::int64_t first, std::int64_t count) const {
    if (count == 1) return values[first];
    float chains[kChains] = {};
    for (std::int64_t r = first; r < first + count; ++r) chains[chain_of_row(head_, r)] = values[r];
    return sightline::fold_chains(chains) / static_cast<float>(count);
  }

  const HeadProblem& head_;
  const HeadSight& sight_;
  const TileRows& tile_;
  TileWorkspace& work_;
  const std::span<TileWorkspace* const> strips_;
};

}  // namespace HWY_NAMESPACE
}  // namespace sightline
HWY_AFTER_NAMESPACE();

#endif  // SIGHTLINE_ATTENTION_STACKED_COMMIT_INL_H_
