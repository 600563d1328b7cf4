// Sum of the weights of each segment of keys, a row: streams like the softmax state. Segments are any partition of the
// keys: special tokens and words, or the column bins of the overview.

#if defined(SIGHTLINE_OBSERVE_SEGMENT_SUMS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SIGHTLINE_OBSERVE_SEGMENT_SUMS_INL_H_
#undef SIGHTLINE_OBSERVE_SEGMENT_SUMS_INL_H_
#else
#define SIGHTLINE_OBSERVE_SEGMENT_SUMS_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include "src/cpu/simd-inl.h"
#include "src/observe/chains-inl.h"
#include "src/observe/tile_block.h"

HWY_BEFORE_NAMESPACE();
namespace sightline {
namespace HWY_NAMESPACE {

struct SegmentSums {
  int segments = 0;
  float* sum = nullptr;    // [segments, lanes] of the chunk, relative to its running max
  float* total = nullptr;  // [segments, lanes] of the chunks before

  void begin(int lanes) const { std::fill_n(total, static_cast<std::size_t>(segments) * lanes, 0.0f); }
  void begin_chunk(int lanes) const { std::fill_n(sum, static_cast<std::size_t>(segments) * lanes, 0.0f); }

  // ids: segment of each of the slots [block.begin, block.end), -1 for none; block_sum: [lanes] of all keys; rescale:
  // [lanes]. sum = sum * rescale + (the block's part), the part being +0 for segments without a key here.
  void absorb(const TileBlock& block, const std::int32_t* ids, int lanes, const float* block_sum,
              const float* rescale) const {
    std::uint64_t left = 0;
    for (int slot = block.begin; slot < block.end; ++slot) left |= bit(ids[slot - block.begin] >= 0, slot);
    scale(sum, lanes, rescale);
    while (left != 0) {
      const int first = __builtin_ctzll(left);
      std::uint64_t members = 0;
      const std::int32_t segment = ids[first - block.begin];
      for (int slot = first; slot < block.end; ++slot) members |= bit(ids[slot - block.begin] == segment, slot);
      left &= ~members;
      add(block, members, segment, lanes, block_sum);
    }
  }

  // total = total * a + sum * b, both [lanes].
  void merge_chunk(int lanes, const float* a, const float* b) const {
    for (int s = 0; s < segments; ++s) {
      for (int lane = 0; lane < lanes; lane += static_cast<int>(kLanes)) {
        const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(s) * lanes + lane;
        const F part = hn::Mul(load(sum + at), load(b + lane));
        store(fma(load(total + at), load(a + lane), part), total + at);
      }
    }
  }

 private:
  static std::uint64_t bit(bool set, int slot) { return static_cast<std::uint64_t>(set) << slot; }

  void scale(float* sums, int lanes, const float* rescale) const {
    for (int lane = 0; lane < lanes; lane += static_cast<int>(kLanes)) {
      const F factor = load(rescale + lane);
      if (hn::AllTrue(kF32, hn::Eq(factor, splat(1.0f))))
        continue;  // no row of these found a larger score: the usual case
      for (int s = 0; s < segments; ++s) {
        float* at = sums + static_cast<std::ptrdiff_t>(s) * lanes + lane;
        store(hn::Mul(load(at), factor), at);
      }
    }
  }

  void add(const TileBlock& block, std::uint64_t members, std::int32_t segment, int lanes,
           const float* block_sum) const {
    const bool whole = __builtin_popcountll(members) == block.end - block.begin;
    for (int lane = 0; lane < lanes; lane += static_cast<int>(kLanes)) {
      float* at = sum + static_cast<std::ptrdiff_t>(segment) * lanes + lane;
      const F part = whole ? load(block_sum + lane) : part_of(block, members, lanes, lane);
      store(hn::Add(load(at), part), at);
    }
  }

  static F part_of(const TileBlock& block, std::uint64_t members, int lanes, int lane) {
    const auto chain = [&](int r) HWY_ATTR {
      F part = hn::Zero(kF32);
      for (int slot = r; slot < kBlockKeys; slot += kChains) {
        if ((members >> slot & 1) == 0) continue;
        part = hn::Add(part, load(block.weights + static_cast<std::ptrdiff_t>(slot) * lanes + lane));
      }
      return Sum{part};
    };
    return fold_chains(chain).value;
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace sightline
HWY_AFTER_NAMESPACE();

#endif  // SIGHTLINE_OBSERVE_SEGMENT_SUMS_INL_H_
