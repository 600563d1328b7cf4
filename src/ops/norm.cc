#include "src/ops/norm.h"

#include <cmath>

#include "src/cpu/dispatch.h"
#include "src/cpu/target.h"
#include "src/ops/row_tasks.h"

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

// What a row is normalised by: (x - mean) * rstd.
struct RowScale {
  float mean, rstd;
};

HWY_INLINE float mean_square(const float* HWY_RESTRICT x, std::int64_t width, float mean) {
  const auto accumulate = [mean](F sum, F value) SIGHTLINE_LAMBDA {
    const F distance = hn::Sub(value, splat(mean));
    return fma(distance, distance, sum);
  };
  return sum_row(x, width, accumulate) / static_cast<float>(width);
}

// An RMSNorm subtracts a mean of 0, which changes no bit.
HWY_INLINE RowScale row_scale(const ops::Norm& norm, const float* HWY_RESTRICT x) {
  const auto add = [](F sum, F value) SIGHTLINE_LAMBDA { return hn::Add(sum, value); };
  const float mean = norm.centred ? sum_row(x, norm.width, add) / static_cast<float>(norm.width) : 0.0f;
  return {mean, 1.0f / std::sqrt(mean_square(x, norm.width, mean) + norm.epsilon)};
}

HWY_INLINE F normalised(F x, const RowScale& row, F scale, F shift) {
  return fma(hn::Mul(hn::Sub(x, splat(row.mean)), splat(row.rstd)), scale, shift);
}

// y may be x.
void normalise_row(const ops::Norm& norm, const float* x, float* y) {
  const RowScale row = row_scale(norm, x);
  const bool shifted = norm.shift != nullptr;
  std::int64_t i = 0;
  for (; i + static_cast<std::int64_t>(kLanes) <= norm.width; i += kLanes) {
    const F shift = shifted ? load(norm.shift + i) : hn::Zero(kF32);
    store(normalised(load(x + i), row, load(norm.scale + i), shift), y + i);
  }
  for (; i < norm.width; ++i) {
    const F shift = splat(shifted ? norm.shift[i] : 0.0f);
    y[i] = hn::GetLane(normalised(splat(x[i]), row, splat(norm.scale[i]), shift));
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace sightline
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sightline {
HWY_EXPORT(normalise_row);

namespace ops {
namespace {

constexpr std::int64_t kTaskValues = 16384;  // some 10 us of work

}  // namespace

void normalise(const Norm& norm, const float* x, std::int64_t rows, float* y, int threads) {
  cpu::ensure_target();
  const auto row = SIGHTLINE_DISPATCH(normalise_row);
  for_each_row(rows, norm.width, kTaskValues, threads,
               [&](std::int64_t r) { row(norm, x + r * norm.width, y + r * norm.width); });
}

void normalise_heads(const Norm& norm, const HeadRows& heads, int threads) {
  cpu::ensure_target();
  const auto row = SIGHTLINE_DISPATCH(normalise_row);
  for_each_row(heads.rows, heads.heads * norm.width, kTaskValues, threads, [&](std::int64_t r) {
    for (std::int64_t h = 0; h < heads.heads; ++h) row(norm, heads.at(r, h), heads.at(r, h));
  });
}

}  // namespace ops
}  // namespace sightline
#endif  // HWY_ONCE
