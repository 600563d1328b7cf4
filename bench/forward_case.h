#ifndef SIGHTLINE_BENCH_FORWARD_CASE_H_
#define SIGHTLINE_BENCH_FORWARD_CASE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "sightline/attention.h"
#include "src/attention/reference.h"

namespace sightline::bench {

struct Shape {
  std::int64_t batch, query_heads, kv_heads, queries, keys, width, value_width;
  bool causal;

  std::string name() const;
  /// Operations of a forward pass: 2 (D + Dv) for each visible pair, positions aligned bottom right.
  double operations() const;
};

/// basic: lse, row max, entropy, position. top: those and the four top keys. all: those and distance, offsets -1, 0, 1,
/// key mass, two segments (first and last key, the rest), an overview of 64 x 64.
enum class Observe { none, basic, top, all };

/// A problem with normally distributed inputs, and room for what it gives.
class ForwardCase {
 public:
  ForwardCase(const Shape& shape, Observe observe);
  ForwardCase(const ForwardCase&) = delete;

  /// One pass, one thread.
  void run();

  /// Compares what the last pass gave, in three bands of rows, with the fp64 reference. Returns what differs; empty:
  /// nothing.
  std::string verify() const;

 private:
  std::int64_t rows() const { return shape_.batch * shape_.query_heads * shape_.queries; }
  void ask_basic();
  void ask_top();
  void ask_rest();
  std::string verify_band(std::int64_t row_begin, std::int64_t row_end) const;
  // `index` is the row's place in the reference's result.
  std::string verify_row(std::int64_t row, std::int64_t index, const reference::Result& expected) const;

  Shape shape_;
  Observe observe_;
  std::vector<float> q_, k_, v_, out_, row_values_, top_weight_, offset_mass_, key_mass_, segment_mass_, overview_;
  std::vector<std::int32_t> top_index_, segment_of_key_;
  AttentionProblem problem_;
  MutableTensorView out_view_;
  Observations see_;
};

}  // namespace sightline::bench

#endif  // SIGHTLINE_BENCH_FORWARD_CASE_H_
