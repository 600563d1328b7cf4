#include "src/attention/reference.h"

#include <algorithm>
#include <cmath>

#include "sightline/error.h"
#include "src/attention/reference_scores.h"

namespace sightline::reference {
namespace {

// Where the row of a query lies in the arrays of a Result. Weights and scores are those of its sequence's keys.
struct Row {
  std::size_t index;
  double *scores, *weights, *out;
};

// A sink is one more logit in the denominator; the reported state (row_max, row_sum) leaves it out.
struct Denominator {
  double shift, total;  // weight = exp(score - shift) / total
  double sink_weight = 0;
};

Denominator join_sink(double max, double sum, double sink) {
  const double shift = std::max(max, sink);
  const double total = sum * std::exp(max - shift) + std::exp(sink - shift);
  return {shift, total, sink == kHidden ? 0 : std::exp(sink - shift) / total};
}

void finish_entropy(const Denominator& all, double entropy, const Row& row, Result& result) {
  result.entropy[row.index] = entropy;
  result.sink_weight[row.index] = all.sink_weight;
  const double of_sink = all.sink_weight == 0 ? 0 : -all.sink_weight * std::log(all.sink_weight);
  result.entropy_with_sink[row.index] = entropy + of_sink;
}

void weigh(const Query& query, const Row& row, const Denominator& all, Result& result) {
  double seen = 0, entropy = 0, position = 0, distance = 0;
  for (std::int64_t n = 0; n < query.key_count; ++n) {
    if (row.scores[n] == kHidden) continue;
    const double w = std::exp(row.scores[n] - all.shift) / all.total;
    const auto at_key = static_cast<double>(query.key_position + n);
    row.weights[n] = w;
    seen += w;
    entropy += w * (std::log(all.total) - (row.scores[n] - all.shift));
    position += w * at_key;
    distance += w * std::abs(at_key - static_cast<double>(index_position(query)));
  }
  finish_entropy(all, entropy, row, result);
  if (seen == 0) return;
  result.position[row.index] = position / seen;
  result.distance[row.index] = distance / seen;
}

// Step 3.
void softmax(const AttentionProblem& p, const Query& query, const Row& row, Result& result) {
  const double sink = p.sinks.empty() ? kHidden : p.sinks[query.h];
  double max = kHidden, sum = 0;
  for (std::int64_t n = 0; n < query.key_count; ++n)
    max = std::isnan(row.scores[n]) ? row.scores[n] : std::max(max, row.scores[n]);
  result.row_max[row.index] = max;
  result.lse[row.index] = sink;
  result.sink_weight[row.index] = sink == kHidden ? 0 : 1;
  if (max == kHidden) return;  // no visible key: everything else stays 0
  for (std::int64_t n = 0; n < query.key_count; ++n)
    sum += row.scores[n] == kHidden ? 0 : std::exp(row.scores[n] - max);
  result.row_sum[row.index] = sum;

  const Denominator all = join_sink(max, sum, sink);
  result.lse[row.index] = all.shift + std::log(all.total);
  weigh(query, row, all, result);
}

// Step 4. Dropout takes weights out of the mix, not out of the softmax.
void mix(const AttentionProblem& p, const Query& query, const Row& row) {
  for (std::int64_t n = 0; n < query.key_count; ++n) {
    if (row.scores[n] == kHidden) continue;  // a hidden value is never read: 0 * NaN is NaN
    if (p.keep && at(p.keep, query.b, query.h, query.i, query.first_key + n) == 0) continue;
    const double weight = row.weights[n] * (p.keep ? p.keep_scale : 1);
    for (std::int64_t d = 0; d < p.v.shape[3]; ++d) row.out[d] += weight * value_at(p, query, n, d);
  }
  const double head = p.head_scale.empty() ? 1 : p.head_scale[query.h];
  for (std::int64_t d = 0; d < p.v.shape[3]; ++d) {
    row.out[d] = head == 0 ? 0 : row.out[d] * head;  // 0 knocks the head out, whatever it would be
  }
}

Result make_result(std::size_t rows, std::size_t keys, std::size_t value_width) {
  Result r;
  r.out.resize(rows * value_width);
  r.weights.resize(rows * keys);
  r.scores.assign(rows * keys, kHidden);
  for (auto* values :
       {&r.row_max, &r.row_sum, &r.lse, &r.entropy, &r.position, &r.distance, &r.sink_weight, &r.entropy_with_sink}) {
    values->resize(rows);
  }
  return r;
}

// Calls visit(query, index of its row) for each row of each head, in the order of the arrays.
template <class Visit>
void for_each_query(const AttentionProblem& p, const Visit& visit) {
  const auto [batch, heads, queries, width] = p.q.shape;
  std::size_t index = 0;
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t h = 0; h < heads; ++h) {
      for (std::int64_t i = 0; i < queries; ++i) visit(locate(p, b, h, i), index++);
    }
  }
}

double score_at(const AttentionProblem& p, const Query& query, std::int64_t n, Stage stage) {
  switch (stage) {
    case Stage::raw:
      return raw_score(p, query, n);
    case Stage::capped:
      return capped_score(p, query, n);
    case Stage::biased:
      return sees(p, query, n) ? full_score(p, query, n) : kHidden;
    case Stage::weights:
      break;
  }
  throw BadArgument("weights are no stage of the scores");
}

}  // namespace

Result attention(const AttentionProblem& p) {
  const auto [batch, heads, queries, width] = p.q.shape;
  const std::int64_t keys = p.k.shape[2], value_width = p.v.shape[3];
  Result result = make_result(batch * heads * queries, keys, value_width);
  for_each_query(p, [&](const Query& query, std::size_t index) {
    const std::size_t first = index * keys + query.first_key;
    const Row row{index, result.scores.data() + first, result.weights.data() + first,
                  result.out.data() + index * value_width};
    // Steps 1 and 2, score and scale, with what may follow them.
    for (std::int64_t n = 0; n < query.key_count; ++n) row.scores[n] = score_at(p, query, n, Stage::biased);
    softmax(p, query, row, result);
    mix(p, query, row);
  });
  return result;
}

std::vector<double> scores(const AttentionProblem& p, Stage stage) {
  const std::int64_t keys = p.k.shape[2];
  std::vector<double> map(p.q.shape[0] * p.q.shape[1] * p.q.shape[2] * keys, kHidden);
  for_each_query(p, [&](const Query& query, std::size_t index) {
    double* row = map.data() + index * keys + query.first_key;
    for (std::int64_t n = 0; n < query.key_count; ++n) row[n] = score_at(p, query, n, stage);
  });
  return map;
}

std::vector<double> measured(const AttentionProblem& p, const Result& result, Measure measure) {
  std::vector<double> map = result.weights;
  if (measure == Measure::weight) return map;
  const std::int64_t keys = p.k.shape[2];
  for_each_query(p, [&](const Query& query, std::size_t index) {
    for (std::int64_t n = 0; n < query.key_count; ++n) {
      const std::size_t at = index * keys + query.first_key + n;
      if (result.scores[at] == kHidden) continue;
      double squares = 0;
      for (std::int64_t d = 0; d < p.v.shape[3]; ++d) squares += std::pow(value_at(p, query, n, d), 2);
      map[at] *= std::sqrt(squares);
    }
  });
  return map;
}

}  // namespace sightline::reference
