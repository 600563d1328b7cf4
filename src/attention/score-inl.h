// Scores of a block: S^T = K Q^T with rows in lanes, one fma chain over the width for each score.

#if defined(SIGHTLINE_ATTENTION_SCORE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SIGHTLINE_ATTENTION_SCORE_INL_H_
#undef SIGHTLINE_ATTENTION_SCORE_INL_H_
#else
#define SIGHTLINE_ATTENTION_SCORE_INL_H_
#endif

#include <type_traits>

#include "hwy/cache_control.h"
#include "src/cpu/simd-inl.h"
#include "src/observe/tile_block.h"

HWY_BEFORE_NAMESPACE();
namespace sightline {
namespace HWY_NAMESPACE {

// Register block of scores and of the mix: kBlockRows broadcasts against kVectors vectors of rows. With 32 registers 8
// x 3 (24 accumulators, 3 of queries, 1 broadcast) reaches 86 to 95 % of the FMA peak in the inner loop, 6 x 4 at most
// 87 %; with 16 registers 4 x 3 fills them exactly.
inline constexpr int kBlockRows = kVectorRegisters == 32 ? 8 : 4;

// Vectors a register block has for a tile of so many lanes; the tile is covered by lanes / (kVectors * kLanes) of them.
template <class Body>
HWY_INLINE void with_vectors(int lanes, Body body) {
  if (lanes == 48) return body(std::integral_constant<int, 3>());
  if (lanes == 32 || kLanes < 16) return body(std::integral_constant<int, 2>());
  body(std::integral_constant<int, 1>());
}

// Nothing to do beside the scores.
struct NothingBeside {
  HWY_INLINE void step() const {}
};
inline constexpr NothingBeside kNothingBeside;

// keys: kBlockRows row pointers (and as many after them, fetched ahead). queries: [width, lanes]. scores: [kBlockRows,
// lanes]. beside.step() is called kBlockRows times between the multiply-adds, which leave room for what waits for
// memory.
template <int kVectors, class Beside>
HWY_INLINE void score_rows(const float* const* HWY_RESTRICT keys, const float* HWY_RESTRICT queries, std::int64_t width,
                           int lanes, F scale, float* HWY_RESTRICT scores, F* HWY_RESTRICT maxima, Beside& beside) {
  F sum[kBlockRows][kVectors];
  for (auto& row : sum) {
    for (F& value : row) value = hn::Zero(kF32);
  }
  const auto multiply = [&](std::int64_t begin, std::int64_t end) SIGHTLINE_LAMBDA {
    for (std::int64_t t = begin; t < end; ++t) {
      F query[kVectors];
      for (int v = 0; v < kVectors; ++v) query[v] = load(queries + t * lanes + v * kLanes);
      for (int i = 0; i < kBlockRows; ++i) {
        if (t % 16 == 0) hwy::Prefetch(keys[i + kBlockRows] + t);
        const F key = splat(keys[i][t]);
        for (int v = 0; v < kVectors; ++v) sum[i][v] = fma(key, query[v], sum[i][v]);
      }
    }
  };
  if constexpr (std::is_same_v<Beside, const NothingBeside>) {
    multiply(0, width);
  } else {
    for (int i = 0; i < kBlockRows; ++i) {
      beside.step();
      multiply(i * width / kBlockRows, (i + 1) * width / kBlockRows);
    }
  }
  for (int i = 0; i < kBlockRows; ++i) {
    for (int v = 0; v < kVectors; ++v) {
      const F score = hn::Mul(sum[i][v], scale);
      maxima[v] = max_or_second(score, maxima[v]);
      store(score, scores + static_cast<std::ptrdiff_t>(i) * lanes + v * kLanes);
    }
  }
}

// Scores of slots [begin, end) of a block, rounded out to multiples of kBlockRows, and the largest of those, [lanes].
// The row pointers of slots that hold no key point to zeros.
template <int kVectors, class Beside = const NothingBeside>
void score_block(const float* const* keys, const float* queries, std::int64_t width, int lanes, float scale, int begin,
                 int end, float* scores, float* block_max, Beside& beside = kNothingBeside) {
  begin = begin / kBlockRows * kBlockRows;
  for (int lane = 0; lane < lanes; lane += kVectors * static_cast<int>(kLanes)) {
    F maxima[kVectors];
    for (F& maximum : maxima) maximum = splat(-__builtin_inff());
    for (int slot = begin; slot < end; slot += kBlockRows) {
      score_rows<kVectors>(keys + slot, queries + lane, width, lanes, splat(scale),
                           scores + static_cast<std::ptrdiff_t>(slot) * lanes + lane, maxima, beside);
    }
    for (int v = 0; v < kVectors; ++v) store(maxima[v], block_max + lane + v * kLanes);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace sightline
HWY_AFTER_NAMESPACE();

#endif  // SIGHTLINE_ATTENTION_SCORE_INL_H_
