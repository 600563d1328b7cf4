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
#include "src/attention/row_sums.h"
#include "src/attention/tile_pass-inl.h"
#include "src/observe/row_sums-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sightline {
namespace HWY_NAMESPACE {

// Rows that lie one after the other in one head, added 16 at a time.
class TileCommit {
 public:
  TileCommit(const HeadProblem& head, const HeadSight& sight, const TileRows& tile, TileWorkspace& workspace,
             RowSums& sums)
      : head_(head), sight_(sight), tile_(tile), lanes_(tile.lanes), work_(workspace), sums_(sums) {}

  void run() {
    if (sight_.wants_mass()) add_mass();
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
    for (int lane = 0; lane < lanes_; ++lane) {
      inverse[lane] = work_.lane_array(TileWorkspace::kInverse)[lane];
      const bool is_nan = std::isnan(inverse[lane]);
      if (!counts(lane) || is_nan) inverse[lane] = 0;
      finite &= !is_nan;
    }
    const std::size_t blocks = work_.strip.blocks.size();
    for (std::size_t b = 0; b < blocks && !finite; ++b) {
      clear_unused(work_.strip_weights(b), kBlockKeys, inverse, lanes_);
    }
    // What decays is added 16 rows at a time, for between two rows of a chain all keys decay, seen or not.
    const int step = sight_.mass_decay == 1 ? lanes_ : kChains;
    for (int lane = 0; lane < lanes_; lane += step) {
      if (sight_.mass_decay != 1) decay(lane);
      for (std::size_t b = 0; b < blocks; ++b) {
        const TileBlock& block = work_.strip.blocks[b];
        set_factors(work_.strip_max(b), inverse, factors);
        add_rows(work_.strip_weights(b) + block.begin * lanes_ + lane, block.end - block.begin, lanes_, factors + lane,
                 step, sums_.mass.data() + (block.first_key + block.begin) * kChains);
      }
    }
    for (int lane = tile_.live_begin; lane < tile_.live_end && !finite; ++lane) {
      if (counts(lane) && std::isnan(work_.lane_array(TileWorkspace::kInverse)[lane])) spoil(tile_.first + lane);
    }
  }

  // By the 16 positions since the chains' last rows.
  void decay(int first_lane) const {
    alignas(64) float factors[kChains];
    const float past = sightline::power(sight_.mass_decay, kChains);
    for (int r = 0; r < kChains; ++r) {
      const int lane = first_lane + r;
      factors[r] = lane >= tile_.live_begin && lane < tile_.live_end ? past : 1.0f;
    }
    float* chains = sums_.mass.data();
    for (std::int64_t key = 0; key < sight_.keys; ++key, chains += kChains) {
      for (std::size_t r = 0; r < kChains; r += kLanes) store(hn::Mul(load(chains + r), load(factors + r)), chains + r);
    }
  }

  // What turns a block's weights into final ones: exp(running max - final max) / l.
  void set_factors(const float* running_max, const float* inverse, float* factors) const {
    const float* max = work_.lane_array(TileWorkspace::kFinalMax);
    for (int lane = 0; lane < lanes_; lane += static_cast<int>(kLanes)) {
      const F moved = exp2_nonpositive(exponent(load(running_max + lane), load(max + lane)));
      const F scale = load(inverse + lane);
      store(hn::IfThenZeroElse(hn::Eq(scale, hn::Zero(kF32)), hn::Mul(moved, scale)), factors + lane);
    }
  }

  // A row of NaN makes NaN of the mass of the keys that it saw, and of no other.
  void spoil(std::int64_t row) {
    const int chain = chain_of_row(head_, row);
    for (std::int64_t key = 0; key < head_.keys; ++key) {
      if (head_.visible(0, row, key)) sums_.mass[key * kChains + chain] = std::numeric_limits<float>::quiet_NaN();
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
        add_rows(values, 1, lanes_, factors, lanes_, sums_.overview.data() + column * kChains);
      }
      const std::int64_t next = tile_.first + lane;
      if (next == head_.rows || row_bin(next) != bin) close_bin(bin);
    }
  }

  // Rows ascend, so that one bin's sums are enough.
  void close_bin(std::int64_t bin) {
    const auto count = static_cast<float>(rows_of_bin(sight_, head_.rows, bin));
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
};

}  // namespace HWY_NAMESPACE
}  // namespace sightline
HWY_AFTER_NAMESPACE();

#endif  // SIGHTLINE_ATTENTION_COMMIT_INL_H_
