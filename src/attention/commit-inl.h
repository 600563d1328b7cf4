// Adds a finished tile's rows to the sums over rows: key mass from the strip of weights, the overview from the column
// bins.

#if defined(SIGHTLINE_ATTENTION_COMMIT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SIGHTLINE_ATTENTION_COMMIT_INL_H_
#undef SIGHTLINE_ATTENTION_COMMIT_INL_H_
#else
#define SIGHTLINE_ATTENTION_COMMIT_INL_H_
#endif

#include <algorithm>
#include <cmath>
#include <limits>

#include "src/attention/kernel.h"
#include "src/attention/tile_pass-inl.h"
#include "src/observe/chain_fold.h"
#include "src/observe/row_sums-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sightline {
namespace HWY_NAMESPACE {

class TileCommit {
 public:
  TileCommit(const HeadProblem& head, const HeadSight& sight, const TileRows& tile, TileWorkspace& workspace,
             RowSums& sums)
      : head_(head),
        sight_(sight),
        tile_(tile),
        lanes_(tile.lanes),
        work_(workspace),
        sums_(sums),
        state_(state_in(workspace.state_total)) {}

  void run() {
    if (sight_.key_mass != nullptr) add_mass();
    if (sight_.overview != nullptr) add_overview();
  }

 private:
  bool counts(int lane) const {
    const std::int64_t row = tile_.first + lane;
    return lane >= tile_.live_begin && lane < tile_.live_end && row >= sight_.mass_row_begin &&
           row < sight_.mass_row_end;
  }

  void add_mass() {
    alignas(64) float inverse[kTileRows], factors[kTileRows];
    bool finite = true;
    for (int lane = 0; lane < lanes_; lane += static_cast<int>(kLanes)) {
      store(inverse_sum(load(state_.l + lane)), inverse + lane);
    }
    for (int lane = 0; lane < lanes_; ++lane) {
      const bool is_nan = std::isnan(inverse[lane]);
      if (counts(lane) && is_nan) spoil(tile_.first + lane);
      if (!counts(lane) || is_nan) inverse[lane] = 0;
      finite &= !is_nan;
    }
    for (std::size_t b = 0; b < work_.strip.blocks.size(); ++b) {
      const TileBlock& block = work_.strip.blocks[b];
      float* weights = work_.strip.weights.data() + (b * kBlockKeys * kTileRows) + block.begin * lanes_;
      set_factors(work_.strip.running_max.data() + b * kTileRows, inverse, factors);
      if (!finite) clear_unused(weights, block.end - block.begin, inverse, lanes_);
      add_rows(weights, block.end - block.begin, factors, lanes_,
               sums_.mass.data() + (block.first_key + block.begin) * kChains);
    }
  }

  // What turns a block's weights into final ones: exp(running max - final max) / l.
  void set_factors(const float* running_max, const float* inverse, float* factors) const {
    for (int lane = 0; lane < lanes_; lane += static_cast<int>(kLanes)) {
      const F moved = exp2_nonpositive(exponent(load(running_max + lane), load(state_.m + lane)));
      const F scale = load(inverse + lane);
      store(hn::IfThenZeroElse(hn::Eq(scale, hn::Zero(kF32)), hn::Mul(moved, scale)), factors + lane);
    }
  }

  // A row of NaN makes NaN of the mass of the keys that it saw, and of no other.
  void spoil(std::int64_t row) {
    const std::int64_t position = head_.query_position + row;
    const std::int64_t chain = ((position % kChains) + kChains) % kChains;
    for (std::int64_t key = 0; key < head_.keys; ++key) {
      if (head_.visible(row, key)) sums_.mass[key * kChains + chain] = std::numeric_limits<float>::quiet_NaN();
    }
  }

  std::int64_t row_bin(std::int64_t row) const { return ((row + 1) * sight_.overview_rows - 1) / head_.rows; }

  void add_overview() {
    int lane = tile_.live_begin;
    while (lane < tile_.live_end) {
      const std::int64_t bin = row_bin(tile_.first + lane);
      alignas(64) float factors[kTileRows] = {};
      for (; lane < tile_.live_end && row_bin(tile_.first + lane) == bin; ++lane) factors[lane] = 1;
      for (std::int64_t column = 0; column < work_.bins_seen; ++column) {
        alignas(64) float values[kTileRows];
        std::copy_n(work_.bin_total.data() + column * lanes_, lanes_, values);
        clear_unused(values, 1, factors, lanes_);
        add_rows(values, 1, factors, lanes_, sums_.overview.data() + column * kChains);
      }
      const std::int64_t next = tile_.first + lane;
      if (next == head_.rows || row_bin(next) != bin) close_bin(bin);
    }
  }

  // Rows ascend, so that one bin's sums are enough.
  void close_bin(std::int64_t bin) {
    const std::int64_t bins = sight_.overview_rows;
    const auto count = static_cast<float>((bin + 1) * head_.rows / bins - bin * head_.rows / bins);
    for (std::int64_t column = 0; column < sight_.overview_cols; ++column) {
      float* chains = sums_.overview.data() + column * kChains;
      sight_.overview[bin * sight_.overview_cols + column] = sightline::fold_chains(chains) / count;
      std::fill_n(chains, kChains, 0.0f);
    }
  }

  const HeadProblem& head_;
  const HeadSight& sight_;
  const TileRows& tile_;
  const int lanes_;
  TileWorkspace& work_;
  RowSums& sums_;
  const SoftmaxState state_;
};

}  // namespace HWY_NAMESPACE
}  // namespace sightline
HWY_AFTER_NAMESPACE();

#endif  // SIGHTLINE_ATTENTION_COMMIT_INL_H_
