// Which keys the rows of a tile see. Two policies, inlined into the pass: an interval of keys for each row (causality),
// and on top of it an additive tile made from mask and bias. What comes later (windows, user functions) is another
// interval or another policy.

#if defined(SIGHTLINE_ATTENTION_TILE_MASK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SIGHTLINE_ATTENTION_TILE_MASK_INL_H_
#undef SIGHTLINE_ATTENTION_TILE_MASK_INL_H_
#else
#define SIGHTLINE_ATTENTION_TILE_MASK_INL_H_
#endif

#include <algorithm>

#include "sightline/mask.h"
#include "src/attention/head_problem.h"
#include "src/cpu/simd-inl.h"
#include "src/observe/tile_block.h"

HWY_BEFORE_NAMESPACE();
namespace sightline {
namespace HWY_NAMESPACE {

// Row of a lane, lanes without a row of their own repeating the nearest.
HWY_INLINE std::int64_t row_of_lane(const TileRows& tile, int lane) {
  return tile.first + std::clamp(lane, tile.live_begin, tile.live_end - 1);
}

// The blocks that hold keys which some row of the tile sees by its position.
inline BlockRange blocks_seen(const HeadProblem& head, const TileRows& tile) {
  const KeyInterval top = head.interval(tile.first + tile.live_begin);
  const KeyInterval bottom = head.interval(tile.first + tile.live_end - 1);
  return head.blocks({top.begin, bottom.end});
}

// Slots [first, end) that each lane sees by position, as floats for comparisons in lanes. [lanes] each.
struct IntervalMask {
  float* first = nullptr;
  float* end = nullptr;
  int lanes = 0;

  // What the tile sees of a block; the arrays are filled where that is a part. Both ends of a row's interval ascend
  // with the row, so the first and the last row decide.
  Sees prepare(const HeadProblem& head, const TileRows& tile, const TileBlock& block) const {
    const KeyInterval top = head.interval(tile.first + tile.live_begin);
    const KeyInterval bottom = head.interval(tile.first + tile.live_end - 1);
    const std::int64_t begin = block.first_key + block.begin, end = block.first_key + block.end;
    if (top.begin >= end || bottom.end <= begin) return Sees::nothing;
    const bool whole = block.begin == 0 && block.end == kBlockKeys;
    if (whole && bottom.begin <= begin && top.end >= end) return Sees::all;
    fill(head, tile, block);
    return Sees::part;
  }

  void fill(const HeadProblem& head, const TileRows& tile, const TileBlock& block) const {
    for (int lane = 0; lane < lanes; ++lane) {
      const KeyInterval keys = head.interval(row_of_lane(tile, lane));
      const std::int64_t from = std::clamp<std::int64_t>(keys.begin - block.first_key, block.begin, block.end);
      first[lane] = static_cast<float>(from);
      end[lane] = static_cast<float>(std::clamp<std::int64_t>(keys.end - block.first_key, from, block.end));
    }
  }

  HWY_INLINE MaskF visible(int slot, int lane) const {
    const F at = splat(static_cast<float>(slot));
    return hn::And(hn::Ge(at, load(first + lane)), hn::Lt(at, load(end + lane)));
  }
  HWY_INLINE F apply(F score, int slot, int lane) const {
    return hn::IfThenElse(visible(slot, lane), score, splat(-__builtin_inff()));
  }
};

// As IntervalMask, with mask and bias: score + additive, hidden where additive is -inf.
struct AdditiveMask {
  IntervalMask interval;
  float* additive = nullptr;  // [kBlockKeys, lanes]

  Sees prepare(const HeadProblem& head, const TileRows& tile, const TileBlock& block) const {
    const Sees sees = interval.prepare(head, tile, block);
    if (sees == Sees::nothing) return sees;
    if (sees == Sees::all) interval.fill(head, tile, block);
    bool any = false;
    for (int lane = 0; lane < interval.lanes; ++lane) any |= fill_lane(head, row_of_lane(tile, lane), block, lane);
    return any ? Sees::part : Sees::nothing;
  }

  HWY_INLINE MaskF visible(int slot, int lane) const {
    const F added = load(additive + static_cast<std::ptrdiff_t>(slot) * interval.lanes + lane);
    return hn::And(interval.visible(slot, lane), hn::Ne(added, splat(-__builtin_inff())));
  }
  HWY_INLINE F apply(F score, int slot, int lane) const {
    const F added = load(additive + static_cast<std::ptrdiff_t>(slot) * interval.lanes + lane);
    return hn::IfThenElse(visible(slot, lane), hn::Add(score, added), splat(-__builtin_inff()));
  }

 private:
  // Whether the row sees a key of the block.
  bool fill_lane(const HeadProblem& head, std::int64_t row, const TileBlock& block, int lane) const {
    bool any = false;
    for (int slot = block.begin; slot < block.end; ++slot) {
      const std::int64_t key = block.first_key + slot;
      float value = head.bias ? head.bias.at(row, key) : 0.0f;
      if (head.mask && head.mask.at(row, key) == 0) value = -__builtin_inff();
      additive[static_cast<std::ptrdiff_t>(slot) * interval.lanes + lane] = value;
      const auto at = static_cast<float>(slot);
      any |= value != -__builtin_inff() && at >= interval.first[lane] && at < interval.end[lane];
    }
    return any;
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace sightline
HWY_AFTER_NAMESPACE();

#endif  // SIGHTLINE_ATTENTION_TILE_MASK_INL_H_
