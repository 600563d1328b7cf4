// Which keys the rows of a tile see: from positions an interval of keys for each row, and what is hidden pair by pair.

#if defined(SIGHTLINE_ATTENTION_TILE_MASK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SIGHTLINE_ATTENTION_TILE_MASK_INL_H_
#undef SIGHTLINE_ATTENTION_TILE_MASK_INL_H_
#else
#define SIGHTLINE_ATTENTION_TILE_MASK_INL_H_
#endif

#include <algorithm>
#include <cstring>

#include "sightline/mask.h"
#include "src/attention/bias_tile-inl.h"
#include "src/attention/head_problem.h"
#include "src/attention/pair_mask.h"
#include "src/cpu/simd-inl.h"
#include "src/observe/tile_block.h"

HWY_BEFORE_NAMESPACE();
namespace sightline {
namespace HWY_NAMESPACE {

// The lanes [lane, lane + kLanes) of a word that has a bit a lane.
HWY_INLINE MaskF lanes_of(std::uint64_t word, int lane) {
  const std::uint64_t bits = word >> lane;
  std::uint8_t bytes[8];
  std::memcpy(bytes, &bits, sizeof(bytes));
  return hn::LoadMaskBits(kF32, bytes);
}

// What a tile sees of one block.
class TileMask {
 public:
  TileMask(const HeadProblem& head, const TileRows& tile, float* bias) : head_(head), tile_(tile), bias_(bias) {
    all_ = head.interval(tile.row(0));
    for (int lane = 0; lane < tile.lanes; ++lane) {
      const KeyInterval seen = seen_[lane] = head.interval(tile.row(lane));
      all_ = {std::max(all_.begin, seen.begin), std::min(all_.end, seen.end)};
      if (head.block_mask != nullptr) add_line(head.block_line(tile.head(lane), tile.row(lane)));
      if (seen.begin >= seen.end) continue;
      const bool first = any_.begin >= any_.end;
      any_ = {first ? seen.begin : std::min(any_.begin, seen.begin), std::max(any_.end, seen.end)};
    }
  }

  // The blocks with a key that some row sees by position.
  BlockRange blocks() const { return head_.blocks(any_); }

  // The block without the slots at its ends that no row sees by position.
  TileBlock narrowed(TileBlock block) const {
    block.begin = static_cast<int>(std::max<std::int64_t>(block.begin, any_.begin - block.first_key));
    block.end = static_cast<int>(std::min<std::int64_t>(block.end, any_.end - block.first_key));
    return block;
  }

  // Looks at the block; the other functions speak of it. `part` is what apply() is needed for. The bias is filled in
  // unless nothing is seen.
  Sees prepare(const TileBlock& block) {
    const std::int64_t begin = block.first_key + block.begin, end = block.first_key + block.end;
    function_ = false;
    if (any_.begin >= end || any_.end <= begin || hides_whole(block)) return Sees::nothing;
    const bool whole = block.begin == 0 && block.end == kBlockKeys;
    Sees sees = whole && all_.begin <= begin && all_.end >= end ? Sees::all : Sees::part;
    if (sees == Sees::part || head_.additive()) sees = fill_words(block);
    if (sees != Sees::nothing && head_.mask_function != nullptr) sees = ask_function(block, sees);
    return sees;
  }

  // Whether every row is known to see all of the block, by position alone. Any block may be asked about.
  bool shows_whole(const TileBlock& block) const {
    const std::int64_t begin = block.first_key + block.begin, end = block.first_key + block.end;
    const bool whole = block.begin == 0 && block.end == kBlockKeys && all_.begin <= begin && all_.end >= end;
    return whole && !head_.additive() && head_.mask_function == nullptr;
  }

  // Sets hidden scores to -inf and takes the largest score of each lane. scores: [kBlockKeys, lanes].
  void apply(const TileBlock& block, float* scores, float* block_max) const {
    if (function_) {
      for_each_head_part(head_, tile_, block, scores, [&](const ScoreTile& part) { head_.mask_function->hide(part); });
    }
    const F hidden = splat(-__builtin_inff());
    for (int lane = 0; lane < tile_.lanes; lane += static_cast<int>(kLanes)) {
      F maximum = hidden;
      for (int slot = 0; slot < kBlockKeys; ++slot) {
        float* at = scores + static_cast<std::ptrdiff_t>(slot) * tile_.lanes + lane;
        const F score = hn::IfThenElse(lanes_of(words_[slot], lane), load(at), hidden);
        maximum = max_or_second(score, maximum);
        store(score, at);
      }
      store(maximum, block_max + lane);
    }
  }

