#include "src/ops/elementwise.h"

#include <algorithm>

#include "src/cpu/dispatch.h"
#include "src/cpu/parallel.h"
#include "src/cpu/target.h"

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

void gelu_values(float* x, std::size_t count) {
  map_values(x, count, [](F v) SIGHTLINE_LAMBDA { return gelu(v); });
}
void gelu_tanh_values(float* x, std::size_t count) {
  map_values(x, count, [](F v) SIGHTLINE_LAMBDA { return gelu_tanh(v); });
}
void relu_values(float* x, std::size_t count) {
  map_values(x, count,
             [](F v) SIGHTLINE_LAMBDA { return hn::IfThenElse(hn::Lt(v, hn::Zero(kF32)), hn::Zero(kF32), v); });
}
void tanh_values(float* x, std::size_t count) {
  map_values(x, count, [](F v) SIGHTLINE_LAMBDA { return tanh(v); });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace sightline
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sightline {
HWY_EXPORT(gelu_values);
HWY_EXPORT(gelu_tanh_values);
HWY_EXPORT(relu_values);
HWY_EXPORT(tanh_values);

namespace ops {
namespace {

constexpr std::size_t kBlock = 8192;  // values of a task: some 10 us, and 32 KiB of first-level cache

template <class Body>
void for_blocks(std::size_t count, int threads, Body body) {
  cpu::parallel_for((count + kBlock - 1) / kBlock, threads, [&](std::int64_t task) {
    const std::size_t begin = task * kBlock;
    body(begin, std::min(kBlock, count - begin));
  });
}

void map_blocks(std::span<float> x, int threads, void (*values)(float*, std::size_t)) {
  for_blocks(x.size(), threads, [&](std::size_t begin, std::size_t count) { values(x.data() + begin, count); });
}

}  // namespace

void gelu(std::span<float> x, int threads) {
  cpu::ensure_target();
  map_blocks(x, threads, SIGHTLINE_DISPATCH(gelu_values));
}

void gelu_tanh(std::span<float> x, int threads) {
  cpu::ensure_target();
  map_blocks(x, threads, SIGHTLINE_DISPATCH(gelu_tanh_values));
}

void relu(std::span<float> x, int threads) {
  cpu::ensure_target();
  map_blocks(x, threads, SIGHTLINE_DISPATCH(relu_values));
}

void tanh(std::span<float> x, int threads) {
  cpu::ensure_target();
  map_blocks(x, threads, SIGHTLINE_DISPATCH(tanh_values));
}

void add(std::span<float> x, std::span<const float> y, int threads) {
  for_blocks(x.size(), threads, [&](std::size_t begin, std::size_t count) {
    for (std::size_t i = begin; i < begin + count; ++i) x[i] += y[i];
  });
}

}  // namespace ops
}  // namespace sightline
#endif  // HWY_ONCE
