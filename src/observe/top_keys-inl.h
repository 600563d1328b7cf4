// Top-k keys of each row, by score, ties by lower key: streams, and no order of blocks or chunks changes it.

#if defined(SIGHTLINE_OBSERVE_TOP_KEYS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SIGHTLINE_OBSERVE_TOP_KEYS_INL_H_
#undef SIGHTLINE_OBSERVE_TOP_KEYS_INL_H_
#else
#define SIGHTLINE_OBSERVE_TOP_KEYS_INL_H_
#endif

#include <algorithm>
#include <limits>

#include "src/cpu/simd-inl.h"
#include "src/observe/tile_block.h"
#include "src/observe/top_capacity.h"

HWY_BEFORE_NAMESPACE();
namespace sightline {
namespace HWY_NAMESPACE {

// Rows are kept side by side and a key is inserted into all rows of a vector at once: about 14 % of 2048 keys enter
// some row's top 4 of 16, which a scalar insertion pays for with a mispredicted branch each (21 % of the pass at width
// 64, against 7 %).
struct TopKeys {
  int k = 0;
  int capacity = 0;               // top_capacity(k)
  float* score = nullptr;         // [capacity, lanes], largest first
  std::int32_t* index = nullptr;  // [capacity, lanes]

  void begin(int lanes) const {
    std::fill_n(score, static_cast<std::size_t>(lanes) * capacity, -std::numeric_limits<float>::infinity());
    std::fill_n(index, static_cast<std::size_t>(lanes) * capacity, -1);
  }

  // block_max: [lanes], the largest score of the block.
  void absorb(const TileBlock& block, int lanes, const float* block_max) const {
    const float* threshold = score + static_cast<std::ptrdiff_t>(capacity - 1) * lanes;
    for (int lane = 0; lane < lanes; lane += static_cast<int>(kLanes)) {
      if (hn::AllFalse(kF32, hn::Gt(load(block_max + lane), load(threshold + lane)))) continue;
      const std::uint64_t candidates = candidate_slots(block, lanes, lane, load(threshold + lane));
      if (capacity == 4) {
        insert<4>(block, candidates, lanes, lane);
      } else if (capacity == 8) {
        insert<8>(block, candidates, lanes, lane);
      } else {
        insert<kMaxTopKeys>(block, candidates, lanes, lane);
      }
    }
  }

 private:
  // Bit s: some row of the vector has a score at slot s above its threshold. No branch depends on the scores.
  static std::uint64_t candidate_slots(const TileBlock& block, int lanes, int lane, F threshold) {
    std::uint64_t candidates = 0;
    for (int slot = 0; slot < kBlockKeys; ++slot) {
      const F score = load(block.scores + static_cast<std::ptrdiff_t>(slot) * lanes + lane);
      const bool enters = !hn::AllFalse(kF32, hn::Gt(score, threshold));
      candidates |= static_cast<std::uint64_t>(enters) << slot;
    }
    return candidates;
  }

  // Each candidate pushes down, in the rows where it is larger, what it passes; equal scores stay ahead of it.
  template <int kCapacity>
  void insert(const TileBlock& block, std::uint64_t candidates, int lanes, int lane) const {
    F scores[kCapacity];
    I keys[kCapacity];
    for (int i = 0; i < kCapacity; ++i) {
      scores[i] = load(score + static_cast<std::ptrdiff_t>(i) * lanes + lane);
      keys[i] = hn::LoadU(kI32, index + static_cast<std::ptrdiff_t>(i) * lanes + lane);
    }
    for (; candidates != 0; candidates &= candidates - 1) {
      const int slot = __builtin_ctzll(candidates);
      const F value = load(block.scores + static_cast<std::ptrdiff_t>(slot) * lanes + lane);
      const I key = hn::Set(kI32, static_cast<std::int32_t>(block.first_key + slot));
      MaskF larger = hn::Gt(value, scores[kCapacity - 1]);
      for (int i = kCapacity - 1; i > 0; --i) {
        const MaskF passes = hn::Gt(value, scores[i - 1]);
        scores[i] = hn::IfThenElse(passes, scores[i - 1], hn::IfThenElse(larger, value, scores[i]));
        keys[i] = hn::IfThenElse(hn::RebindMask(kI32, passes), keys[i - 1],
                                 hn::IfThenElse(hn::RebindMask(kI32, larger), key, keys[i]));
        larger = passes;
      }
      scores[0] = hn::IfThenElse(larger, value, scores[0]);
      keys[0] = hn::IfThenElse(hn::RebindMask(kI32, larger), key, keys[0]);
    }
    for (int i = 0; i < kCapacity; ++i) {
      store(scores[i], score + static_cast<std::ptrdiff_t>(i) * lanes + lane);
      hn::StoreU(keys[i], kI32, index + static_cast<std::ptrdiff_t>(i) * lanes + lane);
    }
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace sightline
HWY_AFTER_NAMESPACE();

#endif  // SIGHTLINE_OBSERVE_TOP_KEYS_INL_H_
