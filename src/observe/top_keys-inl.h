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

HWY_BEFORE_NAMESPACE();
namespace sightline {
namespace HWY_NAMESPACE {

// Views into the workspace: score and index are [k, lanes], largest first. Rows are kept side by side and a key is
// inserted into all rows of a vector at once: about 14 % of 2048 keys enter some row's top 4 of 16, which a scalar
// insertion pays for with a mispredicted branch each.
struct TopKeys {
  int k = 0;
  float* score = nullptr;
  std::int32_t* index = nullptr;

  void begin(int lanes) const {
    std::fill_n(score, static_cast<std::size_t>(lanes) * k, -std::numeric_limits<float>::infinity());
    std::fill_n(index, static_cast<std::size_t>(lanes) * k, -1);
  }

  // block_max: [lanes], the largest score of the block.
  void absorb(const TileBlock& block, int lanes, const float* block_max) const {
    const float* threshold = score + static_cast<std::ptrdiff_t>(k - 1) * lanes;
    for (int lane = 0; lane < lanes; lane += static_cast<int>(kLanes)) {
      if (hn::AllFalse(kF32, hn::Gt(load(block_max + lane), load(threshold + lane)))) continue;
      std::uint64_t candidates = candidate_slots(block, lanes, lane, load(threshold + lane));
      for (; candidates != 0; candidates &= candidates - 1) {
        const int slot = __builtin_ctzll(candidates);
        insert(load(block.scores + static_cast<std::ptrdiff_t>(slot) * lanes + lane),
               static_cast<std::int32_t>(block.first_key + slot), lanes, lane);
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

  // Bubbles the key up from the last place, in the rows where its score is larger; equal scores stay behind.
  void insert(F value, std::int32_t key, int lanes, int lane) const {
    const I key_index = hn::Set(kI32, key);
    float* scores = score + lane;
    std::int32_t* keys = index + lane;
    std::ptrdiff_t at = static_cast<std::ptrdiff_t>(k - 1) * lanes;
    MaskF larger = hn::Gt(value, load(scores + at));
    for (; at > 0 && !hn::AllFalse(kF32, larger); at -= lanes) {
      const F above = load(scores + at - lanes);
      const I above_key = hn::LoadU(kI32, keys + at - lanes);
      const MaskF passes = hn::Gt(value, above);
      const F here = hn::IfThenElse(larger, value, load(scores + at));
      const I here_key = hn::IfThenElse(hn::RebindMask(kI32, larger), key_index, hn::LoadU(kI32, keys + at));
      store(hn::IfThenElse(passes, above, here), scores + at);
      hn::StoreU(hn::IfThenElse(hn::RebindMask(kI32, passes), above_key, here_key), kI32, keys + at);
      larger = passes;
    }
    if (at == 0) {
      store(hn::IfThenElse(larger, value, load(scores)), scores);
      hn::StoreU(hn::IfThenElse(hn::RebindMask(kI32, larger), key_index, hn::LoadU(kI32, keys)), kI32, keys);
    }
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace sightline
HWY_AFTER_NAMESPACE();

#endif  // SIGHTLINE_OBSERVE_TOP_KEYS_INL_H_
