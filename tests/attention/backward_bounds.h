#ifndef SIGHTLINE_TESTS_ATTENTION_BACKWARD_BOUNDS_H_
#define SIGHTLINE_TESTS_ATTENTION_BACKWARD_BOUNDS_H_

#include <algorithm>
#include <cmath>
#include <vector>

#include "src/attention/reference.h"
#include "src/attention/reference_backward.h"
#include "src/attention/reference_scores.h"
#include "tests/attention/row_bounds.h"

namespace sightline::testing {

/// How far fp32 may be from the exact gradients, element by element: rounding of each operation, relative to sums of
/// magnitudes.
class BackwardBounds {
 public:
  BackwardBounds(const RandomProblem& random, const TensorView& dout)
      : random_(random), p_(random.problem()), dout_(dout), forward_(reference::attention(p_)) {
    const auto [batch, heads, queries, width] = p_.q.shape;
    bounds_.q.assign(volume(p_.q.shape), kLost);
    bounds_.k.assign(volume(p_.k.shape), kLost);
    bounds_.v.assign(volume(p_.v.shape), kLost);
    if (p_.bias) bounds_.bias.assign(volume(p_.bias.shape), kLost);
    bounds_.sinks.assign(p_.sinks.size(), kLost);
    bounds_.alibi_slopes.assign(p_.alibi_slopes.size(), kLost);
    bounds_.relative_bias.assign(p_.relative_bias.table.size(), kLost);
    const std::vector<RowBounds> rows = row_bounds(random, forward_);
    for (std::int64_t row = 0; row < batch * heads * queries; ++row) add_row(row, rows[row]);
  }

  /// Bounds in the place of gradients.
  const reference::GradientResult& get() const { return bounds_; }

 private:
  static constexpr double kLost = 0x1p-120;  // what underflow may lose

  static std::size_t volume(const std::array<std::int64_t, 4>& shape) {
    return static_cast<std::size_t>(shape[0] * shape[1] * shape[2] * shape[3]);
  }

  static std::int64_t offset(const TensorView& tensor, const std::array<std::int64_t, 4>& index) {
    std::int64_t at = 0;
    for (int axis = 0; axis < 4; ++axis) {
      at = at * tensor.shape[axis] + (tensor.shape[axis] == 1 ? 0 : index[axis]);
    }
    return at;
  }

  static double norm(const TensorView& tensor, const reference::Query& query) {
    double squares = 0;
    for (std::int64_t d = 0; d < tensor.shape[3]; ++d) {
      squares += std::pow(reference::at(tensor, query.b, query.h, query.i, d), 2);
    }
    return std::sqrt(squares);
  }

  // Of one row: how far its weights are off, and the derivative of its softcap, relatively; the largest |dL/d(weight)|.
  struct Row {
    double weight = 0, cap = 0, slope = 0;
  };

  Row measure(const reference::Query& query, const RowBounds& bounds, const double* scores) const {
    double value = 0, raw = 0;
    for (std::int64_t n = 0; n < query.key_count; ++n) {
      if (scores[n] == reference::kHidden) continue;
      if (kept(query, n)) value = std::max(value, value_length(random_, query, n));
      raw = std::max(raw, raw_score_bound(random_, query, n));
    }
    const double cap = p_.softcap > 0 ? 2 * raw / p_.softcap + 16 * kUnit : 0;
    return {bounds.weight, cap, value * norm(dout_, query) * mix_factor(query)};
  }

  double mix_factor(const reference::Query& query) const {
    return std::abs(p_.keep ? p_.keep_scale : 1) * (p_.head_scale.empty() ? 1 : std::abs(p_.head_scale[query.h]));
  }

  bool kept(const reference::Query& query, std::int64_t n) const {
    return !p_.keep || reference::at(p_.keep, query.b, query.h, query.i, query.first_key + n) != 0;
  }

  void add_row(std::int64_t index, const RowBounds& bounds) {
    const std::int64_t plane = index / p_.q.shape[2];
    const reference::Query query =
        reference::locate(p_, plane / p_.q.shape[1], plane % p_.q.shape[1], index % p_.q.shape[2]);
    const std::int64_t first = index * p_.k.shape[2] + query.first_key;
    const Row row = measure(query, bounds, forward_.scores.data() + first);
    const double terms = kUnit * (4 * static_cast<double>(p_.v.shape[3]) + 100);
    for (std::int64_t n = 0; n < query.key_count; ++n) {
      if (forward_.scores[first + n] == reference::kHidden) continue;
      const double weight = forward_.weights[first + n];
      const double relative = 4 * row.weight + terms + count_unit(query);
      add_pair(query, n, weight, row, 2 * row.slope * (weight * relative + kSmallest));
    }
    if (!p_.sinks.empty()) {
      bounds_.sinks[query.h] += 2 * row.slope * (4 * row.weight + terms + count_unit(query));
    }
  }

  // Roundings of sums over all rows of a group, or over all keys.
  double count_unit(const reference::Query& query) const {
    const auto most = std::max<std::int64_t>(query.rows * p_.q.shape[0] * p_.q.shape[1], query.key_count);
    return kUnit * (std::sqrt(static_cast<double>(most)) * 4 + 64);
  }

  // slope: how far dL/d(score) may be off.
  void add_pair(const reference::Query& query, std::int64_t n, double weight, const Row& row, double slope) {
    const double scale = std::abs(p_.scale ? *p_.scale : 1 / std::sqrt(static_cast<double>(p_.q.shape[3])));
    const std::int64_t j = query.first_key + n;
    const double inner = scale * (slope + 2 * weight * row.slope * row.cap);
    for (std::int64_t d = 0; d < p_.q.shape[3]; ++d) {
      bounds_.q[offset(p_.q, {query.b, query.h, query.i, d})] += inner * std::abs(reference::key_at(p_, query, n, d));
      bounds_.k[offset(p_.k, {query.b, query.kv_head, j, d})] +=
          inner * std::abs(reference::at(p_.q, query.b, query.h, query.i, d));
    }
    for (std::int64_t d = 0; d < p_.v.shape[3] && kept(query, n); ++d) {
      bounds_.v[offset(p_.v, {query.b, query.kv_head, j, d})] +=
          mix_factor(query) * (weight * (row.weight + count_unit(query)) + kSmallest) *
          std::abs(reference::at(dout_, query.b, query.h, query.i, d));
    }
    const std::int64_t ahead = reference::position_of_key(p_, query, n) - query.position;
    if (p_.bias) bounds_.bias[offset(p_.bias, {query.b, query.h, query.i, j})] += slope;
    if (!p_.alibi_slopes.empty()) bounds_.alibi_slopes[query.h] += slope * static_cast<double>(std::abs(ahead));
    if (p_.relative_bias) {
      bounds_.relative_bias[reference::bucket(p_.relative_bias, ahead) * p_.q.shape[1] + query.h] += slope;
    }
  }

  const RandomProblem& random_;
  const AttentionProblem& p_;
  const TensorView& dout_;
  const reference::Result forward_;
  reference::GradientResult bounds_;
};

}  // namespace sightline::testing

#endif  // SIGHTLINE_TESTS_ATTENTION_BACKWARD_BOUNDS_H_
