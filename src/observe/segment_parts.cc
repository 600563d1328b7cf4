#include "src/observe/segment_parts.h"

#include <algorithm>

namespace sightline {

SegmentParts::SegmentParts(std::span<const std::int32_t> segment_of_key, std::int64_t key_position,
                           std::pmr::memory_resource* memory)
    : first_block_(key_position / kBlockKeys), parts_(memory), begin_(memory) {
  begin_.push_back(0);
  const auto keys = static_cast<std::int64_t>(segment_of_key.size());
  for (std::int64_t key = 0; key < keys; ++key) {
    const std::int64_t position = key_position + key;
    if (key > 0 && position % kBlockKeys == 0) begin_.push_back(parts_.size());
    const std::int32_t segment = segment_of_key[key];
    if (segment < 0) continue;
    const auto same = [segment](const SegmentPart& part) { return part.segment == segment; };
    auto part = std::find_if(parts_.begin() + static_cast<std::ptrdiff_t>(begin_.back()), parts_.end(), same);
    if (part == parts_.end()) part = parts_.insert(part, {segment, 0});
    part->slots |= std::uint64_t{1} << (position % kBlockKeys);
  }
  begin_.push_back(parts_.size());
}

std::pmr::vector<std::int32_t> column_bins(std::int64_t keys, std::int64_t bins, std::pmr::memory_resource* memory) {
  std::pmr::vector<std::int32_t> bin_of_key(static_cast<std::size_t>(keys), memory);
  for (std::int64_t key = 0; key < keys; ++key) {
    bin_of_key[key] = static_cast<std::int32_t>(((key + 1) * bins - 1) / keys);
  }
  return bin_of_key;
}

}  // namespace sightline
