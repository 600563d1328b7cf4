#include "src/attention/backward_biases.h"

#include <cmath>

#include "hwy/cache_control.h"

namespace sightline {

DistanceBuckets::DistanceBuckets(const RelativeBias& bias) : farthest_(bias.max_distance), count_(bias.buckets) {
  buckets_.reserve(static_cast<std::size_t>(2 * farthest_ + 1));
  for (std::int64_t distance = -farthest_; distance <= farthest_; ++distance) {
    buckets_.push_back(static_cast<std::int32_t>(relative_bucket(bias, -distance)));
  }
}

void BiasSums::add(const BiasSums& other) {
  slope += other.slope;
  buckets.resize(std::max(buckets.size(), other.buckets.size()));  // a group without keys has none
  for (std::size_t i = 0; i < other.buckets.size(); ++i) buckets[i] += other.buckets[i];
}

void ScoreSlopes::add_to_bias(const Matrix<float>& dbias) const {
  if (dbias.column_stride == 0) return add_rows(dbias);
  if (dbias.row_stride == 0) return add_keys(dbias);
  add_pairs(dbias);
}

void ScoreSlopes::add_pairs(const Matrix<float>& dbias) const {
  constexpr int kLine = 16;  // elements of a cache line
  const std::int64_t next = block_.first_key + kBlockKeys;
  for (int lane = 0; lane < tile_.live_end; ++lane) {
    // A row's next block comes after the other rows' of this one, too late for the machine to guess.
    for (std::int64_t key = next; key < std::min(next + kBlockKeys, head_.keys); key += kLine) {
      hwy::Prefetch(&dbias.at(tile_.row(lane), key));
    }
    float* to = &dbias.at(tile_.row(lane), block_.first_key + block_.begin);
    for (int slot = block_.begin; slot < block_.end; ++slot, to += dbias.column_stride) *to += of_slot(slot)[lane];
  }
}

void ScoreSlopes::add_keys(const Matrix<float>& dbias) const {
  for (int slot = block_.begin; slot < block_.end; ++slot) {
    double sum = 0;
    for (int lane = 0; lane < tile_.live_end; ++lane) sum += of_slot(slot)[lane];
    dbias.at(0, block_.first_key + slot) += static_cast<float>(sum);
  }
}

void ScoreSlopes::add_rows(const Matrix<float>& dbias) const {
  double sums[kTileRows] = {};
  for (int slot = block_.begin; slot < block_.end; ++slot) {
    for (int lane = 0; lane < tile_.live_end; ++lane) sums[lane] += of_slot(slot)[lane];
  }
  for (int lane = 0; lane < tile_.live_end; ++lane) dbias.at(tile_.row(lane), 0) += static_cast<float>(sums[lane]);
}

void ScoreSlopes::add_to_slope(double& sum) const {
  double position[kTileRows];
  for (int lane = 0; lane < tile_.live_end; ++lane) {
    position[lane] = static_cast<double>(head_.row_position(tile_.row(lane)));
  }
  for (int slot = block_.begin; slot < block_.end; ++slot) {
    const auto key = static_cast<double>(head_.position_of_key(block_.first_key + slot));
    double of_key = 0;
    for (int lane = 0; lane < tile_.live_end; ++lane) of_key += of_slot(slot)[lane] * std::abs(position[lane] - key);
    sum -= of_key;
  }
}

void ScoreSlopes::add_to_buckets(const DistanceBuckets& buckets, std::vector<double>& sums) const {
  if (head_.tree == nullptr) return add_diagonals(buckets, sums);
  for (int slot = block_.begin; slot < block_.end; ++slot) {
    const std::int64_t key = head_.position_of_key(block_.first_key + slot);
    for (int lane = 0; lane < tile_.live_end; ++lane) {
      sums[buckets.of(head_.row_position(tile_.row(lane)) - key)] += of_slot(slot)[lane];
    }
  }
}

// Pairs of one distance lie on a diagonal: summed first, so that the loop over pairs has no look-up.
void ScoreSlopes::add_diagonals(const DistanceBuckets& buckets, std::vector<double>& sums) const {
  constexpr int kLast = kBlockKeys - 1;
  double diagonals[kTileRows + kLast] = {};  // of lane - slot + kLast
  for (int slot = block_.begin; slot < block_.end; ++slot) {
    double* to = diagonals + kLast - slot;
    for (int lane = 0; lane < tile_.live_end; ++lane) to[lane] += of_slot(slot)[lane];
  }
  const std::int64_t first = head_.row_position(tile_.first) - block_.position - kLast;
  const int begin = kBlockKeys - block_.end, end = tile_.live_end + kLast - block_.begin;
  for (int i = begin; i < end; ++i) sums[buckets.of(first + i)] += diagonals[i];
}

}  // namespace sightline
