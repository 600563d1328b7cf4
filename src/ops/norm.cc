#include "src/ops/norm.h"

#include <cmath>

#include "src/cpu/dispatch.h"
#include "src/cpu/parallel.h"
#include "src/cpu/target.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/ops/norm.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, as Highway asks.
#include "src/ops/fold-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sightline {
namespace HWY_NAMESPACE {
namespace {

// Sum over i of term(x[i]), each added to chain i mod 16 by accumulate(chain, x[i]), vectors first and the rest one
// lane at a time.
template <class Accumulate>
HWY_INLINE float sum_row(const float* HWY_RESTRICT x, std::int64_t width, Accumulate accumulate) {
  F part[kParts];
  for (F& p : part) p = hn::Zero(kF32);
  const std::int64_t whole = width / kChains * kChains;
  for (std::int64_t i = 0; i < whole; i += kChains) {
    for (std::size_t k = 0; k < kParts; ++k) part[k] = accumulate(part[k], load(x + i + k * kLanes));
  }
  alignas(64) float chains[kChains];
  for (std::size_t k = 0; k < kParts; ++k) store(part[k], chains + k * kLanes);
  for (std::int64_t i = whole; i < width; ++i) {
    float& chain = chains[i - whole];
    chain = hn::GetLane(accumulate(splat(chain), splat(x[i])));
  }
  return fold_one(chains);
}

HWY_INLINE F normalised(F x, F mean, F rstd, F scale, F shift) {
  return fma(hn::Mul(hn::Sub(x, mean), rstd), scale, shift);
}

void layer_norm_row(const ops::LayerNorm& norm, const float* x, float* y) {
  const std::int64_t width = norm.width;
  const float count = static_cast<float>(width);
  const float mean = sum_row(x, width, [](F sum, F value) SIGHTLINE_LAMBDA { return hn::Add(sum, value); }) / count;
  const float variance = sum_row(x, width,
                                 [mean](F sum, F value) SIGHTLINE_LAMBDA {
                                   const F distance = hn::Sub(value, splat(mean));
                                   return fma(distance, distance, sum);
                                 }) /
                         count;
  const float rstd = 1.0f / std::sqrt(variance + norm.epsilon);
  std::int64_t i = 0;
  const F means = splat(mean), rstds = splat(rstd);
  for (; i + static_cast<std::int64_t>(kLanes) <= width; i += kLanes) {
    store(normalised(load(x + i), means, rstds, load(norm.scale + i), load(norm.shift + i)), y + i);
  }
  for (; i < width; ++i) {
    y[i] = hn::GetLane(normalised(splat(x[i]), means, rstds, splat(norm.scale[i]), splat(norm.shift[i])));
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace sightline
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sightline {
HWY_EXPORT(layer_norm_row);

void ops::layer_norm(const LayerNorm& norm, const float* x, std::int64_t rows, float* y, int threads) {
  cpu::ensure_target();
  const auto normalise = SIGHTLINE_DISPATCH(layer_norm_row);
  constexpr std::int64_t kRows = 32;  // of a task: enough work for a hand-over to cost nothing
  cpu::parallel_for((rows + kRows - 1) / kRows, threads, [&](std::int64_t task) {
    for (std::int64_t r = task * kRows; r < std::min((task + 1) * kRows, rows); ++r) {
      normalise(norm, x + r * norm.width, y + r * norm.width);
    }
  });
}

}  // namespace sightline
#endif  // HWY_ONCE
