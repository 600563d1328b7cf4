#ifndef SIGHTLINE_OPS_ELEMENTWISE_H_
#define SIGHTLINE_OPS_ELEMENTWISE_H_

#include <cstdint>
#include <span>

namespace sightline::ops {

/// In place: x Phi(x), 0.5 x (1 + erf(x / sqrt 2)). Error bounds stand in src/cpu/gelu-inl.h.
void gelu(std::span<float> x, int threads);
/// In place: 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))).
void gelu_tanh(std::span<float> x, int threads);
/// In place: max(x, 0); NaN stays.
void relu(std::span<float> x, int threads);
/// In place. Error bound in src/cpu/tanh-inl.h.
void tanh(std::span<float> x, int threads);

/// x += y, the residual sum. Both as long.
void add(std::span<float> x, std::span<const float> y, int threads);

}  // namespace sightline::ops

#endif  // SIGHTLINE_OPS_ELEMENTWISE_H_
