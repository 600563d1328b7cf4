#include "src/observe/segment_parts.h"

#include <algorithm>

namespace sightline {

SegmentParts::SegmentParts(std::span<const std::int32_t> segment_of_key, std::int64_t key_position,
                           std::pmr::memory_resource* memory)
    : first_block_(key_position / kBlockKeys), parts_(memory), begin_(memory) {
  begin_.push_back(0);
  const auto keys = static_cast<std::int64_t>(segment_of_key.size());
  for (std::int64_t key = 0, end = 0; key < keys; key = end) {
    const std::int64_t slot = (key_position + key) % kBlockKeys;
    if (key > 0 && slot == 0) begin_.push_back(parts_.size());
    // Keys of one segment come in runs, mostly.
    const std::int64_t block_end = std::min(keys, key + kBlockKeys - slot);
    for (end = key + 1; end < block_end && segment_of_key[end] == segment_of_key[key];) ++end;
    if (segment_of_key[key] >= 0) add(segment_of_key[key], ~std::uint64_t{0} >> (kBlockKeys - (end - key)) << slot);
  }
  begin_.push_back(parts_.size());
}

void SegmentParts::add(std::int32_t segment, std::uint64_t slots) {
  const auto same = [segment](const SegmentPart& part) { return part.segment == segment; };
  auto part = std::find_if(parts_.begin() + static_cast<std::ptrdiff_t>(begin_.back()), parts_.end(), same);
  if (part == parts_.end()) part = parts_.insert(part, {segment, 0});
  part->slots |= slots;
}

std::pmr::vector<std::int32_t> column_bins(const Bins& bins, std::pmr::memory_resource* memory) {
  std::pmr::vector<std::int32_t> bin_of_key(static_cast<std::size_t>(bins.items), memory);
  for (std::int64_t bin = 0; bin < bins.count; ++bin) {
    std::fill_n(bin_of_key.begin() + bins.edge(bin), bins.size(bin), static_cast<std::int32_t>(bin));
  }
  return bin_of_key;
}

}  // namespace sightline
