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
#include "src/attention/mass_strip-inl.h"
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
             RowSums& sums, bool may_wait)
      : head_(head),
        sight_(sight),
        tile_(tile),
        lanes_(tile.lanes),
        work_(workspace),
        sums_(sums),
        may_wait_(may_wait) {}

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
    add_waiting(work_);
    work_.strip.waiting.clear();
    work_.strip.added = 0;
    MassRows& rows = work_.strip.rows;
    const bool finite = set_rows(rows);
    if (may_wait_ && finite && sight_.mass_decay == 1) return work_.strip.waiting.swap(work_.strip.blocks);
    const std::size_t blocks = work_.strip.blocks.size();
    for (std::size_t b = 0; b < blocks && !finite; ++b) {
      clear_unused(work_.strip_weights(b), kBlockKeys, rows.inverse, lanes_);
    }
    // What decays is added 16 rows at a time, for between two rows of a chain all keys decay, seen or not.
    const int step = sight_.mass_decay == 1 ? lanes_ : kChains;
    for (int lane = 0; lane < lanes_; lane += step) {
      if (sight_.mass_decay != 1) decay(lane);
      for (std::size_t b = 0; b < blocks; ++b) add_strip_block(work_, b, work_.strip.blocks[b], rows, lane, step);
    }
    for (int lane = tile_.live_begin; lane < tile_.live_end && !finite; ++lane) {
      if (counts(lane) && std::isnan(work_.lane_array(TileWorkspace::kInverse)[lane])) spoil(tile_.first + lane);
    }
  }

  // False if a row is NaN.
  bool set_rows(MassRows& rows) const {
    rows.lanes = lanes_;
    rows.mass = sums_.mass.data();
    std::copy_n(work_.lane_array(TileWorkspace::kFinalMax), lanes_, rows.final_max);
    bool finite = true;
    for (int lane = 0; lane < lanes_; ++lane) {
      const float inverse = work_.lane_array(TileWorkspace::kInverse)[lane];
      const bool is_nan = std::isnan(inverse);
      rows.inverse[lane] = !counts(lane) || is_nan ? 0 : inverse;
      finite &= !is_nan;
    }
    return finite;
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

  // A row of NaN makes NaN of the mass of the keys that it saw, and of no other.
  void spoil(std::int64_t row) {
    const int chain = chain_of_row(head_, row);
    for (std::int64_t key = 0; key < head_.keys; ++key) {
      if (head_.visible(0, row, key)) sums_.mass[key * kChains + chain] = std::numeric_limits<float>::quiet_NaN();
    }
  }

  std::int64_t row_bin(std::int64_t row) const { return sight_.row_bins(head_.rows).of(row); }

  void add_overview() {
    int lane = tile_.live_begin;
    while (lane < tile_.live_end) {
      const std::int64_t bin = row_bin(tile_.first + lane);
      const int begin = lane;
      while (lane < tile_.live_end && row_bin(tile_.first + lane) == bin) ++lane;
      add_lanes(work_.bin_total.data(), work_.bins_seen, lanes_, begin, lane, sums_.overview.data());
      const std::int64_t next = tile_.first + lane;
      if (next == head_.rows || row_bin(next) != bin) close_bin(bin);
    }
  }

  // Rows ascend, so that one bin's sums are enough.
  void close_bin(std::int64_t bin) {
    const auto count = static_cast<float>(sight_.row_bins(head_.rows).size(bin));
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
  const bool may_wait_;
};

}  // namespace HWY_NAMESPACE
}  // namespace sightline
HWY_AFTER_NAMESPACE();

#endif  // SIGHTLINE_ATTENTION_COMMIT_INL_H_
