#ifndef SIGHTLINE_OBSERVE_TILE_BLOCK_H_
#define SIGHTLINE_OBSERVE_TILE_BLOCK_H_

#include <algorithm>
#include <cstdint>

namespace sightline {

// Part of the arithmetic, frozen under kArithmeticVersion.
// Keys are summed in blocks of 64 positions: long enough that rescaling the output (one fma a row and value column)
// costs under 2 % of a block, short enough that a block's keys, values and scores stay in L1.
inline constexpr int kBlockKeys = 64;
// The state restarts every 4096 positions, so that long rows can be split over threads; merging then costs 1/64 of a
// block.
inline constexpr int kChunkKeys = 4096;
inline constexpr int kChunkBlocks = kChunkKeys / kBlockKeys;
// Sub-chains of sums over keys (by key mod 16) and over rows (by row mod 16): the lanes of the widest vector in use.
inline constexpr int kChains = 16;

// Part of the schedule, free to change: rows in lanes, three AVX-512 vectors. With eight keys at a time that makes 24
// accumulators of 32 registers; four vectors leave room for six keys and more loads a multiply-add.
inline constexpr int kTileRows = 48;

/// A tile's rows, one a lane. Usually lane i holds row first + i of one head, lane 0 at a multiple of 16 in the
/// sequence, so that a row's lane mod 16 is its position mod 16. Few rows are stacked: all rows of the first head, then
/// all of the next, numbered through as in arrays of [heads, rows]; lane i holds number first + i. Lanes outside
/// [live_begin, live_end) repeat the nearest live row.
struct TileRows {
  std::int64_t first = 0;  // may be negative where rows are not stacked
  int lanes = 0;           // 16, 32 or 48
  int live_begin = 0, live_end = 0;
  std::int64_t stacked = 0;  // rows a head where they are stacked, else 0

  std::int64_t head(int lane) const { return stacked == 0 ? 0 : number(lane) / stacked; }
  std::int64_t row(int lane) const { return stacked == 0 ? number(lane) : number(lane) % stacked; }

 private:
  std::int64_t number(int lane) const { return first + std::clamp(lane, live_begin, live_end - 1); }
};

/// One block of keys as a tile of rows sees it. Slot s is key first_key + s of the tensor and stands at position + s.
struct TileBlock {
  std::int64_t first_key = 0;      // may be negative where the tensor begins within the block
  std::int64_t first_index = 0;    // as first_key, but as keys are reported: of a resumed pass, from the first pass's
  std::int64_t position = 0;       // a multiple of kBlockKeys
  int begin = 0, end = 0;          // slots that hold keys
  const float* scores = nullptr;   // [kBlockKeys, lanes] after bias and mask, -inf where hidden
  const float* weights = nullptr;  // [kBlockKeys, lanes] exp(score - running max), 0 where hidden
};

}  // namespace sightline

#endif  // SIGHTLINE_OBSERVE_TILE_BLOCK_H_
