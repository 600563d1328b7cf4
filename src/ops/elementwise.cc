#include "src/ops/elementwise.h"

#include <algorithm>

#include "src/cpu/dispatch.h"
#include "src/cpu/parallel.h"
#include "src/cpu/target.h"
#include "src/ops/row_tasks.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/ops/elementwise.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, as Highway asks.
#include "src/cpu/gelu-inl.h"
#include "src/cpu/tanh-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sightline {
namespace HWY_NAMESPACE {
namespace {

// x[i] = f(x[i]); the last, shorter step goes through lanes of its own, so that each value sees the same operations.
template <class Function>
HWY_INLINE void map_values(float* HWY_RESTRICT x, std::size_t count, Function f) {
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) store(f(load(x + i)), x + i);
  for (; i < count; ++i) x[i] = hn::GetLane(f(splat(x[i])));
}

HWY_INLINE F relu(F x) { return hn::IfThenElse(hn::Lt(x, hn::Zero(kF32)), hn::Zero(kF32), x); }

void gelu_values(float* x, std::size_t count) {
  map_values(x, count, [](F v) SIGHTLINE_LAMBDA { return gelu(v); });
}
void gelu_tanh_values(float* x, std::size_t count) {
  map_values(x, count, [](F v) SIGHTLINE_LAMBDA { return gelu_tanh(v); });
}
void silu_values(float* x, std::size_t count) {
  map_values(x, count, [](F v) SIGHTLINE_LAMBDA { return silu(v); });
}
void relu_values(float* x, std::size_t count) {
  map_values(x, count, [](F v) SIGHTLINE_LAMBDA { return relu(v); });
}
void tanh_values(float* x, std::size_t count) {
  map_values(x, count, [](F v) SIGHTLINE_LAMBDA { return tanh(v); });
}
void softcap_values(float* x, std::size_t count, float cap) {
  map_values(x, count, [cap](F v) SIGHTLINE_LAMBDA { return hn::Mul(splat(cap), tanh(hn::Div(v, splat(cap)))); });
}
void scale_values(float* x, std::size_t count, float factor) {
  map_values(x, count, [factor](F v) SIGHTLINE_LAMBDA { return hn::Mul(v, splat(factor)); });
}
void add_values(float* HWY_RESTRICT x, const float* HWY_RESTRICT y, std::size_t count) {
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) store(hn::Add(load(x + i), load(y + i)), x + i);
  for (; i < count; ++i) x[i] += y[i];
}

// y[i] = f(gate, up) of one row.
template <class Function>
HWY_INLINE void gate_row(const float* gate, const float* up, std::int64_t step, std::int64_t width, float* y,
                         Function f) {
  std::int64_t i = 0;
  for (; i + static_cast<std::int64_t>(kLanes) <= width; i += kLanes) {
    F g, u;
    if (step == 1) {
      g = load(gate + i);
      u = load(up + i);
    } else {
      hn::LoadInterleaved2(kF32, gate + 2 * i, g, u);
    }
    store(f(g, u), y + i);
  }
  for (; i < width; ++i) y[i] = hn::GetLane(f(splat(gate[i * step]), splat(up[i * step])));
}

void gelu_row(const float* gate, const float* up, std::int64_t step, std::int64_t width, float* y) {
  gate_row(gate, up, step, width, y, [](F g, F u) SIGHTLINE_LAMBDA { return hn::Mul(gelu(g), u); });
}
void gelu_tanh_row(const float* gate, const float* up, std::int64_t step, std::int64_t width, float* y) {
  gate_row(gate, up, step, width, y, [](F g, F u) SIGHTLINE_LAMBDA { return hn::Mul(gelu_tanh(g), u); });
}
void silu_row(const float* gate, const float* up, std::int64_t step, std::int64_t width, float* y) {
  gate_row(gate, up, step, width, y, [](F g, F u) SIGHTLINE_LAMBDA { return hn::Mul(silu(g), u); });
}
void relu_row(const float* gate, const float* up, std::int64_t step, std::int64_t width, float* y) {
  gate_row(gate, up, step, width, y, [](F g, F u) SIGHTLINE_LAMBDA { return hn::Mul(relu(g), u); });
}

// The smaller, and x where it is NaN.
HWY_INLINE F cut_above(F x, float limit) { return hn::IfThenElse(hn::Gt(x, splat(limit)), splat(limit), x); }

