// Products by tiles of 16 rows of 64 bytes: C += A B with A of 16 x 32 bf16, B of 16 pairs x 16 columns, C of 16 x 16
// fp32. Included by the unit for AMX, and by tests that put plain loops in the place of the instructions.
//
// The scores are S^T = K Q^T: A is 16 keys as they lie, B 16 pairs of columns of the queries, rows in lanes. The mix is
// O^T = V^T P^T: A is 16 value columns, turned over, B 16 pairs of slots of the weights; for few rows it is O = P V, A
// the weights turned over and B the values. An element of C has the same operations either way: for each tile of 32
// products those of even and those of odd position add up apart from 0, then their sum is added to C.
//
// Tiles are always whole. Width, value width and slots end within one by zeros, which change no sum.

#ifndef SIGHTLINE_ATTENTION_FAST_TILES_INL_H_
#define SIGHTLINE_ATTENTION_FAST_TILES_INL_H_

#include "src/attention/fast.h"
#include "src/observe/tile_block.h"

// The instruction set of the unit that includes this.
#ifndef SIGHTLINE_TILES
#define SIGHTLINE_TILES
#endif

namespace sightline {
namespace {

inline constexpr int kTile = 16;       // rows of a tile, and its columns of 32 bits
inline constexpr int kTileBytes = 64;  // of a row
inline constexpr int kSlotPairs = kBlockKeys / 2;

// Machine has eight tiles and what fills them:
//   begin(), end()                                take the tiles into use, and give them back
//   zero<tile>(), load<tile>(from, row bytes), store<tile>(to, row bytes), dot<c, a, b>()
//   static pair_weights(...), turn(...)           as in fast_pack-inl.h
template <class Machine>
struct TileProducts {
  // Rows [slot, slot + 16) at one stride, readable to a multiple of 32 columns, in bytes; otherwise they are copied.
  SIGHTLINE_TILES static std::int64_t at_one_stride(const FastScores& block, int slot, const std::uint16_t** first) {
    const std::int64_t padded = padded_columns(block.width);
    const std::uint16_t* const* keys = block.keys + slot;
    *first = keys[0];
    if (block.padded) return padded * 2;
    const std::int64_t stride = reinterpret_cast<const char*>(keys[1]) - reinterpret_cast<const char*>(keys[0]);
    bool even = padded == block.width;
    for (int i = 2; i < kTile; ++i) {
      even &= reinterpret_cast<const char*>(keys[i]) - reinterpret_cast<const char*>(keys[i - 1]) == stride;
    }
    if (even) return stride;
    std::uint16_t* stage = block.stage + slot * padded;
    for (int i = 0; i < kTile; ++i) {
      __builtin_memcpy(stage + i * padded, keys[i], static_cast<std::size_t>(block.width) * 2);
      for (std::int64_t t = block.width; t < padded; ++t) stage[i * padded + t] = 0;
    }
    *first = stage;
    return padded * 2;
  }

  // Scales the sums of 16 slots, and takes the largest of each lane.
  SIGHTLINE_TILES static void finish_scores(const FastScores& block, int slot) {
    for (int i = slot; i < slot + kTile; ++i) {
      float* scores = block.scores + i * block.lanes;
      for (int lane = 0; lane < block.lanes; ++lane) {
        const float score = scores[lane] * block.scale;
        scores[lane] = score;
        block.block_max[lane] = score > block.block_max[lane] ? score : block.block_max[lane];
      }
    }
  }

  // Tiles 0 to 2 are sums against up to 48 lanes, 3 is what meets the lanes, 4 to 6 are the lanes.
  template <int kGroups>
  SIGHTLINE_TILES static void zero_sums(Machine& machine) {
    machine.template zero<0>();
    if constexpr (kGroups > 1) machine.template zero<1>();
    if constexpr (kGroups > 2) machine.template zero<2>();
  }

  template <int kGroups>
  SIGHTLINE_TILES static void add_products(Machine& machine, const std::uint32_t* lanes, std::int64_t lane_bytes) {
    machine.template load<4>(lanes, lane_bytes);
    machine.template dot<0, 3, 4>();
    if constexpr (kGroups > 1) {
      machine.template load<5>(lanes + kTile, lane_bytes);
      machine.template dot<1, 3, 5>();
    }
    if constexpr (kGroups > 2) {
      machine.template load<6>(lanes + 2 * kTile, lane_bytes);
      machine.template dot<2, 3, 6>();
    }
  }

  // Groups of lanes `apart` numbers from one another.
  template <int kGroups>
  SIGHTLINE_TILES static void store_sums(Machine& machine, float* to, std::int64_t apart, std::int64_t row_bytes) {
    machine.template store<0>(to, row_bytes);
    if constexpr (kGroups > 1) machine.template store<1>(to + apart, row_bytes);
    if constexpr (kGroups > 2) machine.template store<2>(to + 2 * apart, row_bytes);
  }

