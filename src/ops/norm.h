#ifndef SIGHTLINE_OPS_NORM_H_
#define SIGHTLINE_OPS_NORM_H_

#include <cstdint>

#include "src/ops/head_rows.h"

namespace sightline::ops {

/// The learned part of a norm over the last axis. LayerNorm: y = (x - mean) / sqrt(variance + epsilon) * scale + shift.
/// RMSNorm (Zhang & Sennrich 2019): y = x / sqrt(mean of x^2 + epsilon) * scale.
struct Norm {
  bool centred = true;           // LayerNorm; false: RMSNorm
  const float* scale = nullptr;  // [width]; null: there is no such norm
  const float* shift = nullptr;  // [width]; null: none
  std::int64_t width = 0;
  float epsilon = 0;
};

/// Normalises `rows` rows of x [rows, width] into y, which may be x. Sums of a row (the values, then the squared
/// distances from their mean, which loses no digits where the mean is large) run in 16 chains by index mod 16, folded
/// by halves, as in linear(); so a row's bits depend on that row alone.
void normalise(const Norm& norm, const float* x, std::int64_t rows, float* y, int threads);

/// The same of each head in place; norm.width is the heads'.
void normalise_heads(const Norm& norm, const HeadRows& heads, int threads);

}  // namespace sightline::ops

#endif  // SIGHTLINE_OPS_NORM_H_
