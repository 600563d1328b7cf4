// Where the rows of a tile stand.

#if defined(SIGHTLINE_ATTENTION_LANE_POSITIONS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SIGHTLINE_ATTENTION_LANE_POSITIONS_INL_H_
#undef SIGHTLINE_ATTENTION_LANE_POSITIONS_INL_H_
#else
#define SIGHTLINE_ATTENTION_LANE_POSITIONS_INL_H_
#endif

#include <algorithm>

#include "src/attention/head_problem.h"
#include "src/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sightline {
namespace HWY_NAMESPACE {

class LanePositions {
 public:
  // by_depth: nodes of a tree stand at their depth, and not one after the other.
  LanePositions(const HeadProblem& head, const TileRows& tile, bool by_depth) : first_(head.query_position) {
    for (int lane = 0; lane < tile.lanes; ++lane) {
      const std::int64_t row = tile.row(lane);
      offset_[lane] = static_cast<std::int32_t>(by_depth ? head.row_position(row) - first_ : row);
    }
    const auto [least, most] = std::minmax_element(offset_, offset_ + tile.lanes);
    least_ = first_ + *least;
    most_ = first_ + *most;
  }

  std::int64_t of(int lane) const { return first_ + offset_[lane]; }
  std::int64_t least() const { return least_; }
  std::int64_t most() const { return most_; }

  // Query position less key position of a vector of lanes. Exact as integers and rounded once: the same for vectors of
  // any length.
  HWY_INLINE F distance(int lane, std::int64_t key_position) const {
    const std::int64_t from = std::clamp<std::int64_t>(first_ - key_position, -kFarthest, kFarthest);
    const I rows = hn::LoadU(kI32, offset_ + lane);
    return hn::ConvertTo(kF32, hn::Add(rows, hn::Set(kI32, static_cast<std::int32_t>(from))));
  }

 private:
  // Rows are fewer than 2^30, so that the sum is an int32; no key in use is farther from the first query unless the
  // caller put it there.
  static constexpr std::int64_t kFarthest = (std::int64_t{1} << 30) - 1;

  std::int64_t first_, least_, most_;
  alignas(64) std::int32_t offset_[kTileRows];
};

}  // namespace HWY_NAMESPACE
}  // namespace sightline
HWY_AFTER_NAMESPACE();

#endif  // SIGHTLINE_ATTENTION_LANE_POSITIONS_INL_H_
