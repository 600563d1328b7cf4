// From the strip of a tile's weights to key mass: block by block, once the rows' state is final.

#if defined(SIGHTLINE_ATTENTION_MASS_STRIP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SIGHTLINE_ATTENTION_MASS_STRIP_INL_H_
#undef SIGHTLINE_ATTENTION_MASS_STRIP_INL_H_
#else
#define SIGHTLINE_ATTENTION_MASS_STRIP_INL_H_
#endif

#include <cstring>

#include "hwy/cache_control.h"
#include "src/attention/tile_workspace.h"
#include "src/observe/row_sums-inl.h"
#include "src/observe/weight-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sightline {
namespace HWY_NAMESPACE {

// weights: [kBlockKeys, lanes]; turned: [rows, kBlockKeys], with room for a multiple of four.
inline void turn_weights(const float* weights, int lanes, int rows, float* turned) {
  for (int row = 0; row < rows; row += 4, turned += 4 * kBlockKeys) {
    alignas(64) float four[kBlockKeys * 4];
    for (int slot = 0; slot < kBlockKeys; ++slot) {
      std::memcpy(four + slot * 4, weights + slot * lanes + row, 4 * sizeof(float));
    }
    for (int slot = 0; slot < kBlockKeys; slot += static_cast<int>(kLanes)) {
      F a, b, c, d;
      hn::LoadInterleaved4(kF32, four + slot * 4, a, b, c, d);
      store(a, turned + slot);
      store(b, turned + kBlockKeys + slot);
      store(c, turned + 2 * kBlockKeys + slot);
      store(d, turned + 3 * kBlockKeys + slot);
    }
  }
}

// What turns the weights of the block that lies in the strip at `slot` into final ones: exp(running max - final max) /
// l. [lanes].
inline void strip_factors(const float* running_max, const MassRows& rows, float* factors) {
  for (int lane = 0; lane < rows.lanes; lane += static_cast<int>(kLanes)) {
    const F moved = exp2_nonpositive(exponent(load(running_max + lane), load(rows.final_max + lane)));
    const F scale = load(rows.inverse + lane);
    store(hn::IfThenZeroElse(hn::Eq(scale, hn::Zero(kF32)), hn::Mul(moved, scale)), factors + lane);
  }
}

// Adds `count` lanes from `lane` on of one block.
inline void add_strip_block(TileWorkspace& work, std::size_t slot, const TileBlock& block, const MassRows& rows,
                            int lane, int count) {
  alignas(64) float factors[kTileRows];
  strip_factors(work.strip_max(slot), rows, factors);
  add_rows(work.strip_weights(slot) + block.begin * rows.lanes + lane, block.end - block.begin, rows.lanes,
           factors + lane, count, rows.mass + (block.first_key + block.begin) * kChains);
}

// Adds the first block that waits in the strip, key by key while other work is done; where none waits, fetches the
// place of the tile's next block: stores to lines that are in no near cache hold up the pass.
class WaitingBlock {
 public:
  WaitingBlock(TileWorkspace& work, int lanes) {
    WeightStrip& strip = work.strip;
    if (strip.added == strip.waiting.size()) {
      lanes_ = lanes;
      left_ = kBlockKeys;
      weights_ = work.strip_weights(strip.blocks.size());
      return;
    }
    const TileBlock& block = strip.waiting[strip.added];
    strip_factors(work.strip_max(strip.added), strip.rows, factors_);
    lanes_ = strip.rows.lanes;
    left_ = block.end - block.begin;
    weights_ = work.strip_weights(strip.added) + block.begin * lanes_;
    chains_ = strip.rows.mass + (block.first_key + block.begin) * kChains;
    ++strip.added;
    for (int lane = 0; lane < lanes_; lane += kChains)
      hwy::Prefetch(work.strip_max(strip.added) + lane);  // of the next
  }

  // One key of a whole tile of rows.
  HWY_INLINE void step() {
    if (left_ == 0 || lanes_ != kTileRows) return;
    for (int lane = 0; lane < kTileRows; lane += kChains) hwy::Prefetch(weights_ + kAhead * kTileRows + lane);
    if (chains_ != nullptr) {
      hwy::Prefetch(chains_ + kAhead * kChains);
      add_groups<kTileRows / kChains>(weights_, 1, kTileRows, factors_, chains_);
      chains_ += kChains;
    }
    weights_ += kTileRows;
    --left_;
  }

  // All keys that are left.
  void finish() const {
    if (left_ > 0 && chains_ != nullptr) add_rows(weights_, left_, lanes_, factors_, lanes_, chains_);
  }

 private:
  // Far enough for memory to answer. Beyond the block lies the strip's next one, and so do its chains.
  static constexpr int kAhead = 8;

  int lanes_ = 0, left_ = 0;
  const float* weights_ = nullptr;  // [left, lanes]
  float* chains_ = nullptr;         // [left, kChains], or null
  alignas(64) float factors_[kTileRows];
};

// Adds all blocks that wait.
inline void add_waiting(TileWorkspace& work) {
  WeightStrip& strip = work.strip;
  while (strip.added < strip.waiting.size()) WaitingBlock(work, strip.rows.lanes).finish();
}

}  // namespace HWY_NAMESPACE
}  // namespace sightline
HWY_AFTER_NAMESPACE();

#endif  // SIGHTLINE_ATTENTION_MASS_STRIP_INL_H_
