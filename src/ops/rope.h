#ifndef SIGHTLINE_OPS_ROPE_H_
#define SIGHTLINE_OPS_ROPE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "src/ops/head_rows.h"

namespace sightline::ops {

/// Cosines and sines of a pass, [rows, pairs] each.
struct RopeTable {
  std::int64_t pairs = 0;
  std::vector<float> cos, sin;
};

/// Appends rows for the positions begin .. begin + count - 1: factor * cos(position * frequency), and the sine. Angles,
/// cosines and their products with the factor are computed in fp64 and rounded once, to fp32: at position 4000 an angle
/// rounded to fp32, as PyTorch code has it, is off by 1e-4.
void append_positions(std::span<const double> frequencies, double factor, std::int64_t begin, std::int64_t count,
                      RopeTable& table, int threads);

/// Turns the first 2 * table.pairs elements of every head in place by the angles of its row (Su et al. 2021). Pair i is
/// elements (i, i + pairs), or with `adjacent` (2 i, 2 i + 1): (a, b) becomes (a cos - b sin, b cos + a sin), each with
/// one rounded product and one fma.
void rotate(const RopeTable& table, bool adjacent, const HeadRows& heads, int threads);

}  // namespace sightline::ops

#endif  // SIGHTLINE_OPS_ROPE_H_
