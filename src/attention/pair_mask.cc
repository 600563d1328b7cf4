#include "src/attention/pair_mask.h"

#include <algorithm>

#include "src/tensor/element.h"

namespace sightline {
namespace {

// Bit i: byte i is not 0.
std::uint64_t nonzero_bytes(std::uint64_t bytes) {
  constexpr std::uint64_t kLow = 0x7f7f7f7f7f7f7f7f;
  const std::uint64_t set = (((bytes & kLow) + kLow) | bytes) & ~kLow;
  return ((set >> 7) * 0x0102040810204080) >> 56;
}

// The flags of slots [begin, end) of one row of a boolean matrix.
std::uint64_t flags_of(const HeadMatrix& flags, std::int64_t head, std::int64_t row, const TileBlock& block) {
  std::uint64_t word = 0;
  int slot = block.begin;
  const std::byte* at = flags.at(head, row, block.first_key + slot);
  for (; flags.column_stride == 1 && slot + 8 <= block.end; slot += 8, at += 8) {
    word |= nonzero_bytes(load_element<std::uint64_t>(at)) << slot;
  }
  for (; slot < block.end; ++slot, at += flags.column_stride) {
    word |= std::uint64_t{*at != std::byte{0}} << slot;
  }
  return word;
}

// combine(lane, flags of the lane's row); rows that share their flags are read once.
template <class Combine>
void for_each_flags(const HeadMatrix& flags, const TileRows& tile, const TileBlock& block, const Combine& combine) {
  std::uint64_t word = 0;
  for (int lane = 0; lane < tile.lanes; ++lane) {
    const bool same = lane > 0 && (flags.row_stride == 0 || tile.row(lane) == tile.row(lane - 1)) &&
                      (flags.head_stride == 0 || tile.head(lane) == tile.head(lane - 1));
    if (!same) word = flags_of(flags, tile.head(lane), tile.row(lane), block);
    combine(lane, word);
  }
}

// A block of positions covers up to two blocks of the mask, which count from the tensor's first key. A tile's rows lie
// in a few of its block rows, and each is searched once: where most blocks are hidden, the search is most of the work.
void hide_by_blocks(const HeadProblem& head, const TileRows& tile, const TileBlock& block, std::uint64_t* lanes) {
  const std::int64_t first = block.first_key + block.begin, column = first / BlockMask::kBlock;
  const std::int64_t shift = block.first_key - column * BlockMask::kBlock;  // from a slot to a bit of `column`
  std::int64_t line = -1;
  const BlockMask::Entry *at = nullptr, *next = nullptr;
  for (int lane = 0; lane < tile.lanes; ++lane) {
    const std::int64_t row = tile.row(lane), own_line = head.block_line(tile.head(lane), row);
    if (own_line != line) {
      line = own_line;
      at = head.block_entry(line, column);
      next = shift > 0 ? head.block_entry(line, column + 1) : nullptr;
    }
    std::uint64_t seen = head.block_bits(at, row);
    if (shift < 0) seen <<= -shift;
    if (shift > 0) seen = seen >> shift | head.block_bits(next, row) << (BlockMask::kBlock - shift);
    lanes[lane] &= seen;
  }
}

void hide_cuts(const HeadProblem& head, const TileRows& tile, const TileBlock& block, std::uint64_t* lanes) {
  for (int lane = 0; lane < tile.lanes; ++lane) {
    const std::int64_t of_head = head.first_head + tile.head(lane), row = tile.row(lane);
    const std::int64_t begin = block.first_key + block.begin, end = block.first_key + block.end;
    if (!head.cuts->meets(head.batch, of_head, of_head + 1, row, row + 1, begin, end)) continue;
    for (std::int64_t key = begin; key < end; ++key) {
      if (head.cuts->hides(head.batch, of_head, row, key))
        lanes[lane] &= ~(std::uint64_t{1} << (key - block.first_key));
    }
  }
}

void hide_by_tree(const HeadProblem& head, const TileRows& tile, const TileBlock& block, std::uint64_t* lanes) {
  const std::int64_t root = head.keys - head.rows;
  for (int lane = 0; lane < tile.lanes; ++lane) {
    for (std::int64_t key = std::max(root, block.first_key + block.begin); key < block.first_key + block.end; ++key) {
      if (!head.in_tree(tile.row(lane), key)) lanes[lane] &= ~(std::uint64_t{1} << (key - block.first_key));
    }
  }
}

}  // namespace

void hide_pairs(const HeadProblem& head, const TileRows& tile, const TileBlock& block, std::uint64_t* lanes) {
  if (head.mask) {
    for_each_flags(head.mask, tile, block, [&](int lane, std::uint64_t flags) { lanes[lane] &= flags; });
  }
  if (head.block_mask != nullptr) hide_by_blocks(head, tile, block, lanes);
  if (head.cuts != nullptr) hide_cuts(head, tile, block, lanes);
  if (head.tree != nullptr) hide_by_tree(head, tile, block, lanes);
}

void kept_pairs(const HeadProblem& head, const TileRows& tile, const TileBlock& block, std::uint64_t* lanes) {
  for_each_flags(head.keep, tile, block, [&](int lane, std::uint64_t flags) { lanes[lane] = flags; });
}

void transpose_bits(std::uint64_t* words) {
  // Halves swap, then halves of the halves (Warren, Hacker's Delight, section 7-3).
  std::uint64_t low = 0x00000000ffffffff;
  for (int width = 32; width > 0; width /= 2, low ^= low << width) {
    for (int i = 0; i < 64; i = ((i | width) + 1) & ~width) {
      const std::uint64_t moved = (words[i] >> width ^ words[i | width]) & low;
      words[i] ^= moved << width;
      words[i | width] ^= moved;
    }
  }
}

}  // namespace sightline
