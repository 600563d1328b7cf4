#ifndef SIGHTLINE_ATTENTION_PAIR_MASK_H_
#define SIGHTLINE_ATTENTION_PAIR_MASK_H_

#include <cstdint>

#include "src/attention/head_problem.h"
#include "src/observe/tile_block.h"

namespace sightline {

/// Which slots of a block the lanes of a tile see: bit s of lanes[i] for slot s. `lanes` arrives with what positions
/// show and leaves without what the boolean mask, the block mask, the cuts and the tree hide.
void hide_pairs(const HeadProblem& head, const TileRows& tile, const TileBlock& block, std::uint64_t* lanes);

/// Whether a block's weights are kept by dropout, as bits like those of hide_pairs().
void kept_pairs(const HeadProblem& head, const TileRows& tile, const TileBlock& block, std::uint64_t* lanes);

/// Bit i of word s becomes bit s of word i.
void transpose_bits(std::uint64_t* words);

/// Slots [begin, end) as bits.
constexpr std::uint64_t slot_bits(std::int64_t begin, std::int64_t end) {
  if (begin >= end) return 0;
  const std::uint64_t up_to_end = end >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << end) - 1;
  return up_to_end & (~std::uint64_t{0} << begin);
}

/// Calls use(ScoreTile) for the rows of each head in the tile: what a caller's function is shown of a block. scores:
/// [kBlockKeys, lanes] or null.
template <class Use>
void for_each_head_part(const HeadProblem& head, const TileRows& tile, const TileBlock& block, float* scores,
                        const Use& use) {
  for (int lane = tile.live_begin; lane < tile.live_end;) {
    int end = lane + 1;
    while (end < tile.live_end && tile.head(end) == tile.head(lane)) ++end;
    ScoreTile part;
    part.scores = scores == nullptr ? nullptr : scores + block.begin * tile.lanes + lane;
    part.row_stride = 1;
    part.key_stride = tile.lanes;
    part.rows = end - lane;
    part.keys = block.end - block.begin;
    part.batch = head.batch;
    part.head = head.first_head + tile.head(lane);
    part.first_row = tile.row(lane);
    part.first_key = block.first_key + block.begin;
    part.row_position = head.query_position + part.first_row;
    part.key_position = block.position + block.begin;
    use(part);
    lane = end;
  }
}

}  // namespace sightline

#endif  // SIGHTLINE_ATTENTION_PAIR_MASK_H_
