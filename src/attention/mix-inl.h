// The mix of a block: O^T = O^T * rescale + V^T P^T with rows in lanes, one fma chain over the block's keys for each
// output.

#if defined(SIGHTLINE_ATTENTION_MIX_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SIGHTLINE_ATTENTION_MIX_INL_H_
#undef SIGHTLINE_ATTENTION_MIX_INL_H_
#else
#define SIGHTLINE_ATTENTION_MIX_INL_H_
#endif

#include "src/attention/score-inl.h"
#include "src/cpu/simd-inl.h"
#include "src/observe/tile_block.h"

HWY_BEFORE_NAMESPACE();
namespace sightline {
namespace HWY_NAMESPACE {

// Columns [column, column + kColumns) of V for slots [begin, end). weights: [kBlockKeys, lanes]; out: [value width,
// lanes].
template <int kColumns, int kVectors>
HWY_INLINE void mix_columns(const float* const* HWY_RESTRICT values, std::int64_t column, int begin, int end,
                            const float* HWY_RESTRICT weights, const float* HWY_RESTRICT rescale, int lanes,
                            float* HWY_RESTRICT out) {
  F sum[kColumns][kVectors];
  for (auto& row : sum) {
    for (F& value : row) value = hn::Zero(kF32);
  }
  for (int slot = begin; slot < end; ++slot) {
    const float* row = values[slot] + column;
    hwy::Prefetch(row + 16);
    F weight[kVectors];
    for (int v = 0; v < kVectors; ++v)
      weight[v] = load(weights + static_cast<std::ptrdiff_t>(slot) * lanes + v * kLanes);
    for (int i = 0; i < kColumns; ++i) {
      const F value = splat(row[i]);
      for (int v = 0; v < kVectors; ++v) sum[i][v] = fma(value, weight[v], sum[i][v]);
    }
  }
  for (int i = 0; i < kColumns; ++i) {
    for (int v = 0; v < kVectors; ++v) {
      float* at = out + (column + i) * lanes + v * kLanes;
      store(fma(load(at), load(rescale + v * kLanes), sum[i][v]), at);
    }
  }
}

// All columns from `column` on, in register blocks of kColumns, the rest in halves of it.
template <int kColumns, int kVectors>
HWY_INLINE void mix_from(std::int64_t column, std::int64_t columns, const float* const* values, int begin, int end,
                         const float* weights, const float* rescale, int lanes, float* out) {
  for (; column + kColumns <= columns; column += kColumns) {
    mix_columns<kColumns, kVectors>(values, column, begin, end, weights, rescale, lanes, out);
  }
  if constexpr (kColumns > 1) {
    mix_from<kColumns / 2, kVectors>(column, columns, values, begin, end, weights, rescale, lanes, out);
  }
}

// values: row pointers of the block's slots; NaN or Inf in V reaches every row here, hidden or not.
template <int kVectors>
void mix_block(const float* const* values, std::int64_t columns, int begin, int end, const float* weights,
               const float* rescale, int lanes, float* out) {
  for (int lane = 0; lane < lanes; lane += kVectors * static_cast<int>(kLanes)) {
    mix_from<kBlockRows, kVectors>(0, columns, values, begin, end, weights + lane, rescale + lane, lanes, out + lane);
  }
}

// The same sums where V is not finite and some rows do not see all keys: a hidden key performs no operation. shown:
// [kBlockKeys, lanes], 0 where seen.
inline void mix_block_selectively(const float* const* values, std::int64_t columns, int begin, int end,
                                  const float* weights, const float* rescale, int lanes, const float* shown,
                                  float* out) {
  for (std::int64_t column = 0; column < columns; ++column) {
    for (int lane = 0; lane < lanes; lane += static_cast<int>(kLanes)) {
      F sum = hn::Zero(kF32);
      for (int slot = begin; slot < end; ++slot) {
        const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(slot) * lanes + lane;
        const MaskF visible = hn::Eq(load(shown + at), hn::Zero(kF32));
        sum = hn::IfThenElse(visible, fma(splat(values[slot][column]), load(weights + at), sum), sum);
      }
      float* at = out + column * lanes + lane;
      store(fma(load(at), load(rescale + lane), sum), at);
    }
  }
}

// total = total * a + chunk * b, [columns, lanes] and [lanes].
inline void merge_output(float* HWY_RESTRICT total, const float* HWY_RESTRICT chunk, std::int64_t columns, int lanes,
                         const float* HWY_RESTRICT a, const float* HWY_RESTRICT b) {
  for (std::int64_t column = 0; column < columns; ++column) {
    for (int lane = 0; lane < lanes; lane += static_cast<int>(kLanes)) {
      const std::int64_t at = column * lanes + lane;
      store(fma(load(total + at), load(a + lane), hn::Mul(load(chunk + at), load(b + lane))), total + at);
    }
  }
}

// Whether all values of slots [begin, end) are finite.
inline bool all_finite(const float* const* values, std::int64_t columns, int begin, int end) {
  F check = hn::Zero(kF32);
  const auto lanes = static_cast<std::int64_t>(kLanes);
  float tail = 0;
  for (int slot = begin; slot < end; ++slot) {
    std::int64_t column = 0;
    for (; column + lanes <= columns; column += lanes) {
      check = fma(load(values[slot] + column), hn::Zero(kF32), check);
    }
    for (; column < columns; ++column) tail += values[slot][column] * 0.0f;
  }
  return hn::AllTrue(kF32, hn::Eq(check, hn::Zero(kF32))) && tail == 0;
}

}  // namespace HWY_NAMESPACE
}  // namespace sightline
HWY_AFTER_NAMESPACE();

#endif  // SIGHTLINE_ATTENTION_MIX_INL_H_
