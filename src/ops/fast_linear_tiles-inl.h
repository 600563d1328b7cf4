// Linear layers by tiles of 16 rows of 64 bytes: C += A B with A of 16 x 32 bf16, B of 16 pairs x 16 columns, C of
// 16 x 16 fp32. Included by the unit for AMX, and by a test that puts plain loops in the place of the instructions.
//
// A is 16 outputs, their weights as they lie, B 16 pairs of inputs of 16 rows of x, turned over when they are packed;
// so weights in bf16 need no copy. For each 32 inputs the products of even and those of odd ones add up apart from 0,
// then their sum is added to C.

#ifndef SIGHTLINE_OPS_FAST_LINEAR_TILES_INL_H_
#define SIGHTLINE_OPS_FAST_LINEAR_TILES_INL_H_

#include "src/ops/fast_linear.h"

// The instruction set of the unit that includes this.
#ifndef SIGHTLINE_TILES
#define SIGHTLINE_TILES
#endif

namespace sightline::ops {
namespace {

// Machine has eight tiles and what fills them, as in src/attention/fast_tiles-inl.h.
template <class Machine>
struct LinearTiles {
  static constexpr int kTile = static_cast<int>(kFastTile);
  static constexpr std::int64_t kRowBytes = 64;

  // to: [width / 2 pairs, 16 rows].
  template <class Round>
  SIGHTLINE_TILES static void pack(const float* x, std::int64_t in, std::int64_t rows, std::uint16_t* scratch,
                                   std::uint16_t* to, Round round) {
    const std::int64_t width = padded_columns(in);
    for (std::int64_t r = 0; r < rows; ++r) round(x + r * in, in, scratch + r * width);
    for (std::int64_t i = rows * width; i < kTile * width; ++i) scratch[i] = 0;
    const auto* pairs = reinterpret_cast<const std::uint32_t*>(scratch);
    for (std::int64_t pair = 0; pair < width / 2; pair += kTile) {
      const std::uint32_t* of_rows[kTile];
      for (int r = 0; r < kTile; ++r) of_rows[r] = pairs + r * (width / 2) + pair;
      Machine::turn(of_rows, reinterpret_cast<std::uint32_t*>(to) + pair * kTile, kTile);
    }
  }

  // sums [16 outputs, 16 rows], with the bias, to y; outputs and rows that are not asked for are left out.
  SIGHTLINE_TILES static void finish(const FastPanel& panel, std::int64_t row, std::int64_t out, const float* sums) {
    const std::uint32_t* columns[kTile];
    for (int o = 0; o < kTile; ++o) columns[o] = reinterpret_cast<const std::uint32_t*>(sums + o * kTile);
    float turned[kTile * kTile] = {};
    Machine::turn(columns, reinterpret_cast<std::uint32_t*>(turned), kTile);
    const std::int64_t outs = panel.outs - out < kTile ? panel.outs - out : kTile;
    for (std::int64_t r = 0; r < kTile && row + r < panel.row_end; ++r) {
      float* y = panel.y + (row + r) * panel.y_stride + out;
      for (std::int64_t o = 0; o < outs; ++o) {
        y[o] = turned[r * kTile + o] + (panel.bias == nullptr ? 0.0f : panel.bias[out + o]);
      }
    }
  }

  // Tiles 0 to 3 are sums, [outputs, rows]; 4 and 5 weights, 6 and 7 rows of x.
  template <int kOuts, int kGroups>
  SIGHTLINE_TILES static void compute_tiles(Machine& machine, const FastPanel& panel, std::int64_t row,
                                            std::int64_t out) {
    const std::uint16_t* weights = panel.weights + out * panel.weight_stride;
    const std::uint16_t* x = panel.x + row * panel.width;
    machine.template zero<0>();
    if constexpr (kGroups > 1) machine.template zero<1>();
    if constexpr (kOuts > 1) machine.template zero<2>();
    if constexpr (kOuts > 1 && kGroups > 1) machine.template zero<3>();
    for (std::int64_t i = 0; i < panel.width; i += kFastColumns) {
      machine.template load<4>(weights + i, panel.weight_stride * 2);
      machine.template load<6>(x + i * kTile, kRowBytes);
      machine.template dot<0, 4, 6>();
      if constexpr (kGroups > 1) machine.template load<7>(x + kTile * panel.width + i * kTile, kRowBytes);
      if constexpr (kGroups > 1) machine.template dot<1, 4, 7>();
      if constexpr (kOuts > 1)
        machine.template load<5>(weights + kTile * panel.weight_stride + i, panel.weight_stride * 2);
      if constexpr (kOuts > 1) machine.template dot<2, 5, 6>();
      if constexpr (kOuts > 1 && kGroups > 1) machine.template dot<3, 5, 7>();
    }
    float sums[4][kTile * kTile];
    machine.template store<0>(sums[0], kRowBytes);
    finish(panel, row, out, sums[0]);
    if constexpr (kGroups > 1) machine.template store<1>(sums[1], kRowBytes);
    if constexpr (kGroups > 1) finish(panel, row + kTile, out, sums[1]);
    if constexpr (kOuts > 1) machine.template store<2>(sums[2], kRowBytes);
    if constexpr (kOuts > 1) finish(panel, row, out + kTile, sums[2]);
    if constexpr (kOuts > 1 && kGroups > 1) machine.template store<3>(sums[3], kRowBytes);
    if constexpr (kOuts > 1 && kGroups > 1) finish(panel, row + kTile, out + kTile, sums[3]);
  }

  template <int kGroups>
  SIGHTLINE_TILES static void compute_rows(Machine& machine, const FastPanel& panel, std::int64_t row) {
    std::int64_t out = 0;
    for (; out + kTile < panel.outs; out += 2 * kTile) compute_tiles<2, kGroups>(machine, panel, row, out);
    if (out < panel.outs) compute_tiles<1, kGroups>(machine, panel, row, out);
  }

  SIGHTLINE_TILES static void compute(const FastPanel& panel) {
    Machine machine;
    machine.begin();
    std::int64_t row = panel.row_begin;
    for (; row + kTile < panel.row_end; row += 2 * kTile) compute_rows<2>(machine, panel, row);
    if (row < panel.row_end) compute_rows<1>(machine, panel, row);
    machine.end();
  }
};

}  // namespace
}  // namespace sightline::ops

#endif  // SIGHTLINE_OPS_FAST_LINEAR_TILES_INL_H_
