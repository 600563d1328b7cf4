#ifndef SIGHTLINE_ANALYSIS_MAP_TESTING_H_
#define SIGHTLINE_ANALYSIS_MAP_TESTING_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "sightline/attention.h"
#include "src/analysis/normal_numbers.h"

namespace sightline::analysis {

/// Sizes of a problem: query heads, key/value heads, rows, keys.
struct MapShape {
  std::int64_t heads = 1, kv_heads = 1, rows = 1, keys = 1;
};

/// A problem with its numbers.
class TestMap {
 public:
  static constexpr std::int64_t kValueWidth = 3;

  /// Queries, keys and values from N(0, 1), of width `width`.
  TestMap(const MapShape& shape, std::int64_t width, std::uint64_t seed)
      : q_(static_cast<std::size_t>(shape.heads * shape.rows * width)),
        k_(static_cast<std::size_t>(shape.kv_heads * shape.keys * width)),
        v_(static_cast<std::size_t>(shape.kv_heads * shape.keys * kValueWidth)),
        shape_(shape) {
    NormalNumbers draw(seed);
    for (auto* values : {&q_, &k_, &v_}) draw.fill(std::span(*values));
    problem.q = view(q_, shape.heads, shape.rows, width);
    problem.k = view(k_, shape.kv_heads, shape.keys, width);
    problem.v = view(v_, shape.kv_heads, shape.keys, kValueWidth);
  }
  TestMap(const TestMap&) = delete;
  TestMap& operator=(const TestMap&) = delete;

  /// Each row looks at the key that `target` names, and at no other; below 0: evenly at all that it sees.
  static TestMap planted(std::int64_t heads, std::int64_t count,
                         const std::function<std::int64_t(std::int64_t head, std::int64_t row)>& target) {
    return {heads, count, target};
  }

  float& value(std::int64_t head, std::int64_t key, std::int64_t column) {
    return v_[static_cast<std::size_t>((head * shape_.keys + key) * kValueWidth + column)];
  }

  AttentionProblem problem;

 private:
  TestMap(std::int64_t heads, std::int64_t count,
          const std::function<std::int64_t(std::int64_t head, std::int64_t row)>& target)
      : TestMap({heads, heads, count, count}, count, 1) {
    problem.scale = 1.0f;
    for (float& element : q_) element = 0;
    for (float& element : k_) element = 0;
    for (std::int64_t head = 0; head < heads; ++head) {
      for (std::int64_t i = 0; i < count; ++i) {
        k_[static_cast<std::size_t>((head * count + i) * count + i)] = 1;
        const std::int64_t key = target(head, i);
        if (key >= 0) q_[static_cast<std::size_t>((head * count + i) * count + key)] = kCertain;
      }
    }
  }

  static constexpr float kCertain = 200;  // the other weights are exp(-200), 0 in fp32

  static TensorView view(const std::vector<float>& values, std::int64_t heads, std::int64_t rows, std::int64_t width) {
    return dense_view(values.data(), {1, heads, rows, width});
  }

  std::vector<float> q_, k_, v_;
  MapShape shape_;
};

}  // namespace sightline::analysis

#endif  // SIGHTLINE_ANALYSIS_MAP_TESTING_H_
