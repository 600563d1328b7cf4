#ifndef SIGHTLINE_OBSERVE_OFFSET_SCORES_H_
#define SIGHTLINE_OBSERVE_OFFSET_SCORES_H_

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>

#include "src/observe/tile_block.h"

namespace sightline {

/// The score of each row at chosen offsets (key position - query position), picked up as its block passes; it becomes a
/// weight, with the bits of the map's, when the row's state is final. Where values are measured the value's length is
/// picked up with it.
struct OffsetScores {
  std::span<const std::int64_t> offsets;
  float* score = nullptr;   // [offsets, lanes]
  float* length = nullptr;  // [offsets, lanes] or null

  // No two positions are farther apart; larger offsets could overflow, and reach no key either.
  static constexpr std::int64_t kFarthest = std::int64_t{1} << 40;

  void begin(int lanes) const {
    std::fill_n(score, offsets.size() * lanes, -std::numeric_limits<float>::infinity());
    if (length != nullptr) std::fill_n(length, offsets.size() * lanes, 0.0f);
  }

  // Whether the block holds a key at some offset from a position in [first, last].
  bool reach(const TileBlock& block, std::int64_t first, std::int64_t last) const {
    return std::any_of(offsets.begin(), offsets.end(),
                       [&](std::int64_t offset) { return reaches(block, from(block, offset), first, last); });
  }

  // position(lane): where a lane's row stands, first to last. lengths: [kBlockKeys] of the block's values, read if
  // length is asked for.
  template <class Position>
  void absorb(const TileBlock& block, int lanes, std::int64_t first, std::int64_t last, const Position& position,
              const float* lengths) const {
    for (std::size_t o = 0; o < offsets.size(); ++o) {
      const std::int64_t offset = from(block, offsets[o]);
      if (!reaches(block, offset, first, last)) continue;
      for (int lane = 0; lane < lanes; ++lane) {
        const std::int64_t slot = position(lane) + offset, to = static_cast<std::int64_t>(o) * lanes + lane;
        if (slot < block.begin || slot >= block.end) continue;
        score[to] = block.scores[slot * lanes + lane];
        if (length != nullptr) length[to] = lengths[slot];
      }
    }
  }

  // Takes in what another pass, over other keys, picked up.
  void merge(int lanes, const OffsetScores& other) const {
    for (std::size_t i = 0; i < offsets.size() * lanes; ++i) {
      if (other.score[i] == -std::numeric_limits<float>::infinity()) continue;
      score[i] = other.score[i];
      if (length != nullptr) length[i] = other.length[i];
    }
  }

 private:
  // The offset as one from the block's position.
  static std::int64_t from(const TileBlock& block, std::int64_t offset) {
    return std::clamp(offset, -kFarthest, kFarthest) - block.position;
  }
  static bool reaches(const TileBlock& block, std::int64_t offset, std::int64_t first, std::int64_t last) {
    return last + offset >= block.begin && first + offset < block.end;
  }
};

}  // namespace sightline

#endif  // SIGHTLINE_OBSERVE_OFFSET_SCORES_H_
