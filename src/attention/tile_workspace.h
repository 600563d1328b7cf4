#ifndef SIGHTLINE_ATTENTION_TILE_WORKSPACE_H_
#define SIGHTLINE_ATTENTION_TILE_WORKSPACE_H_

#include <cstdint>
#include <memory_resource>
#include <vector>

#include "src/attention/head_problem.h"
#include "src/attention/head_sight.h"
#include "src/observe/tile_block.h"
#include "src/tensor/aligned_buffer.h"

namespace sightline {

/// Rows whose state is final, as key mass takes them in. Rows that do not count have an inverse of 0.
struct MassRows {
  int lanes = 0;
  float* mass = nullptr;                        // [keys, kChains]
  alignas(64) float final_max[kTileRows] = {};  // [lanes]
  alignas(64) float inverse[kTileRows] = {};    // [lanes] 1 / l
};

/// Weights of all blocks of a tile of rows, kept until the rows' state is final: what key mass needs. O(keys) memory,
/// which a worker holds once. A block's weights are relative to the running max that it left.
///
/// They may wait there for the next tile, which adds each block to the mass just before its own takes the place: its
/// lines then come and go once for both tiles, and while the scores of a block are computed. Added all at once they
/// cost 33 % of a pass over 32,768 keys, where the strip fits no cache.
struct WeightStrip {
  explicit WeightStrip(std::pmr::memory_resource* memory) : blocks(memory), waiting(memory) {}

  AlignedBuffer<float> weights;        // [blocks, kBlockKeys, lanes]; of stacked rows [blocks, rows, kBlockKeys]
  AlignedBuffer<float> running_max;    // [blocks, lanes]
  std::pmr::vector<TileBlock> blocks;  // those with a visible key, ascending

  std::pmr::vector<TileBlock> waiting;  // those of the tile before, of which so many are added
  std::size_t added = 0;
  MassRows rows;  // the tile before
};

/// Blocks whose keys are scored before their values are mixed where rows are few, so that keys and values are each read
/// as a long stream: a stream that changes with every block, each 32 KiB, came at two thirds of the rate on Zen 4.
inline constexpr int kRunBlocks = 8;

/// What a workspace must have room for, beyond what a problem says.
struct WorkspaceSize {
  int lanes = kTileRows;          // of the largest tile
  std::int64_t strip_blocks = 0;  // whose weights a pass keeps
  std::int64_t chain_keys = 0;    // of heads whose few rows meet in key mass
};

/// What streams over the keys of a tile of rows: of the chunk at work, and of all chunks before it. [.., lanes] arrays
/// have the tile's lanes as stride. It can be kept, to resume from.
class TileState {
 public:
  TileState(const HeadProblem& problem, const HeadSight& sight, int lanes, std::pmr::memory_resource* memory);

  static constexpr int kStateArrays = 5;  // m, l, e, position, distance

  /// Takes the numbers of a state of the same sizes.
  void copy(const TileState& other);

  const int lanes;                                   // of the largest tile
  AlignedBuffer<float> state, state_total;           // [kStateArrays, lanes]
  AlignedBuffer<float> out, out_total;               // [value width, lanes]; of few rows [rows, value width]
  AlignedBuffer<float> topk_score;                   // [top_capacity(k), lanes]
  AlignedBuffer<float> topk_rank;                    // [top_capacity(k), lanes] where scores alone do not rank
  AlignedBuffer<std::int32_t> topk_index;            // [top_capacity(k), lanes]
  AlignedBuffer<float> offset_score, offset_length;  // [offsets, lanes]
  AlignedBuffer<float> segment_sum, segment_reference, segment_total;  // [segments, lanes]
  AlignedBuffer<float> bin_sum, bin_reference, bin_total;              // [column bins, lanes]
  AlignedBuffer<std::uint8_t> segment_marks;      // [segments, lanes] 1 where an earlier pass saw a key of the segment
  std::int32_t segments_seen = 0, bins_seen = 0;  // the rest of the totals is 0
  bool open = false;                              // the chunk is not in the totals yet
};

/// Buffers of one worker, for tiles of any head of a problem.
class TileWorkspace : public TileState {
 public:
  /// For `problem` and what `sight` asks for; all heads of one call are alike in that.
  TileWorkspace(const HeadProblem& problem, const HeadSight& sight, const WorkspaceSize& size,
                std::pmr::memory_resource* memory);

  AlignedBuffer<float> queries;   // [width, lanes]; of few rows [rows, width]
  AlignedBuffer<float> scores;    // [kBlockKeys, lanes]
  AlignedBuffer<float> run_sums;  // [kRunBlocks, kChains, kBlockKeys] of few rows
  AlignedBuffer<float> bias;      // [kBlockKeys, lanes]
  AlignedBuffer<float> kept;      // [kBlockKeys, lanes] weights that dropout keeps
  AlignedBuffer<float> measured;  // [kBlockKeys, lanes] weights times the lengths of values
  AlignedBuffer<float> ranks;     // [kBlockKeys, lanes] scores that rank by the same
  AlignedBuffer<float> query_rows,
      value_rows;  // [kChains, width], [kChains, value width]: a vector of rows; sums of few
  AlignedBuffer<float> widened_keys, widened_values;  // [kBlockKeys, width] where rows are not read in place
  AlignedBuffer<float> zeros;                         // [max(width, value width)], the row of slots that hold no key
  AlignedBuffer<float> lane_arrays;                   // [kLaneArrays, kTileRows]
  // Of Precision::fast; padded and paired as fast.h says.
  AlignedBuffer<std::uint16_t> rounded_keys, rounded_values;  // [kBlockKeys, width]
  AlignedBuffer<std::uint32_t> query_pairs;                   // [width / 2, lanes]
  AlignedBuffer<std::uint32_t> value_pairs, turned_pairs;     // [kBlockKeys / 2, value width], the same turned over
  AlignedBuffer<std::uint32_t> weight_pairs;                  // [kBlockKeys / 2, lanes]
  WeightStrip strip;
  AlignedBuffer<float> mass_chains;  // [kChains, chain_keys]

  enum LaneArray { kBlockMax, kRescale, kBlockSum, kFinalMax, kFinalSum, kInverse, kNorm, kLaneArrays };

  /// Weights and running max of the strip's block number `index`.
  float* strip_weights(std::size_t index) { return strip.weights.data() + index * kBlockKeys * lanes; }
  float* strip_max(std::size_t index) { return strip.running_max.data() + index * lanes; }

  float* lane_array(LaneArray which) { return lane_arrays.data() + which * kTileRows; }

 private:
  void reserve_fast(const HeadProblem& problem, std::pmr::memory_resource* memory);
};

}  // namespace sightline

#endif  // SIGHTLINE_ATTENTION_TILE_WORKSPACE_H_
