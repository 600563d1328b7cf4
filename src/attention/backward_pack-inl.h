// Operands of the backward pass, packed: blocks of keys and tiles of rows as fp32 in rows, and tiles with rows in
// lanes.

#if defined(SIGHTLINE_ATTENTION_BACKWARD_PACK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SIGHTLINE_ATTENTION_BACKWARD_PACK_INL_H_
#undef SIGHTLINE_ATTENTION_BACKWARD_PACK_INL_H_
#else
#define SIGHTLINE_ATTENTION_BACKWARD_PACK_INL_H_
#endif

#include <algorithm>

#include "src/attention/mix-inl.h"
#include "src/attention/rows-inl.h"
#include "src/attention/transpose-inl.h"
#include "src/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sightline {
namespace HWY_NAMESPACE {

// Rows [first, first + count) as fp32, [count, stride]; columns from `width` to `stride` are 0.
inline void widen_rows(const RowSource& source, std::int64_t first, std::int64_t count, std::int64_t width,
                       std::int64_t stride, float* to) {
  for (std::int64_t i = 0; i < count; ++i, to += stride) {
    widen(source, first + i, width, to);
    std::fill(to + width, to + stride, 0.0f);
  }
}

// Whether all `count` numbers are finite.
inline bool all_finite(const float* numbers, std::int64_t count) { return all_finite(&numbers, count, 0, 1); }

// rows: [lanes, stride] to [width, lanes].
inline void rows_to_lanes(const float* rows, std::int64_t stride, std::int64_t width, int lanes, float* to) {
  for (int lane = 0; lane < lanes; lane += kTurned) {
    const float* of_lane[kTurned];
    for (int i = 0; i < kTurned; ++i) of_lane[i] = rows + (lane + i) * stride;
    turn_rows(of_lane, width, lanes, to + lane);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace sightline
HWY_AFTER_NAMESPACE();

#endif  // SIGHTLINE_ATTENTION_BACKWARD_PACK_INL_H_
