#ifndef SIGHTLINE_ATTENTION_HEAD_SIGHT_H_
#define SIGHTLINE_ATTENTION_HEAD_SIGHT_H_

#include <cstdint>
#include <span>

#include "src/attention/head_problem.h"
#include "src/observe/segment_parts.h"

namespace sightline {

/// Where one head's results go: the arrays of Observations, moved to the head's first row. Null = not asked for.
struct HeadSight {
  Matrix<float> out;  // [rows, value width]
  float* row_max = nullptr;
  float* row_sum = nullptr;
  float* lse = nullptr;
  float* entropy = nullptr;
  float* position = nullptr;
  float* distance = nullptr;

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

  std::int64_t overview_rows = 0, overview_cols = 0;  // 0: not asked for
  const SegmentParts* bin_parts = nullptr;            // the column bins
  float* overview = nullptr;
};

}  // namespace sightline

#endif  // SIGHTLINE_ATTENTION_HEAD_SIGHT_H_
