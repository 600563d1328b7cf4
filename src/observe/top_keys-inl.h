// Top-k keys of each row, by score, ties by lower key: streams, and no order of blocks or chunks changes it.

#if defined(SIGHTLINE_OBSERVE_TOP_KEYS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SIGHTLINE_OBSERVE_TOP_KEYS_INL_H_
#undef SIGHTLINE_OBSERVE_TOP_KEYS_INL_H_
#else
#define SIGHTLINE_OBSERVE_TOP_KEYS_INL_H_
#endif

#include <algorithm>
#include <cstdint>
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
//
// Scores rank unless ranks are given: then `rank` is what is compared, and the scores only travel along.
struct TopKeys {
  int k = 0;
  int capacity = 0;               // top_capacity(k)
  float* score = nullptr;         // [capacity, lanes], of the largest first
  std::int32_t* index = nullptr;  // [capacity, lanes]
  float* rank = nullptr;          // [capacity, lanes] or null

  void begin(int lanes) const {
    std::fill_n(score, static_cast<std::size_t>(lanes) * capacity, -std::numeric_limits<float>::infinity());
    std::fill_n(index, static_cast<std::size_t>(lanes) * capacity, -1);
    if (rank != nullptr)
      std::fill_n(rank, static_cast<std::size_t>(lanes) * capacity, -std::numeric_limits<float>::infinity());
  }

  // ranks: [kBlockKeys, lanes], the block's scores or what ranks in their place. block_max: [lanes], the largest of
  // them.
  void absorb(const TileBlock& block, int lanes, const float* ranks, const float* block_max) const {
    const float* threshold = compared() + static_cast<std::ptrdiff_t>(capacity - 1) * lanes;
    for (int lane = 0; lane < lanes; lane += static_cast<int>(kLanes)) {
      if (hn::AllFalse(kF32, hn::Gt(load(block_max + lane), load(threshold + lane)))) continue;
      const std::uint64_t candidates = candidate_slots(ranks, lanes, lane, load(threshold + lane));
      insert(lanes, lane, Slots{block, ranks, candidates, lanes, lane});
    }
  }

  // Whether a block with such largest ranks changes some of the first `rows` rows.
  bool wants(int lanes, int rows, const float* block_max) const {
    const float* threshold = compared() + static_cast<std::ptrdiff_t>(capacity - 1) * lanes;
    for (int row = 0; row < rows; ++row) {
      if (block_max[row] > threshold[row]) return true;
    }
    return false;
  }

  // Takes in what another pass kept of later keys.
  void merge(int lanes, const TopKeys& later) const {
    for (int lane = 0; lane < lanes; lane += static_cast<int>(kLanes)) insert(lanes, lane, Kept{later, lanes, lane});
  }

 private:
  struct Candidate {
    F rank, score;
    I key;
  };

  // The candidates of a block, by slot.
  struct Slots {
    const TileBlock& block;
    const float* ranks;
    std::uint64_t left;
    int lanes, lane;

    HWY_INLINE bool next(Candidate& candidate) {
      if (left == 0) return false;
      const int slot = __builtin_ctzll(left);
      const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(slot) * lanes + lane;
      candidate = {load(ranks + at), load(block.scores + at),
                   hn::Set(kI32, static_cast<std::int32_t>(block.first_index + slot))};
      left &= left - 1;
      return true;
    }
  };

  // What another pass kept.
  struct Kept {
    const TopKeys& of;
    int lanes, lane;
    int i = 0;

    HWY_INLINE bool next(Candidate& candidate) {
      if (i == of.capacity) return false;
      const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(i++) * lanes + lane;
      candidate = {load(of.compared() + at), load(of.score + at), hn::LoadU(kI32, of.index + at)};
      return true;
    }
  };

  const float* compared() const { return rank != nullptr ? rank : score; }

