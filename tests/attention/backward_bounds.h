#ifndef SIGHTLINE_TESTS_ATTENTION_BACKWARD_BOUNDS_H_
#define SIGHTLINE_TESTS_ATTENTION_BACKWARD_BOUNDS_H_

#include <algorithm>
#include <cmath>
#include <vector>

#include "src/attention/reference.h"
#include "src/attention/reference_backward.h"
#include "src/attention/reference_scores.h"

namespace sightline::testing {

/// How far fp32 may be from the exact gradients, element by element: rounding of each operation, relative to sums of
/// magnitudes.
class BackwardBounds {
 public:
  BackwardBounds(const AttentionProblem& problem, const TensorView& dout)
      : p_(problem), dout_(dout), forward_(reference::attention(problem)) {
    const auto [batch, heads, queries, width] = p_.q.shape;
    bounds_.q.assign(volume(p_.q.shape), kSmallest);
    bounds_.k.assign(volume(p_.k.shape), kSmallest);
    bounds_.v.assign(volume(p_.v.shape), kSmallest);
    if (p_.bias) bounds_.bias.assign(volume(p_.bias.shape), kSmallest);
    bounds_.sinks.assign(p_.sinks.size(), kSmallest);
    bounds_.alibi_slopes.assign(p_.alibi_slopes.size(), kSmallest);
    bounds_.relative_bias.assign(p_.relative_bias.table.size(), kSmallest);
    for (std::int64_t row = 0; row < batch * heads * queries; ++row) add_row(row);
  }

  /// Bounds in the place of gradients.
  const reference::GradientResult& get() const { return bounds_; }

 private:
  static constexpr double kUnit = 0x1p-24;       // fp32 rounds by at most this much, relatively
  static constexpr double kSmallest = 0x1p-120;  // what underflow may lose

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

  template <class At>
  static double norm(std::int64_t width, const At& at) {
    double squares = 0;
    for (std::int64_t d = 0; d < width; ++d) squares += std::pow(at(d), 2);
    return std::sqrt(squares);
  }

  // Of one row: how far its weights are off, relatively, and the largest |dL/d(weight)|.
  struct Row {
    double weight = 0, cap = 0, slope = 0;
  };

  Row measure(const reference::Query& query, const double* scores) const {
    const double scale = std::abs(p_.scale ? *p_.scale : 1 / std::sqrt(static_cast<double>(p_.q.shape[3])));
    double longest = 0, value = 0, largest = 0, lowest = INFINITY, highest = -INFINITY;
    for (std::int64_t n = 0; n < query.key_count; ++n) {
      if (scores[n] == reference::kHidden) continue;
      longest = std::max(longest, norm(p_.q.shape[3], [&](auto d) { return reference::key_at(p_, query, n, d); }));
      if (kept(query, n)) {
        value = std::max(value, norm(p_.v.shape[3], [&](auto d) { return reference::value_at(p_, query, n, d); }));
      }
      largest = std::max(largest, std::abs(scores[n]));
      lowest = std::min(lowest, scores[n]);
      highest = std::max(highest, scores[n]);
    }
    if (lowest == INFINITY) return {};
    const auto at_q = [&](auto d) { return reference::at(p_.q, query.b, query.h, query.i, d); };
    const auto at_dout = [&](auto d) { return reference::at(dout_, query.b, query.h, query.i, d); };
    const double product = scale * norm(p_.q.shape[3], at_q) * longest;
    const double score =
        kUnit * ((static_cast<double>(p_.q.shape[3]) + 4) * product + 8 * (largest + 3 * product)) + 1e-37;
    Row row;
    const double spread = std::min(88.0, highest - lowest);
    const double sums = static_cast<double>(query.key_count) / 64 + 3;
    row.weight = std::expm1(2 * std::min(score, 40.0)) + kUnit * (16 * spread + 16 * sums + 96);
    if (p_.softcap > 0) row.cap = 2 * score / p_.softcap + 16 * kUnit;
    row.slope = value * norm(p_.v.shape[3], at_dout) * std::abs(p_.keep ? p_.keep_scale : 1) *
                (p_.head_scale.empty() ? 1 : std::abs(p_.head_scale[query.h]));
    return row;
  }

  bool kept(const reference::Query& query, std::int64_t n) const {
    return !p_.keep || reference::at(p_.keep, query.b, query.h, query.i, query.first_key + n) != 0;
  }

  void add_row(std::int64_t index) {
    const std::int64_t plane = index / p_.q.shape[2];
    const reference::Query query =
        reference::locate(p_, plane / p_.q.shape[1], plane % p_.q.shape[1], index % p_.q.shape[2]);
    const std::int64_t first = index * p_.k.shape[2] + query.first_key;
    const Row row = measure(query, forward_.scores.data() + first);
    const double terms = kUnit * (4 * static_cast<double>(p_.v.shape[3]) + 100);
    for (std::int64_t n = 0; n < query.key_count; ++n) {
      if (forward_.scores[first + n] == reference::kHidden) continue;
      const double weight = forward_.weights[first + n] + 0x1p-126;
      add_pair(query, n, weight, row, 2 * weight * row.slope * (4 * row.weight + terms + count_unit(query)));
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
    const double factor =
        std::abs(p_.keep ? p_.keep_scale : 1) * (p_.head_scale.empty() ? 1 : std::abs(p_.head_scale[query.h]));
    for (std::int64_t d = 0; d < p_.v.shape[3] && kept(query, n); ++d) {
      bounds_.v[offset(p_.v, {query.b, query.kv_head, j, d})] +=
          weight * factor * (row.weight + count_unit(query)) *
          std::abs(reference::at(dout_, query.b, query.h, query.i, d));
    }
    const std::int64_t ahead = reference::position_of_key(p_, query, n) - query.position;
    if (p_.bias) bounds_.bias[offset(p_.bias, {query.b, query.h, query.i, j})] += slope;
    if (!p_.alibi_slopes.empty()) bounds_.alibi_slopes[query.h] += slope * static_cast<double>(std::abs(ahead));
    if (p_.relative_bias) {
      bounds_.relative_bias[reference::bucket(p_.relative_bias, ahead) * p_.q.shape[1] + query.h] += slope;
    }
  }

  const AttentionProblem& p_;
  const TensorView& dout_;
  const reference::Result forward_;
  reference::GradientResult bounds_;
};

}  // namespace sightline::testing

#endif  // SIGHTLINE_TESTS_ATTENTION_BACKWARD_BOUNDS_H_
