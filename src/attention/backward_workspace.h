#ifndef SIGHTLINE_ATTENTION_BACKWARD_WORKSPACE_H_
#define SIGHTLINE_ATTENTION_BACKWARD_WORKSPACE_H_

#include <cstdint>
#include <vector>

#include "src/attention/backward_group.h"
#include "src/observe/tile_block.h"
#include "src/tensor/aligned_buffer.h"

namespace sightline {

/// Rows of whole vectors, so that no loop over columns has a rest.
constexpr std::int64_t padded(std::int64_t width) { return (width + kChains - 1) / kChains * kChains; }

/// Buffers of one worker for any group of a problem.
class BackwardWorkspace {
 public:
  explicit BackwardWorkspace(const BackwardGroup& group);

  /// Blocks of keys that are taken together. Their keys, values and sums pass through the cache once for each tile of
  /// rows, and each tile is packed once for each of them: as many as fit half a megabyte, part of the L2 cache.
  static std::int64_t blocks_together(const BackwardGroup& group);

  /// Clears the sums that a part of the group adds to.
  void begin_part(const BackwardGroup& group);

  AlignedBuffer<float> keys, values;             // [keys together, padded width]
  AlignedBuffer<float> key_sums, value_sums;     // dk before the scale, and dv, likewise
  AlignedBuffer<float> query_lanes, dout_lanes;  // [width, lanes] of the tile
  AlignedBuffer<float> query_rows, dout_rows;    // [kTileRows, padded width]
  AlignedBuffer<float> weights;                  // [kBlockKeys, lanes], at first scores
  AlignedBuffer<float> slopes;                   // [kBlockKeys, lanes] dL/d(weight), then dL/d(score)
  AlignedBuffer<float> bias, capped, shown;      // [kBlockKeys, lanes]
  AlignedBuffer<float> lane_arrays;              // [kLaneArrays, kTileRows]
  std::vector<BiasSums> bias_sums;               // [heads] of the part

  enum LaneArray { kReference, kInverse, kDelta, kOnes, kUnused, kLaneArrays };
  float* lane_array(LaneArray which) { return lane_arrays.data() + which * kTileRows; }
};

}  // namespace sightline

#endif  // SIGHTLINE_ATTENTION_BACKWARD_WORKSPACE_H_
