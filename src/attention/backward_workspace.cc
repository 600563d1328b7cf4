#include "src/attention/backward_workspace.h"

#include <algorithm>

namespace sightline {
namespace {

AlignedBuffer<float> buffer(std::int64_t rows, std::int64_t columns) {
  return AlignedBuffer<float>(static_cast<std::size_t>(rows * columns));
}

AlignedBuffer<float> keys_buffer(const BackwardGroup& group, std::int64_t width) {
  return buffer(BackwardWorkspace::blocks_together(group) * kBlockKeys, padded(width));
}

}  // namespace

std::int64_t BackwardWorkspace::blocks_together(const BackwardGroup& group) {
  constexpr std::int64_t kBytes = std::int64_t{512} << 10;
  const std::int64_t columns = 2 * (padded(group.problem().width) + padded(group.problem().value_width));
  const std::int64_t of_block = columns * kBlockKeys * static_cast<std::int64_t>(sizeof(float));
  return std::clamp<std::int64_t>(kBytes / of_block, 1, kChunkKeys / kBlockKeys);
}

BackwardWorkspace::BackwardWorkspace(const BackwardGroup& group)
    : keys(keys_buffer(group, group.problem().width)),
      values(keys_buffer(group, group.problem().value_width)),
      key_sums(keys_buffer(group, group.problem().width)),
      value_sums(keys_buffer(group, group.problem().value_width)),
      query_lanes(buffer(group.problem().width, kTileRows)),
      dout_lanes(buffer(group.problem().value_width, kTileRows)),
      query_rows(buffer(kTileRows, padded(group.problem().width))),
      dout_rows(buffer(kTileRows, padded(group.problem().value_width))),
      weights(buffer(kBlockKeys, kTileRows)),
      slopes(buffer(kBlockKeys, kTileRows)),
      bias(buffer(group.problem().bias ? kBlockKeys : 0, kTileRows)),
      capped(buffer(group.problem().softcap > 0 ? kBlockKeys : 0, kTileRows)),
      shown(buffer(kBlockKeys, kTileRows)),
      lane_arrays(buffer(kLaneArrays, kTileRows)) {
  std::fill_n(lane_array(kOnes), kTileRows, 1.0f);
}

void BackwardWorkspace::begin_part(const BackwardGroup& group) {
  const std::int64_t buckets = group.buckets == nullptr ? 0 : group.buckets->count();
  bias_sums.assign(group.heads.size(), {0, std::vector<double>(static_cast<std::size_t>(buckets))});
}

}  // namespace sightline
