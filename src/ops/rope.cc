#include "src/ops/rope.h"

#include <cmath>

#include "src/cpu/dispatch.h"
#include "src/cpu/target.h"
#include "src/ops/row_tasks.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/ops/rope.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, as Highway asks.
#include "src/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sightline {
namespace HWY_NAMESPACE {
namespace {

HWY_INLINE void turn(F& a, F& b, F cos, F sin) {
  const F turned = fma(a, sin, hn::Mul(b, cos));
  a = fma(a, cos, hn::Neg(hn::Mul(b, sin)));
  b = turned;
}

HWY_INLINE void turn_pair(float& a, float& b, float cos, float sin) {
  F first = splat(a), second = splat(b);
  turn(first, second, splat(cos), splat(sin));
  a = hn::GetLane(first);
  b = hn::GetLane(second);
}

// x: one head; pairs (i, i + pairs).
void turn_halves(float* x, const float* HWY_RESTRICT cos, const float* HWY_RESTRICT sin, std::int64_t pairs) {
  std::int64_t i = 0;
  for (; i + static_cast<std::int64_t>(kLanes) <= pairs; i += kLanes) {
    F a = load(x + i), b = load(x + pairs + i);
    turn(a, b, load(cos + i), load(sin + i));
    store(a, x + i);
    store(b, x + pairs + i);
  }
  for (; i < pairs; ++i) turn_pair(x[i], x[pairs + i], cos[i], sin[i]);
}

// Pairs (2 i, 2 i + 1).
void turn_adjacent(float* x, const float* HWY_RESTRICT cos, const float* HWY_RESTRICT sin, std::int64_t pairs) {
  std::int64_t i = 0;
  for (; i + static_cast<std::int64_t>(kLanes) <= pairs; i += kLanes) {
    F a, b;
    hn::LoadInterleaved2(kF32, x + 2 * i, a, b);
    turn(a, b, load(cos + i), load(sin + i));
    hn::StoreInterleaved2(a, b, kF32, x + 2 * i);
  }
  for (; i < pairs; ++i) turn_pair(x[2 * i], x[2 * i + 1], cos[i], sin[i]);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace sightline
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sightline {
HWY_EXPORT(turn_halves);
HWY_EXPORT(turn_adjacent);

namespace ops {
namespace {

// Of a task: some 10 us each, at about 30 ns for a cosine and its sine and 1 ns for a turned pair.
constexpr std::int64_t kTaskAngles = 512;
constexpr std::int64_t kTaskPairs = 8192;

}  // namespace

void append_positions(std::span<const double> frequencies, double factor, std::int64_t begin, std::int64_t count,
                      RopeTable& table, int threads) {
  const std::int64_t pairs = static_cast<std::int64_t>(frequencies.size());
  table.pairs = pairs;
  const std::size_t before = table.cos.size();
  table.cos.resize(before + count * pairs);
  table.sin.resize(before + count * pairs);
  for_each_row(count, pairs, kTaskAngles, threads, [&](std::int64_t row) {
    float *cos = table.cos.data() + before + row * pairs, *sin = table.sin.data() + before + row * pairs;
    for (std::int64_t i = 0; i < pairs; ++i) {
      const double angle = static_cast<double>(begin + row) * frequencies[i];
      cos[i] = static_cast<float>(std::cos(angle) * factor);
      sin[i] = static_cast<float>(std::sin(angle) * factor);
    }
  });
}

void rotate(const RopeTable& table, bool adjacent, const HeadRows& heads, int threads) {
  cpu::ensure_target();
  const auto turn = adjacent ? SIGHTLINE_DISPATCH(turn_adjacent) : SIGHTLINE_DISPATCH(turn_halves);
  const std::int64_t pairs = table.pairs;
  for_each_row(heads.rows, pairs * heads.heads, kTaskPairs, threads, [&](std::int64_t r) {
    const float *cos = table.cos.data() + r * pairs, *sin = table.sin.data() + r * pairs;
    for (std::int64_t h = 0; h < heads.heads; ++h) turn(heads.at(r, h), cos, sin, pairs);
  });
}

}  // namespace ops
}  // namespace sightline
#endif  // HWY_ONCE
