#ifndef SIGHTLINE_ATTENTION_HEAD_PROBLEM_H_
#define SIGHTLINE_ATTENTION_HEAD_PROBLEM_H_

#include <algorithm>
#include <cstdint>

#include "src/attention/geometry.h"
#include "src/observe/tile_block.h"

namespace sightline {

/// A strided matrix; strides in elements.
template <class T>
struct Matrix {
  T* data = nullptr;
  std::int64_t row_stride = 0, column_stride = 0;

  T& at(std::int64_t row, std::int64_t column) const { return data[row * row_stride + column * column_stride]; }
  explicit operator bool() const { return data != nullptr; }
};

/// Keys [begin, end) of the tensor.
struct KeyInterval {
  std::int64_t begin = 0, end = 0;
};

/// Blocks of kBlockKeys positions, numbered from position 0.
struct BlockRange {
  std::int64_t begin = 0, end = 0;
  std::int64_t count() const { return end - begin; }
};

/// One query head of one sequence: everything that a tile of its rows reads.
struct HeadProblem {
  Matrix<const float> q;  // [rows, width]
  Matrix<const float> k;  // [keys, width]
  Matrix<const float> v;  // [keys, value_width]
  std::int64_t rows = 0, keys = 0, width = 0, value_width = 0;
  float scale = 0;
  bool causal = false;
  std::int64_t key_position = 0, query_position = 0;
  Matrix<const std::uint8_t> mask;  // [rows, keys] or null; strides 0 where broadcast
  Matrix<const float> bias;         // as mask

  /// Keys that the row's position lets it see; mask and bias may hide more.
  KeyInterval interval(std::int64_t row) const {
    if (!causal) return {0, keys};
    return {0, std::clamp<std::int64_t>(query_position + row - key_position + 1, 0, keys)};
  }
  /// The blocks that hold keys, or some of them.
  BlockRange blocks() const { return blocks({0, keys}); }
  BlockRange blocks(KeyInterval of) const {
    if (of.begin >= of.end) return {};
    return {(key_position + of.begin) / kBlockKeys, (key_position + of.end - 1) / kBlockKeys + 1};
  }
  bool additive() const { return mask || bias; }
  bool visible(std::int64_t row, std::int64_t key) const;
};

HeadProblem head_problem(const AttentionProblem& problem, const Geometry& geometry, std::int64_t batch,
                         std::int64_t head);

}  // namespace sightline

#endif  // SIGHTLINE_ATTENTION_HEAD_PROBLEM_H_
