#include "bench/forward_case.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <random>
#include <sstream>

namespace sightline::bench {
namespace {

constexpr std::int64_t kOffsets[] = {-1, 0, 1};
constexpr int kTopKeys = 4;
constexpr std::int64_t kBins = 64;
constexpr std::int64_t kBandRows = 8;

std::vector<float> normal_values(std::int64_t count, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = normal(engine);
  return values;
}

TensorView input(const std::vector<float>& data, const std::array<std::int64_t, 4>& shape) {
  return dense_view(data.data(), shape);
}

// Differences of a few fp32 roundings pass, wrong terms do not.
bool close(double got, double expected) { return std::abs(got - expected) <= 1e-5 * std::max(1.0, std::abs(expected)); }

// The first of a row's values that differ, in words.
std::string compare(const char* what, std::int64_t row, const float* got, const double* expected, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    if (close(got[i], expected[i])) continue;
    std::ostringstream text;
    text << what << " of row " << row << " is " << got[i] << ", not " << expected[i];
    return text.str();
  }
  return "";
}

}  // namespace

std::string Shape::name() const {
  std::ostringstream text;
  text << 'b' << batch << "_h" << query_heads;
  if (kv_heads != query_heads) text << "kv" << kv_heads;
  text << "_n" << queries;
  if (keys != queries) text << 'x' << keys;
  text << "_d" << width;
  if (value_width != width) text << 'v' << value_width;
  if (causal) text << "_causal";
  return text.str();
}

double Shape::operations() const {
  double pairs = 0;
  for (std::int64_t row = 0; row < queries; ++row) {
    pairs += static_cast<double>(causal ? std::clamp<std::int64_t>(row + keys - queries + 1, 0, keys) : keys);
  }
  return 2.0 * static_cast<double>(batch * query_heads * (width + value_width)) * pairs;
}

ForwardCase::ForwardCase(const Shape& s, Observe observe)
    : shape_(s),
      observe_(observe),
      q_(normal_values(s.batch * s.query_heads * s.queries * s.width, 1)),
      k_(normal_values(s.batch * s.kv_heads * s.keys * s.width, 2)),
      v_(normal_values(s.batch * s.kv_heads * s.keys * s.value_width, 3)),
      out_(static_cast<std::size_t>(rows() * s.value_width)),
      row_values_(static_cast<std::size_t>(5 * rows())) {
  problem_.q = input(q_, {s.batch, s.query_heads, s.queries, s.width});
  problem_.k = input(k_, {s.batch, s.kv_heads, s.keys, s.width});
  problem_.v = input(v_, {s.batch, s.kv_heads, s.keys, s.value_width});
  problem_.causal = s.causal;
  out_view_ = dense_view(out_.data(), {s.batch, s.query_heads, s.queries, s.value_width});
  if (observe >= Observe::basic) ask_basic();
  if (observe >= Observe::top) ask_top();
  if (observe >= Observe::all) ask_rest();
}

void ForwardCase::ask_basic() {
  see_.lse = row_values_.data();
  see_.row_max = see_.lse + rows();
  see_.entropy = see_.row_max + rows();
  see_.position = see_.entropy + rows();
}

void ForwardCase::ask_top() {
  see_.top_k = kTopKeys;
  top_index_.resize(static_cast<std::size_t>(kTopKeys * rows()));
  top_weight_.resize(top_index_.size());
  see_.topk_index = top_index_.data();
  see_.topk_weight = top_weight_.data();
}

void ForwardCase::ask_rest() {
  see_.distance = see_.position + rows();
  see_.offsets = kOffsets;
  offset_mass_.resize(static_cast<std::size_t>(3 * rows()));
  see_.offset_mass = offset_mass_.data();
  key_mass_.resize(static_cast<std::size_t>(shape_.batch * shape_.query_heads * shape_.keys));
  see_.key_mass = key_mass_.data();
  segment_of_key_.assign(static_cast<std::size_t>(shape_.keys), 0);
  segment_of_key_.front() = segment_of_key_.back() = 1;
  see_.segment_of_key = segment_of_key_;
  see_.segments = 2;
  segment_mass_.resize(static_cast<std::size_t>(2 * rows()));
  see_.segment_mass = segment_mass_.data();
  see_.overview_rows = std::min(kBins, shape_.queries);
  see_.overview_cols = std::min(kBins, shape_.keys);
  const std::int64_t cells = see_.overview_rows * see_.overview_cols;
  overview_.resize(static_cast<std::size_t>(shape_.batch * shape_.query_heads * cells));
  see_.overview = overview_.data();
}

void ForwardCase::run() { attention(problem_, out_view_, see_, {1}); }

std::string ForwardCase::verify() const {
  for (const std::int64_t begin : {std::int64_t{0}, shape_.queries / 2, shape_.queries - kBandRows}) {
    const std::int64_t row_begin = std::max<std::int64_t>(begin, 0);
    const std::string found = verify_band(row_begin, std::min(row_begin + kBandRows, shape_.queries));
    if (!found.empty()) return found;
  }
  return "";
}

std::string ForwardCase::verify_band(std::int64_t row_begin, std::int64_t row_end) const {
  const std::int64_t band_rows = row_end - row_begin;
  std::vector<SequenceSpan> spans(static_cast<std::size_t>(shape_.batch));
  for (SequenceSpan& span : spans) span.query_position = shape_.keys - shape_.queries + row_begin;
  AttentionProblem band = problem_;
  band.q.data = q_.data() + row_begin * shape_.width;
  band.q.shape[2] = band_rows;
  band.sequences = spans;
  const reference::Result expected = reference::attention(band);

  for (std::int64_t index = 0; index < shape_.batch * shape_.query_heads * band_rows; ++index) {
    const std::int64_t row = index / band_rows * shape_.queries + row_begin + index % band_rows;
    const std::string found = verify_row(row, index, expected);
    if (!found.empty()) return found;
  }
  return "";
}

std::string ForwardCase::verify_row(std::int64_t row, std::int64_t index, const reference::Result& expected) const {
  const std::int64_t width = shape_.value_width;
  std::string found = compare("the output", row, &out_[row * width], &expected.out[index * width], width);
  const auto add = [&](const char* what, const float* got, const double* wanted) {
    if (found.empty()) found = compare(what, row, got, wanted, 1);
  };
  if (observe_ == Observe::none) return found;
  add("lse", &see_.lse[row], &expected.lse[index]);
  add("row_max", &see_.row_max[row], &expected.row_max[index]);
  add("entropy", &see_.entropy[row], &expected.entropy[index]);
  add("position", &see_.position[row], &expected.position[index]);
  const double* weights = &expected.weights[index * shape_.keys];
  const std::int64_t most = std::max_element(weights, weights + shape_.keys) - weights;
  if (see_.top_k > 0) add("the largest weight", &see_.topk_weight[row * see_.top_k], &weights[most]);
  if (see_.distance != nullptr) add("distance", &see_.distance[row], &expected.distance[index]);
  return found;
}

}  // namespace sightline::bench