  // 0 where a pair is seen and -inf where it is hidden, [kBlockKeys, lanes]: for the rare places that must know it
  // after scores became weights. A score alone does not tell: that of a key that is seen may be -inf too.
  void show(const TileBlock& block, float* shown) const {
    alignas(64) float unused[kTileRows];
    std::fill_n(shown, kBlockKeys * tile_.lanes, 0.0f);
    apply(block, shown, unused);
  }

 private:
  void add_line(std::int64_t line) {
    if (line_count_ == 0 || lines_[line_count_ - 1] != line) lines_[line_count_++] = line;
  }

  // Whether the block mask has nothing there for any row: asked once a block row, before anything is done by lane, as
  // most blocks of a sparse map are such.
  bool hides_whole(const TileBlock& block) const {
    if (head_.block_mask == nullptr) return false;
    const std::int64_t first = (block.first_key + block.begin) / BlockMask::kBlock;
    const std::int64_t last = (block.first_key + block.end - 1) / BlockMask::kBlock;
    for (int i = 0; i < line_count_; ++i) {
      if (head_.block_entry(lines_[i], first) != nullptr || head_.block_entry(lines_[i], last) != nullptr) return false;
    }
    return true;
  }

  // Position, pairs and bias as bits: by lane first, then turned over.
  Sees fill_words(const TileBlock& block) {
    const std::uint64_t held = slot_bits(block.begin, block.end);
    std::fill_n(words_, kBlockKeys, 0);
    for (int lane = 0; lane < tile_.lanes; ++lane) {
      words_[lane] = held & slot_bits(std::max<std::int64_t>(0, seen_[lane].begin - block.first_key),
                                      std::min<std::int64_t>(kBlockKeys, seen_[lane].end - block.first_key));
    }
    if (head_.additive()) hide_pairs(head_, tile_, block, words_);
    if (head_.bias && seen_in_words() != Sees::nothing) BiasTile(head_.bias, tile_, block, bias_).fill(words_);
    const Sees sees = seen_in_words();
    if (sees == Sees::part) transpose_bits(words_);
    return sees;
  }

  Sees seen_in_words() const {
    std::uint64_t any = 0, all = ~std::uint64_t{0};
    for (int lane = 0; lane < tile_.lanes; ++lane) {
      any |= words_[lane];
      all &= words_[lane];
    }
    if (any == 0) return Sees::nothing;
    return all == ~std::uint64_t{0} ? Sees::all : Sees::part;
  }

  Sees ask_function(const TileBlock& block, Sees sees) {
    bool any = false, all = true;
    for_each_head_part(head_, tile_, block, nullptr, [&](const ScoreTile& part) {
      const Sees of_part = head_.mask_function->summary(part);
      any |= of_part != Sees::nothing;
      all &= of_part == Sees::all;
    });
    if (!any) return Sees::nothing;
    if (all) return sees;
    function_ = true;
    if (sees == Sees::all) std::fill_n(words_, kBlockKeys, ~std::uint64_t{0});
    return Sees::part;
  }

  const HeadProblem& head_;
  const TileRows& tile_;
  float* const bias_;  // [kBlockKeys, lanes]
  KeyInterval seen_[kTileRows];
  std::int64_t lines_[kTileRows];  // of the rows in the block mask, if there is one
  int line_count_ = 0;
  KeyInterval any_, all_;  // keys that some lane, that every lane sees by position
  static_assert(kTileRows <= kBlockKeys);
  std::uint64_t words_[kBlockKeys];  // of the block: by slot the lanes that see it
  bool function_ = false;            // the caller's function hides more
};

}  // namespace HWY_NAMESPACE
}  // namespace sightline
HWY_AFTER_NAMESPACE();

#endif  // SIGHTLINE_ATTENTION_TILE_MASK_INL_H_
