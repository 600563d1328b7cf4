#include "src/attention/backward_workspace.h"

#include <algorithm>

namespace sightline {
namespace {

AlignedBuffer<float> buffer(std::int64_t rows, std::int64_t columns) {
  return AlignedBuffer<float>(static_cast<std::size_t>(rows * columns));
}

std::int64_t query_sums_size(const BackwardGroup& group) {
  const std::int64_t tiles = (group.rows + kTileRows - 1) / kTileRows;
  return static_cast<std::int64_t>(group.heads.size()) * tiles * kTileRows * group.width;
}

}  // namespace

std::int64_t BackwardWorkspace::blocks_together(const BackwardGroup& group) {
  constexpr std::int64_t kBytes = std::int64_t{512} << 10;
  const std::int64_t of_block =
      2 * (padded(group.width) + padded(group.value_width)) * kBlockKeys * static_cast<std::int64_t>(sizeof(float));
  return std::clamp<std::int64_t>(kBytes / of_block, 1, kChunkKeys / kBlockKeys);
}

BackwardWorkspace::BackwardWorkspace(const BackwardGroup& group)
    : keys(buffer(blocks_together(group) * kBlockKeys, padded(group.width))),
      values(buffer(blocks_together(group) * kBlockKeys, padded(group.value_width))),
      keys_sums(buffer(blocks_together(group) * kBlockKeys, padded(group.width))),
      values_sums(buffer(blocks_together(group) * kBlockKeys, padded(group.value_width))),
      query_lanes(buffer(group.width, kTileRows)),
      dout_lanes(buffer(group.value_width, kTileRows)),
      query_rows(buffer(kTileRows, padded(group.width))),
      dout_rows(buffer(kTileRows, padded(group.value_width))),
      weights(buffer(kBlockKeys, kTileRows)),
      slopes(buffer(kBlockKeys, kTileRows)),
      seen(buffer(kBlockKeys, kTileRows)),
      query_sums(buffer(query_sums_size(group), 1)),
      lane_arrays(buffer(kLaneArrays, kTileRows)),
      masks(group.heads.front().problem, HeadSight{}) {
  std::fill_n(lane_array(kOnes), kTileRows, 1.0f);
}

void BackwardWorkspace::begin_chunk(const BackwardGroup& group) {
  std::fill_n(query_sums.data(), query_sums_size(group), 0.0f);
}

}  // namespace sightline
