#ifndef SIGHTLINE_OBSERVE_SEGMENT_PARTS_H_
#define SIGHTLINE_OBSERVE_SEGMENT_PARTS_H_

#include <cstdint>
#include <memory_resource>
#include <span>
#include <vector>

#include "src/observe/bins.h"
#include "src/observe/tile_block.h"

namespace sightline {

/// The keys that one segment has in one block.
struct SegmentPart {
  std::int32_t segment = 0;
  std::uint64_t slots = 0;  // bit s: slot s
};

/// A partition of a sequence's keys, cut at the blocks: the same for all rows and heads, so it is made once.
class SegmentParts {
 public:
  /// segment_of_key: [keys], -1 for none; key 0 stands at key_position.
  SegmentParts(std::span<const std::int32_t> segment_of_key, std::int64_t key_position,
               std::pmr::memory_resource* memory = std::pmr::new_delete_resource());

  /// The parts in the block that stands at `position`, by first slot.
  std::span<const SegmentPart> at(std::int64_t position) const {
    const auto block = static_cast<std::size_t>(position / kBlockKeys - first_block_);
    return std::span(parts_).subspan(begin_[block], begin_[block + 1] - begin_[block]);
  }

 private:
  // To the block that was begun last.
  void add(std::int32_t segment, std::uint64_t slots);

  std::int64_t first_block_ = 0;
  std::pmr::vector<SegmentPart> parts_;
  std::pmr::vector<std::size_t> begin_;  // [blocks + 1] into parts_
};

/// Column bin of each of the bins' keys.
std::pmr::vector<std::int32_t> column_bins(const Bins& bins,
                                           std::pmr::memory_resource* memory = std::pmr::new_delete_resource());

}  // namespace sightline

#endif  // SIGHTLINE_OBSERVE_SEGMENT_PARTS_H_
