#ifndef SIGHTLINE_ATTENTION_HEAD_SIGHT_H_
#define SIGHTLINE_ATTENTION_HEAD_SIGHT_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "src/attention/head_problem.h"
#include "src/observe/bins.h"
#include "src/observe/segment_parts.h"

namespace sightline {

/// The output of the heads of a HeadProblem, [heads, rows, value width]; strides in elements.
struct HeadOutput {
  std::byte* data = nullptr;
  DType dtype = DType::f32;
  std::int64_t head_stride = 0, row_stride = 0, column_stride = 0;

  explicit operator bool() const { return data != nullptr; }
};

/// Where the results of a HeadProblem go: the arrays of Observations, moved to the first head's first row, or key. Null
/// = not asked for.
struct HeadSight {
  std::int64_t row_stride = 0, key_stride = 0;  // from a head to the next in arrays over rows, over keys
  std::int64_t keys = 0;                        // of the sequence, in use or not

  HeadOutput out;
  float* row_max = nullptr;
  float* row_sum = nullptr;
  float* lse = nullptr;
  float* entropy = nullptr;
  float* position = nullptr;
  float* distance = nullptr;
  float* sink_weight = nullptr;
  float* entropy_with_sink = nullptr;

  Measure measure = Measure::weight;

  int top_k = 0;  // 0: not asked for
  std::int32_t* topk_index = nullptr;
  float* topk_weight = nullptr;

  std::span<const std::int64_t> offsets;  // empty: not asked for
  float* offset_mass = nullptr;

  std::int32_t segments = 0;  // 0: not asked for
  const SegmentParts* segment_parts = nullptr;
  float* segment_mass = nullptr;

  float* key_mass = nullptr;
  std::int64_t mass_row_begin = 0, mass_row_end = 0;
  float* mass_sums = nullptr;  // [heads, kChains, mass_sums_keys]
  std::int64_t mass_sums_keys = 0;
  float mass_decay = 1;

  std::int64_t overview_rows = 0, overview_cols = 0;  // 0: not asked for
  std::int64_t overview_step = 0;
  const SegmentParts* bin_parts = nullptr;  // the column bins
  float* overview = nullptr;

  std::int64_t row_index(const TileRows& tile, int lane) const { return tile.head(lane) * row_stride + tile.row(lane); }
  /// The overview's bins of the head's rows.
  Bins row_bins(std::int64_t rows) const { return {rows, overview_rows, overview_step}; }
  bool wants_mass() const { return key_mass != nullptr || mass_sums != nullptr; }
  bool wants_entropy() const { return entropy != nullptr || entropy_with_sink != nullptr; }
  /// Whether values are looked at beyond the mix.
  bool measures_values() const { return measure == Measure::value_weight; }
};

}  // namespace sightline

#endif  // SIGHTLINE_ATTENTION_HEAD_SIGHT_H_
