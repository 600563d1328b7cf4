#include "src/attention/reference_backward.h"

#include <array>
#include <cmath>

#include "src/attention/reference.h"
#include "src/attention/reference_scores.h"

namespace sightline::reference {
namespace {

using Shape = std::array<std::int64_t, 4>;

std::size_t count(const Shape& shape) { return static_cast<std::size_t>(shape[0] * shape[1] * shape[2] * shape[3]); }

// Element [b, h, i, j] of a dense array; an axis of size 1 is shared by all indexes.
double& element(std::vector<double>& array, const Shape& shape, const Shape& index) {
  std::int64_t offset = 0;
  for (int axis = 0; axis < 4; ++axis) offset = offset * shape[axis] + (shape[axis] == 1 ? 0 : index[axis]);
  return array[offset];
}

// A query row on the way back.
struct Row {
  Query query;
  std::vector<double> weights, scores;  // of the keys of its sequence
  std::vector<double> dout;
  std::vector<double> slopes;  // dL/d(weight), then dL/d(score)
};

bool hidden(const Row& row, std::int64_t n) { return row.scores[n] == kHidden; }

// What the weight of key n is multiplied by in the mix.
double mix_factor(const AttentionProblem& p, const Query& query, std::int64_t n) {
  const double head = p.head_scale.empty() ? 1 : p.head_scale[query.h];
  if (!p.keep) return head;
  return at(p.keep, query.b, query.h, query.i, query.first_key + n) == 0 ? 0 : head * p.keep_scale;
}

// out_d = sum over n of weight_n * factor_n * v_nd.
void through_mix(const AttentionProblem& p, Row& row, GradientResult& result) {
  const Query& query = row.query;
  for (std::int64_t n = 0; n < query.key_count; ++n) {
    const double factor = hidden(row, n) ? 0 : mix_factor(p, query, n);
    for (std::int64_t d = 0; d < p.v.shape[3] && factor != 0; ++d) {
      row.slopes[n] += factor * row.dout[d] * value_at(p, query, n, d);
      element(result.v, p.v.shape, {query.b, query.kv_head, query.first_key + n, d}) +=
          factor * row.weights[n] * row.dout[d];
    }
  }
}

// weight_n = exp(score_n) / sum; the derivative by score m is weight_n (n == m) - weight_n weight_m, and a sink is a
// score whose weight is not mixed.
void through_softmax(const AttentionProblem& p, double sink_weight, Row& row, GradientResult& result) {
  double mean = 0;
  for (std::int64_t n = 0; n < row.query.key_count; ++n) {
    if (!hidden(row, n)) mean += row.weights[n] * row.slopes[n];
  }
  for (std::int64_t n = 0; n < row.query.key_count; ++n) {
    row.slopes[n] = hidden(row, n) ? 0 : row.weights[n] * (row.slopes[n] - mean);
  }
  if (!p.sinks.empty()) result.sinks[row.query.h] -= sink_weight * mean;
}

// score = capped + bias + relative bias - slope * distance.
void through_biases(const AttentionProblem& p, const Row& row, GradientResult& result) {
  const Query& query = row.query;
  for (std::int64_t n = 0; n < query.key_count; ++n) {
    if (hidden(row, n)) continue;
    const std::int64_t ahead = position_of_key(p, query, n) - query.position;
    if (p.bias) element(result.bias, p.bias.shape, {query.b, query.h, query.i, query.first_key + n}) += row.slopes[n];
    if (p.relative_bias) {
      result.relative_bias[bucket(p.relative_bias, ahead) * p.q.shape[1] + query.h] += row.slopes[n];
    }
    if (!p.alibi_slopes.empty()) {
      result.alibi_slopes[query.h] -= row.slopes[n] * static_cast<double>(std::abs(ahead));
    }
  }
}

// capped = c tanh(scale * q . k / c), whose derivative is 1 - (capped / c)^2.
void through_scores(const AttentionProblem& p, const Row& row, GradientResult& result) {
  const Query& query = row.query;
  const double scale = p.scale ? *p.scale : 1 / std::sqrt(static_cast<double>(p.q.shape[3]));
  for (std::int64_t n = 0; n < query.key_count; ++n) {
    if (hidden(row, n)) continue;
    double slope = row.slopes[n] * scale;
    if (p.softcap > 0) slope *= 1 - std::pow(capped_score(p, query, n) / p.softcap, 2);
    for (std::int64_t d = 0; d < p.q.shape[3]; ++d) {
      element(result.q, p.q.shape, {query.b, query.h, query.i, d}) += slope * key_at(p, query, n, d);
      element(result.k, p.k.shape, {query.b, query.kv_head, query.first_key + n, d}) +=
          slope * at(p.q, query.b, query.h, query.i, d);
    }
  }
}

GradientResult make_result(const AttentionProblem& p) {
  GradientResult result;
  result.q.resize(count(p.q.shape));
  result.k.resize(count(p.k.shape));
  result.v.resize(count(p.v.shape));
  if (p.bias) result.bias.resize(count(p.bias.shape));
  result.sinks.resize(p.sinks.size());
  result.alibi_slopes.resize(p.alibi_slopes.size());
  result.relative_bias.resize(p.relative_bias.table.size());
  return result;
}

Row make_row(const AttentionProblem& p, const Query& query, std::size_t index, const Result& forward,
             const TensorView& dout) {
  const auto part = [&](const std::vector<double>& map) {
    const auto begin = map.begin() + static_cast<std::ptrdiff_t>(index) * p.k.shape[2] + query.first_key;
    return std::vector<double>(begin, begin + query.key_count);
  };
  Row row{query, part(forward.weights), part(forward.scores), {}, std::vector<double>(query.key_count)};
  for (std::int64_t d = 0; d < p.v.shape[3]; ++d) row.dout.push_back(at(dout, query.b, query.h, query.i, d));
  return row;
}

}  // namespace

GradientResult gradients(const AttentionProblem& p, const TensorView& dout) {
  const Result forward = attention(p);
  GradientResult result = make_result(p);
  const auto [batch, heads, queries, width] = p.q.shape;
  for (std::size_t index = 0; index < static_cast<std::size_t>(batch * heads * queries); ++index) {
    const std::int64_t plane = static_cast<std::int64_t>(index) / queries;
    const Query query = locate(p, plane / heads, plane % heads, static_cast<std::int64_t>(index) % queries);
    if (!p.head_scale.empty() && p.head_scale[query.h] == 0) continue;  // knocked out, whatever it would be
    Row row = make_row(p, query, index, forward, dout);
    through_mix(p, row, result);
    through_softmax(p, forward.sink_weight[index], row, result);
    through_biases(p, row, result);
    through_scores(p, row, result);
  }
  return result;
}

}  // namespace sightline::reference
