#ifndef SIGHTLINE_ATTENTION_TILE_WORKSPACE_H_
#define SIGHTLINE_ATTENTION_TILE_WORKSPACE_H_

#include <cstdint>
#include <vector>

#include "src/attention/head_problem.h"
#include "src/attention/head_sight.h"
#include "src/observe/tile_block.h"
#include "src/tensor/aligned_buffer.h"

namespace sightline {

/// Weights of all blocks of a tile of rows, kept until the rows' state is final: what key mass needs. O(keys) memory,
/// which a worker holds once. A block's weights are relative to the running max that it left.
struct WeightStrip {
  AlignedBuffer<float> weights;      // [blocks, kBlockKeys, kTileRows]
  AlignedBuffer<float> running_max;  // [blocks, kTileRows]
  std::vector<TileBlock> blocks;     // those with a visible key, ascending
};

/// Buffers of one worker, for tiles of up to kTileRows rows of any head of a problem. [.., lanes] arrays have the
/// tile's lanes as stride.
class TileWorkspace {
 public:
  /// Sized for `problem` and what `sight` asks for; all heads of one call are alike in that.
  TileWorkspace(const HeadProblem& problem, const HeadSight& sight);

  static constexpr int kStateArrays = 5;  // m, l, e, position, distance

  AlignedBuffer<float> queries;                     // [width, lanes]
  AlignedBuffer<float> out;                         // [value width, lanes] of the chunk
  AlignedBuffer<float> out_total;                   // [value width, lanes]
  AlignedBuffer<float> scores;                      // [kBlockKeys, lanes]
  AlignedBuffer<float> additive;                    // [kBlockKeys, lanes] bias, -inf where the mask hides
  AlignedBuffer<float> packed_keys, packed_values;  // [kBlockKeys, width] where columns are not contiguous
  AlignedBuffer<float> zeros;                       // [max(width, value width)], the row of slots that hold no key
  AlignedBuffer<float> state, state_total;          // [kStateArrays, kTileRows]
  AlignedBuffer<float> lane_arrays;                 // [kLaneArrays, kTileRows]
  AlignedBuffer<float> topk_score;                  // [top_capacity(k), lanes]
  AlignedBuffer<std::int32_t> topk_index;           // [top_capacity(k), lanes]
  AlignedBuffer<float> offset_score;                // [offsets, lanes]
  AlignedBuffer<float> segment_sum, segment_reference, segment_total;  // [segments, lanes]
  AlignedBuffer<float> bin_sum, bin_reference, bin_total;              // [column bins, lanes]
  std::int32_t segments_seen = 0, bins_seen = 0;                       // the rest of the totals is 0
  WeightStrip strip;

  enum LaneArray { kBlockMax, kRescale, kBlockSum, kFirstSlot, kEndSlot, kLaneArrays };
  float* lane_array(LaneArray which) { return lane_arrays.data() + which * kTileRows; }
};

}  // namespace sightline

#endif  // SIGHTLINE_ATTENTION_TILE_WORKSPACE_H_