  // 16 slots against the queries.
  template <int kGroups>
  SIGHTLINE_TILES static void score_slots(Machine& machine, const FastScores& block, int slot) {
    const std::uint16_t* keys;
    const std::int64_t stride = at_one_stride(block, slot, &keys), lane_bytes = block.lanes * 4;
    zero_sums<kGroups>(machine);
    for (std::int64_t t = 0; t < block.width; t += kFastColumns) {
      const std::uint32_t* queries = block.queries + t / 2 * block.lanes;
      machine.template load<3>(keys + t, stride);
      add_products<kGroups>(machine, queries, lane_bytes);
    }
    float* scores = block.scores + slot * block.lanes;
    store_sums<kGroups>(machine, scores, kTile, lane_bytes);
    finish_scores(block, slot);
  }

  SIGHTLINE_TILES static void score(const FastScores& block) {
    Machine machine;
    machine.begin();
    for (int lane = 0; lane < block.lanes; ++lane) block.block_max[lane] = -__builtin_inff();
    for (int slot = block.begin / kTile * kTile; slot < block.end; slot += kTile) {
      if (block.lanes == 48) {
        score_slots<3>(machine, block, slot);
      } else if (block.lanes == 32) {
        score_slots<2>(machine, block, slot);
      } else {
        score_slots<1>(machine, block, slot);
      }
    }
    machine.end();
  }

  // 16 rows of `from`, from `column` on, turned over into to[16 columns][kSlotPairs].
  SIGHTLINE_TILES static void turn_pairs(const std::uint32_t* from, std::int64_t stride, std::int64_t column,
                                         std::uint32_t* to) {
    for (int pair = 0; pair < kSlotPairs; pair += kTile) {
      const std::uint32_t* rows[kTile];
      for (int i = 0; i < kTile; ++i) rows[i] = from + (pair + i) * stride + column;
      Machine::turn(rows, to + pair, kSlotPairs);
    }
  }

  // out = out * rescale + sums for 16 value columns, fewer where they end. sums: [lanes / 16, 16, 16].
  SIGHTLINE_TILES static void add_columns(const FastMix& block, std::int64_t column, const float* sums) {
    for (int i = 0; i < kTile && column + i < block.columns; ++i) {
      float* out = block.out + (column + i) * block.lanes;
      for (int lane = 0; lane < block.lanes; ++lane) {
        const float sum = sums[lane / kTile * kTile * kTile + i * kTile + lane % kTile];
        out[lane] = __builtin_fmaf(out[lane], block.rescale[lane], sum);
      }
    }
  }

  // 16 value columns against the weights.
  template <int kGroups>
  SIGHTLINE_TILES static void mix_columns(Machine& machine, const FastMix& block, std::int64_t column) {
    const std::int64_t lane_bytes = block.lanes * 4;
    zero_sums<kGroups>(machine);
    for (int pair = 0; pair < kSlotPairs; pair += kTile) {
      const std::uint32_t* weights = block.weight_pairs + pair * block.lanes;
      machine.template load<3>(block.turned + column * kSlotPairs + pair, kSlotPairs * 4);
      add_products<kGroups>(machine, weights, lane_bytes);
    }
    float sums[kGroups * kTile * kTile];
    store_sums<kGroups>(machine, sums, kTile * kTile, kTileBytes);
    add_columns(block, column, sums);
  }

  SIGHTLINE_TILES static void mix_lanes(Machine& machine, const FastMix& block) {
    const std::int64_t stride = padded_values(block.columns);
    for (std::int64_t column = 0; column < block.columns; column += kTile) {
      turn_pairs(block.values, stride, column, block.turned + column * kSlotPairs);
      if (block.lanes == 48) {
        mix_columns<3>(machine, block, column);
      } else if (block.lanes == 32) {
        mix_columns<2>(machine, block, column);
      } else {
        mix_columns<1>(machine, block, column);
      }
    }
  }

  // As mix_columns(), for out of [rows, columns] and one vector of lanes.
  SIGHTLINE_TILES static void mix_few(Machine& machine, const FastMix& block) {
    const std::int64_t stride = padded_values(block.columns);
    turn_pairs(block.weight_pairs, block.lanes, 0, block.turned);
    float sums[kTile * kTile];
    for (std::int64_t column = 0; column < block.columns; column += kTile) {
      machine.template zero<0>();
      for (int pair = 0; pair < kSlotPairs; pair += kTile) {
        machine.template load<3>(block.turned + pair, kSlotPairs * 4);
        machine.template load<4>(block.values + pair * stride + column, stride * 4);
        machine.template dot<0, 3, 4>();
      }
      machine.template store<0>(sums, kTileBytes);
      for (int r = 0; r < block.rows; ++r) {
        float* out = block.out + r * block.columns + column;
        for (int i = 0; i < kTile && column + i < block.columns; ++i) {
          out[i] = __builtin_fmaf(out[i], block.rescale[r], sums[r * kTile + i]);
        }
      }
    }
  }

  SIGHTLINE_TILES static void mix(const FastMix& block) {
    Machine::pair_weights(block.weights, block.lanes, block.begin, block.end, block.weight_pairs);
    Machine machine;
    machine.begin();
    if (block.few) {
      mix_few(machine, block);
    } else {
      mix_lanes(machine, block);
    }
    machine.end();
  }
};

}  // namespace
}  // namespace sightline

#endif  // SIGHTLINE_ATTENTION_FAST_TILES_INL_H_