  // Bit s: some row of the vector ranks slot s above its threshold. Rows collect bits of their own, which meet once: no
  // branch depends on the ranks, and a test and a shift for each slot took three times as many instructions.
  static std::uint64_t candidate_slots(const float* ranks, int lanes, int lane, F threshold) {
    constexpr int kBits = 32;
    std::uint64_t candidates = 0;
    for (int first = kBlockKeys - kBits; first >= 0; first -= kBits) {
      I bits = hn::Zero(kI32);
#pragma GCC unroll 32
      for (int i = 0; i < kBits; ++i) {
        const F of_slot = load(ranks + static_cast<std::ptrdiff_t>(first + i) * lanes + lane);
        const I bit = hn::Set(kI32, static_cast<std::int32_t>(std::uint32_t{1} << i));
        bits = hn::IfThenElse(hn::RebindMask(kI32, hn::Gt(of_slot, threshold)), hn::Or(bits, bit), bits);
      }
      candidates = candidates << kBits | any_bits(bits);
    }
    return candidates;
  }

  // The bits that some lane has.
  static std::uint32_t any_bits(I bits) {
    alignas(64) std::uint32_t of_lane[kChains];
    hn::StoreU(hn::BitCast(kU32, bits), kU32, of_lane);
    std::uint32_t any = 0;
    for (std::size_t lane = 0; lane < kLanes; ++lane) any |= of_lane[lane];
    return any;
  }

  template <class Source>
  void insert(int lanes, int lane, Source source) const {
    if (rank != nullptr) {
      insert_all<kMaxTopKeys, true>(lanes, lane, source);
    } else if (capacity == 4) {
      insert_all<4, false>(lanes, lane, source);
    } else if (capacity == 8) {
      insert_all<8, false>(lanes, lane, source);
    } else {
      insert_all<kMaxTopKeys, false>(lanes, lane, source);
    }
  }

  // Each candidate pushes down, in the rows where it ranks higher, what it passes; equals stay ahead of it. With ranks
  // only the first `capacity` of kCapacity places are used.
  template <int kCapacity, bool kRanks, class Source>
  HWY_INLINE void insert_all(int lanes, int lane, Source& source) const {
    F ranks[kCapacity], scores[kCapacity];
    I keys[kCapacity];
    const int places = kRanks ? capacity : kCapacity;
    const auto at = [&](int i) { return static_cast<std::ptrdiff_t>(i) * lanes + lane; };
    for (int i = 0; i < places; ++i) {
      ranks[i] = load(compared() + at(i));
      keys[i] = hn::LoadU(kI32, index + at(i));
      if (kRanks) scores[i] = load(score + at(i));
    }
    Candidate c = {hn::Zero(kF32), hn::Zero(kF32), hn::Zero(kI32)};
    while (source.next(c)) {
      MaskF higher = hn::Gt(c.rank, ranks[places - 1]);
      for (int i = places - 1; i > 0; --i) {
        const MaskF passes = hn::Gt(c.rank, ranks[i - 1]);
        ranks[i] = hn::IfThenElse(passes, ranks[i - 1], hn::IfThenElse(higher, c.rank, ranks[i]));
        keys[i] = hn::IfThenElse(hn::RebindMask(kI32, passes), keys[i - 1],
                                 hn::IfThenElse(hn::RebindMask(kI32, higher), c.key, keys[i]));
        if (kRanks) scores[i] = hn::IfThenElse(passes, scores[i - 1], hn::IfThenElse(higher, c.score, scores[i]));
        higher = passes;
      }
      ranks[0] = hn::IfThenElse(higher, c.rank, ranks[0]);
      keys[0] = hn::IfThenElse(hn::RebindMask(kI32, higher), c.key, keys[0]);
      if (kRanks) scores[0] = hn::IfThenElse(higher, c.score, scores[0]);
    }
    for (int i = 0; i < places; ++i) {
      store(ranks[i], (kRanks ? rank : score) + at(i));
      hn::StoreU(keys[i], kI32, index + at(i));
      if (kRanks) store(scores[i], score + at(i));
    }
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace sightline
HWY_AFTER_NAMESPACE();

#endif  // SIGHTLINE_OBSERVE_TOP_KEYS_INL_H_
