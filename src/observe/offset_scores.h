#ifndef SIGHTLINE_OBSERVE_OFFSET_SCORES_H_
#define SIGHTLINE_OBSERVE_OFFSET_SCORES_H_

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>

#include "src/observe/tile_block.h"

namespace sightline {

/// The score of each row at chosen offsets (key position - query position), picked up as its block passes; it becomes a
/// weight, with the bits of the map's, when the row's state is final.
struct OffsetScores {
  std::span<const std::int64_t> offsets;
  float* score = nullptr;  // [offsets, lanes]

  // No two positions are farther apart; larger offsets could overflow, and reach no key either.
  static constexpr std::int64_t kFarthest = std::int64_t{1} << 40;

  void begin(int lanes) const { std::fill_n(score, offsets.size() * lanes, -std::numeric_limits<float>::infinity()); }

  // lane_position: where lane 0 stands in the sequence; the lanes follow one by one.
  void absorb(const TileBlock& block, int lanes, std::int64_t lane_position) const {
    for (std::size_t o = 0; o < offsets.size(); ++o) {
      const std::int64_t offset = std::clamp(offsets[o], -kFarthest, kFarthest);
      const std::int64_t slot_of_first = lane_position + offset - block.position;
      const std::int64_t from = std::max<std::int64_t>(0, block.begin - slot_of_first);
      const std::int64_t to = std::min<std::int64_t>(lanes, block.end - slot_of_first);
      for (std::int64_t lane = from; lane < to; ++lane) {
        score[static_cast<std::int64_t>(o) * lanes + lane] = block.scores[(slot_of_first + lane) * lanes + lane];
      }
    }
  }
};

}  // namespace sightline

#endif  // SIGHTLINE_OBSERVE_OFFSET_SCORES_H_
