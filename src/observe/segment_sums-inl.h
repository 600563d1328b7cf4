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
#include "src/observe/segment_parts.h"
#include "src/observe/tile_block.h"
#include "src/observe/weight-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sightline {
namespace HWY_NAMESPACE {

// A segment's sum is relative to the running max of the block that last added to it, and moves only when it is added
// to: rescaling all segments with each new max cost more than adding did.
struct SegmentSums {
  std::int32_t segments = 0;
  float* sum = nullptr;          // [segments, lanes] of the chunk
  float* reference = nullptr;    // [segments, lanes] the max that `sum` is relative to
  float* total = nullptr;        // [segments, lanes] of the chunks before
  std::int32_t* seen = nullptr;  // segments from here on have had no key yet: half of the bins of a causal overview

  void begin(int lanes) const {
    std::fill_n(total, static_cast<std::size_t>(segments) * lanes, 0.0f);
    *seen = 0;
  }
  void begin_chunk(int lanes) const {
    std::fill_n(sum, static_cast<std::size_t>(segments) * lanes, 0.0f);
    std::fill_n(reference, static_cast<std::size_t>(segments) * lanes, -__builtin_inff());
  }

  // Whether a part of the block's keys is a segment's, so that its sum alone does not do.
  static bool splits(const TileBlock& block, const SegmentParts& parts) {
    const auto of_block = parts.at(block.position);
    return std::any_of(of_block.begin(), of_block.end(), [&](const SegmentPart& part) { return !holds(block, part); });
  }

  // weights: [kBlockKeys, lanes], those of the block or what is summed in their place; not read of segments that hold
  // all of it where block_sum is given. block_sum: [lanes] of all keys,
  // or null if it isn't known. running_max: [lanes] after this block.
  void absorb(const TileBlock& block, const SegmentParts& parts, int lanes, const float* weights,
              const float* block_sum, const float* running_max) const {
    for (const SegmentPart& part : parts.at(block.position)) {
      *seen = std::max(*seen, part.segment + 1);
      const bool whole = block_sum != nullptr && holds(block, part);
      for (int lane = 0; lane < lanes; lane += static_cast<int>(kLanes)) {
        const F added = whole ? load(block_sum + lane) : sum_of(weights + lane, part.slots, lanes);
        add(static_cast<std::ptrdiff_t>(part.segment) * lanes + lane, added, load(running_max + lane));
      }
    }
  }

  // total = total * a + (the chunk's sum) * b, both [lanes]; chunk_max: [lanes].
  void merge_chunk(int lanes, const SegmentSums& chunk, const float* chunk_max, const float* a, const float* b) const {
    *seen = std::max(*seen, *chunk.seen);
    for (int lane = 0; lane < lanes; lane += static_cast<int>(kLanes)) {
      // Segments that lie side by side often have one reference.
      F before = hn::Zero(kF32), moved = hn::Zero(kF32);
      for (std::int32_t s = 0; s < *seen; ++s) {
        const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(s) * lanes + lane;
        const F of_segment = load(chunk.reference + at);
        if (s == 0 || !hn::AllTrue(kF32, hn::Eq(of_segment, before))) {
          moved = weight_of(exponent(of_segment, load(chunk_max + lane))).value;
          before = of_segment;
        }
        const F part = hn::Mul(hn::Mul(load(chunk.sum + at), moved), load(b + lane));
        store(fma(load(total + at), load(a + lane), part), total + at);
      }
    }
  }

 private:
  static bool holds(const TileBlock& block, const SegmentPart& part) {
    return __builtin_popcountll(part.slots) == block.end - block.begin;
  }

  // Rows to which the part adds nothing keep their sum and its reference, so that their bits do not depend on the rows
  // beside them.
  void add(std::ptrdiff_t at, F part, F max) const {
    const MaskF nothing = hn::Eq(part, hn::Zero(kF32));
    const F before = load(reference + at), kept = load(sum + at);
    F moved = kept;
    // A sum of 0 stays one, whatever its reference: most segments' first part is one block's.
    const MaskF stays = hn::Or(hn::Eq(before, max), hn::Eq(kept, hn::Zero(kF32)));
    if (!hn::AllTrue(kF32, stays)) moved = hn::Mul(kept, weight_of(exponent(before, max)).value);
    store(hn::IfThenElse(nothing, kept, hn::Add(moved, part)), sum + at);
    store(hn::IfThenElse(nothing, before, max), reference + at);
  }

  // The weights of chosen slots, in the sub-chains of all sums over keys: from a chain's last slot to its first.
  static F sum_of(const float* weights, std::uint64_t slots, int lanes) {
    constexpr std::uint64_t kGroup = 0xffff, kHalf = 0xffffffff;
    if (slots == kHalf) return sum_of_groups<0, 2>(weights, lanes);
    if (slots == kHalf << 32) return sum_of_groups<2, 4>(weights, lanes);
    for (int group = 0; group < kBlockKeys; group += kChains) {
      if (slots == kGroup << group)
        return sum_of_groups<0, 1>(weights + static_cast<std::ptrdiff_t>(group) * lanes, lanes);
    }
    F chains[kChains];
    for (F& chain : chains) chain = hn::Zero(kF32);
    for (int group = kBlockKeys - kChains; group >= 0; group -= kChains) {
      const auto members = static_cast<std::uint16_t>(slots >> group);
      const float* from = weights + static_cast<std::ptrdiff_t>(group) * lanes;
      if (members == 0xffff) {
#pragma GCC unroll 16
        for (int r = 0; r < kChains; ++r)
          chains[r] = hn::Add(chains[r], load(from + static_cast<std::ptrdiff_t>(r) * lanes));
      } else if (members != 0) {
#pragma GCC unroll 16
        for (int r = 0; r < kChains; ++r) {
          if ((members >> r & 1) != 0)
            chains[r] = hn::Add(chains[r], load(from + static_cast<std::ptrdiff_t>(r) * lanes));
        }
      }
    }
    return fold_chains([&](int r) SIGHTLINE_LAMBDA { return Sum{chains[r]}; }).value;
  }

  // The same of whole groups of kChains slots, [kBegin, kEnd).
  template <int kBegin, int kEnd>
  static F sum_of_groups(const float* weights, int lanes) {
    const auto chain = [=](int r) SIGHTLINE_LAMBDA {
      const auto at = [=](int group) SIGHTLINE_LAMBDA {
        return load(weights + static_cast<std::ptrdiff_t>(group * kChains + r) * lanes);
      };
      F sum = at(kEnd - 1);
      for (int group = kEnd - 2; group >= kBegin; --group) sum = hn::Add(sum, at(group));
      return Sum{sum};
    };
    return fold_chains(chain).value;
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace sightline
HWY_AFTER_NAMESPACE();

#endif  // SIGHTLINE_OBSERVE_SEGMENT_SUMS_INL_H_
