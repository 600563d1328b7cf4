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

// Views into the workspace: score and index are [lanes, k], largest first; the k-th score of each lane is kept in a
// vector of its own, since almost every block ends at the comparison with it (an expected k * ln(n / k) insertions a
// row).
struct TopKeys {
  int k = 0;
  float* score = nullptr;
  std::int32_t* index = nullptr;
  float* threshold = nullptr;  // [lanes]

  void begin(int lanes) const {
    std::fill_n(score, static_cast<std::size_t>(lanes) * k, -std::numeric_limits<float>::infinity());
    std::fill_n(index, static_cast<std::size_t>(lanes) * k, -1);
    std::fill_n(threshold, lanes, -std::numeric_limits<float>::infinity());
  }

  // block_max: [lanes], the largest score of the block.
  void absorb(const TileBlock& block, int lanes, const float* block_max) const {
    for (int lane = 0; lane < lanes; lane += static_cast<int>(kLanes)) {
      if (hn::AllFalse(kF32, hn::Gt(load(block_max + lane), load(threshold + lane)))) continue;
      for (int slot = block.begin; slot < block.end; ++slot) {
        const float* scores = block.scores + static_cast<std::ptrdiff_t>(slot) * lanes + lane;
        if (HWY_LIKELY(hn::AllFalse(kF32, hn::Gt(load(scores), load(threshold + lane))))) continue;
        insert_where_larger(scores, lane, static_cast<std::int32_t>(block.first_key + slot));
      }
    }
  }

 private:
  void insert_where_larger(const float* scores, int lane, std::int32_t key) const {
    for (std::size_t i = 0; i < kLanes; ++i) {
      if (scores[i] > threshold[lane + i]) insert(static_cast<int>(lane + i), scores[i], key);
    }
  }

  void insert(int lane, float value, std::int32_t key) const {
    float* scores = score + static_cast<std::ptrdiff_t>(lane) * k;
    std::int32_t* keys = index + static_cast<std::ptrdiff_t>(lane) * k;
    int at = k - 1;
    for (; at > 0 && value > scores[at - 1]; --at) {
      scores[at] = scores[at - 1];
      keys[at] = keys[at - 1];
    }
    scores[at] = value;
    keys[at] = key;
    threshold[lane] = scores[k - 1];
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace sightline
HWY_AFTER_NAMESPACE();

#endif  // SIGHTLINE_OBSERVE_TOP_KEYS_INL_H_