void swiglu_row(const float* gate, const float* up, std::int64_t step, std::int64_t width, float* y, float limit,
                float alpha) {
  gate_row(gate, up, step, width, y, [limit, alpha](F gate_value, F up_value) SIGHTLINE_LAMBDA {
    const F g = cut_above(gate_value, limit);
    const F u = hn::Neg(cut_above(hn::Neg(cut_above(up_value, limit)), limit));
    // g sigmoid(alpha g) is silu(alpha g) / alpha.
    const F gated = hn::Div(silu(hn::Mul(g, splat(alpha))), splat(alpha));
    return hn::Mul(hn::Add(u, splat(1.0f)), gated);
  });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace sightline
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sightline {
HWY_EXPORT(gelu_values);
HWY_EXPORT(gelu_tanh_values);
HWY_EXPORT(silu_values);
HWY_EXPORT(relu_values);
HWY_EXPORT(tanh_values);
HWY_EXPORT(softcap_values);
HWY_EXPORT(scale_values);
HWY_EXPORT(add_values);
HWY_EXPORT(gelu_row);
HWY_EXPORT(gelu_tanh_row);
HWY_EXPORT(silu_row);
HWY_EXPORT(relu_row);
HWY_EXPORT(swiglu_row);

namespace ops {
namespace {

constexpr std::size_t kBlock = 8192;  // values of a task: some 10 us, and 32 KiB of first-level cache

template <class Body>
void for_blocks(std::size_t count, int threads, const Body& body) {
  cpu::ensure_target();
  cpu::parallel_for((count + kBlock - 1) / kBlock, threads, [&](std::int64_t task) {
    const std::size_t begin = task * kBlock;
    body(begin, std::min(kBlock, count - begin));
  });
}

void map_blocks(std::span<float> x, int threads, void (*values)(float*, std::size_t)) {
  for_blocks(x.size(), threads, [&](std::size_t begin, std::size_t count) { values(x.data() + begin, count); });
}

// row(gate, up, y) for each row.
template <class Row>
void for_gated_rows(const GatedRows& in, float* y, int threads, const Row& row) {
  cpu::ensure_target();
  for_each_row(in.rows, in.width, kBlock, threads,
               [&](std::int64_t r) { row(in.gate + r * in.row_stride, in.up + r * in.row_stride, y + r * in.width); });
}

using GateRow = void (*)(const float*, const float*, std::int64_t, std::int64_t, float*);

void gate_rows(const GatedRows& in, float* y, int threads, GateRow row) {
  for_gated_rows(in, y, threads,
                 [&](const float* gate, const float* up, float* to) { row(gate, up, in.step, in.width, to); });
}

}  // namespace

void gelu(std::span<float> x, int threads) { map_blocks(x, threads, SIGHTLINE_DISPATCH(gelu_values)); }
void gelu_tanh(std::span<float> x, int threads) { map_blocks(x, threads, SIGHTLINE_DISPATCH(gelu_tanh_values)); }
void silu(std::span<float> x, int threads) { map_blocks(x, threads, SIGHTLINE_DISPATCH(silu_values)); }
void relu(std::span<float> x, int threads) { map_blocks(x, threads, SIGHTLINE_DISPATCH(relu_values)); }
void tanh(std::span<float> x, int threads) { map_blocks(x, threads, SIGHTLINE_DISPATCH(tanh_values)); }

void softcap(std::span<float> x, float cap, int threads) {
  const auto values = SIGHTLINE_DISPATCH(softcap_values);
  for_blocks(x.size(), threads, [&](std::size_t begin, std::size_t count) { values(x.data() + begin, count, cap); });
}

void scale(std::span<float> x, float factor, int threads) {
  const auto values = SIGHTLINE_DISPATCH(scale_values);
  for_blocks(x.size(), threads, [&](std::size_t begin, std::size_t count) { values(x.data() + begin, count, factor); });
}

void add(std::span<float> x, std::span<const float> y, int threads) {
  const auto values = SIGHTLINE_DISPATCH(add_values);
  for_blocks(x.size(), threads,
             [&](std::size_t begin, std::size_t count) { values(x.data() + begin, y.data() + begin, count); });
}

void gelu_gate(const GatedRows& in, float* y, int threads) { gate_rows(in, y, threads, SIGHTLINE_DISPATCH(gelu_row)); }
void gelu_tanh_gate(const GatedRows& in, float* y, int threads) {
  gate_rows(in, y, threads, SIGHTLINE_DISPATCH(gelu_tanh_row));
}
void silu_gate(const GatedRows& in, float* y, int threads) { gate_rows(in, y, threads, SIGHTLINE_DISPATCH(silu_row)); }
void relu_gate(const GatedRows& in, float* y, int threads) { gate_rows(in, y, threads, SIGHTLINE_DISPATCH(relu_row)); }

void swiglu_gate(const GatedRows& in, float limit, float alpha, float* y, int threads) {
  const auto row = SIGHTLINE_DISPATCH(swiglu_row);
  for_gated_rows(in, y, threads, [&](const float* gate, const float* up, float* to) {
    row(gate, up, in.step, in.width, to, limit, alpha);
  });
}

}  // namespace ops
}  // namespace sightline
#endif  // HWY_ONCE
