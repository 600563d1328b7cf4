#ifndef SIGHTLINE_OPS_ELEMENTWISE_H_
#define SIGHTLINE_OPS_ELEMENTWISE_H_

#include <cstdint>
#include <span>

namespace sightline::ops {

/// In place: x Phi(x), 0.5 x (1 + erf(x / sqrt 2)). Error bounds stand in src/cpu/gelu-inl.h.
void gelu(std::span<float> x, int threads);
/// In place: 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))).
void gelu_tanh(std::span<float> x, int threads);
/// In place: x / (1 + exp(-x)).
void silu(std::span<float> x, int threads);
/// In place: max(x, 0); NaN stays.
void relu(std::span<float> x, int threads);
/// In place. Error bound in src/cpu/tanh-inl.h.
void tanh(std::span<float> x, int threads);
/// In place: cap * tanh(x / cap), cap > 0.
void softcap(std::span<float> x, float cap, int threads);
/// In place: x * factor.
void scale(std::span<float> x, float factor, int threads);

/// x += y, the residual sum. Both as long.
void add(std::span<float> x, std::span<const float> y, int threads);

/// What the first linear layers of a gated MLP give: value i of row r is gate[r * row_stride + i * step], and up
/// likewise. Two matrices have step 1 and row_stride width; halves of one, 2 * width; interleaved, step 2 as well.
struct GatedRows {
  const float* gate = nullptr;
  const float* up = nullptr;
  std::int64_t rows = 0, width = 0;
  std::int64_t row_stride = 0, step = 1;  // step: 1, or 2 with up == gate + 1
};

/// y [rows, width] = f(gate) * up; y may be `gate` of two matrices.
void gelu_gate(const GatedRows& in, float* y, int threads);
void gelu_tanh_gate(const GatedRows& in, float* y, int threads);
void silu_gate(const GatedRows& in, float* y, int threads);
void relu_gate(const GatedRows& in, float* y, int threads);
/// y = (u + 1) * g / (1 + exp(-alpha g)), g = min(gate, limit), u = up cut to [-limit, limit] (gpt-oss). alpha > 0.
void swiglu_gate(const GatedRows& in, float limit, float alpha, float* y, int threads);

}  // namespace sightline::ops

#endif  // SIGHTLINE_OPS_ELEMENTWISE_H_
