#ifndef SIGHTLINE_ATTENTION_BACKWARD_BIASES_H_
#define SIGHTLINE_ATTENTION_BACKWARD_BIASES_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "src/attention/head_problem.h"
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

/// The bucket of each distance = query position - key position; beyond the largest they stay the same.
class DistanceBuckets {
 public:
  explicit DistanceBuckets(const RelativeBias& bias);

  std::int32_t of(std::int64_t distance) const {
    return buckets_[static_cast<std::size_t>(std::clamp(distance, -farthest_, farthest_) + farthest_)];
  }
  std::int64_t count() const { return count_; }

 private:
  std::int64_t farthest_, count_;
  std::vector<std::int32_t> buckets_;  // of distances -farthest to farthest
};

/// What one head's tiles add to the gradients that all its pairs share.
struct BiasSums {
  double slope = 0;             // of ALiBi
  std::vector<double> buckets;  // of the relative bias

  void add(const BiasSums& other);
};

/// A block of dL/d(score) of one tile, [kBlockKeys, lanes]. Sums over its pairs run in fp64, keys ascending and in each
/// the rows; what they add to is fp32 where the caller's array is.
class ScoreSlopes {
 public:
  ScoreSlopes(const HeadProblem& head, const TileRows& tile, const TileBlock& block, const float* slopes)
      : head_(head), tile_(tile), block_(block), slopes_(slopes) {}

  void add_to_bias(const Matrix<float>& dbias) const;
  void add_to_slope(double& sum) const;
  void add_to_buckets(const DistanceBuckets& buckets, std::vector<double>& sums) const;

 private:
  const float* of_slot(int slot) const { return slopes_ + static_cast<std::ptrdiff_t>(slot) * tile_.lanes; }
  void add_pairs(const Matrix<float>& dbias) const;
  void add_keys(const Matrix<float>& dbias) const;
  void add_rows(const Matrix<float>& dbias) const;
  void add_diagonals(const DistanceBuckets& buckets, std::vector<double>& sums) const;

  const HeadProblem& head_;
  const TileRows& tile_;
  const TileBlock& block_;
  const float* slopes_;
};

}  // namespace sightline

#endif  // SIGHTLINE_ATTENTION_BACKWARD_BIASES_H_
