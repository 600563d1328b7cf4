#ifndef SIGHTLINE_OPS_NORM_H_
#define SIGHTLINE_OPS_NORM_H_

#include <cstdint>

namespace sightline::ops {

/// The learned part of a LayerNorm: y = (x - mean) / sqrt(variance + epsilon) * scale + shift over the last axis.
struct LayerNorm {
  const float* scale = nullptr;  // [width]
  const float* shift = nullptr;  // [width]
  std::int64_t width = 0;
  float epsilon = 0;
};

/// Normalises `rows` rows of x [rows, width] into y, which may be x. Sums of a row (the values, then the squared
/// distances from their mean, which loses no digits where the mean is large) run in 16 chains by index mod 16, folded
/// by halves, as in linear(); so a row's bits depend on that row alone.
void layer_norm(const LayerNorm& norm, const float* x, std::int64_t rows, float* y, int threads);

}  // namespace sightline::ops

#endif  // SIGHTLINE_OPS_NORM_H_
