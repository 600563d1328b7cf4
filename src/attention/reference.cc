#include "src/attention/reference.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "sightline/error.h"
#include "src/tensor/half.h"

namespace sightline::reference {
namespace {

constexpr double kHidden = -std::numeric_limits<double>::infinity();

template <class T>
T load(const void* data, std::int64_t index) {
  T value;
  std::memcpy(&value, static_cast<const char*>(data) + index * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
  return value;
}

// Element [b, h, i, j] as a number; an axis of size 1 is shared by all indexes (broadcast).
double at(const TensorView& t, std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) {
  const std::int64_t indexes[4] = {b, h, i, j};
  std::int64_t offset = 0;
  for (int axis = 0; axis < 4; ++axis) offset += t.shape[axis] == 1 ? 0 : indexes[axis] * t.strides[axis];
  switch (t.dtype) {
    case DType::boolean:
      return load<std::uint8_t>(t.data, offset);
    case DType::f16:
      return f16_to_f32(load<std::uint16_t>(t.data, offset));
    case DType::bf16:
      return bf16_to_f32(load<std::uint16_t>(t.data, offset));
    case DType::f32:
      return load<float>(t.data, offset);
    case DType::f64:
      return load<double>(t.data, offset);
    default:
      throw BadArgument(std::string("not supported: attention on ") + dtype_name(t.dtype));
  }
}

// One query of one head of one sequence, and where it stands.
struct Query {
  std::int64_t b, h, i;
  std::int64_t kv_head;
  std::int64_t key_count;     // keys in use
  std::int64_t key_position;  // of key 0
  std::int64_t position;      // of this query
};

Query locate(const AttentionProblem& p, std::int64_t b, std::int64_t h, std::int64_t i) {
  const SequenceSpan span = p.sequences.empty() ? SequenceSpan{} : p.sequences[b];
  const std::int64_t keys = span.key_count < 0 ? p.k.shape[2] : span.key_count;
  const std::int64_t aligned = p.alignment == Alignment::top_left ? 0 : keys - p.q.shape[2];
  const std::int64_t first = span.query_position.value_or(span.key_position + aligned);
  return {b, h, i, h / (p.q.shape[1] / p.k.shape[1]), keys, span.key_position, first + i};
}

bool visible(const AttentionProblem& p, const Query& query, std::int64_t j) {
  const std::int64_t ahead = query.key_position + j - query.position;  // key's position less query's
  if (j >= query.key_count) return false;
  if (p.causal && ahead > 0) return false;
  if (p.window_left >= 0 && ahead < -p.window_left) return false;
  if (p.window_right >= 0 && ahead > p.window_right) return false;
  if (p.mask && at(p.mask, query.b, query.h, query.i, j) == 0) return false;
  return !(p.bias && at(p.bias, query.b, query.h, query.i, j) == kHidden);
}

double dot(const AttentionProblem& p, const Query& query, std::int64_t j) {
  double sum = 0;
  for (std::int64_t d = 0; d < p.q.shape[3]; ++d) {
    sum += at(p.q, query.b, query.h, query.i, d) * at(p.k, query.b, query.kv_head, j, d);
  }
  return sum;
}

// Steps 1 and 2, score and scale, with what may follow them: softcap, bias, ALiBi.
double score(const AttentionProblem& p, const Query& query, std::int64_t j) {
  double x = dot(p, query, j) * (p.scale ? *p.scale : 1 / std::sqrt(static_cast<double>(p.q.shape[3])));
  if (p.softcap > 0) x = p.softcap * std::tanh(x / p.softcap);
  if (p.bias) x += at(p.bias, query.b, query.h, query.i, j);
  if (!p.alibi_slopes.empty()) {
    x -= p.alibi_slopes[query.h] * static_cast<double>(std::abs(query.key_position + j - query.position));
  }
  return x;
}

// Where the row of a query lies in the arrays of a Result.
struct Row {
  std::size_t index;
  double *scores, *weights, *out;
};

// Step 3. A sink is one more logit in the denominator; the reported state (row_max, row_sum) leaves it out.
void softmax(const AttentionProblem& p, const Query& query, const Row& row, Result& result) {
  const std::int64_t keys = p.k.shape[2];
  const double sink = p.sinks.empty() ? kHidden : p.sinks[query.h];
  double max = kHidden, sum = 0;
  for (std::int64_t j = 0; j < keys; ++j)
    max = std::isnan(row.scores[j]) ? row.scores[j] : std::max(max, row.scores[j]);
  result.row_max[row.index] = max;
  result.lse[row.index] = sink;
  if (max == kHidden) return;  // no visible key: everything else stays 0
  for (std::int64_t j = 0; j < keys; ++j) sum += row.scores[j] == kHidden ? 0 : std::exp(row.scores[j] - max);
  result.row_sum[row.index] = sum;

  const double shift = std::max(max, sink);
  const double total = sum * std::exp(max - shift) + std::exp(sink - shift);
  result.lse[row.index] = shift + std::log(total);
  double seen = 0, entropy = 0, position = 0, distance = 0;
  for (std::int64_t j = 0; j < keys; ++j) {
    if (row.scores[j] == kHidden) continue;
    const double w = std::exp(row.scores[j] - shift) / total;
    const double at_key = static_cast<double>(query.key_position + j);
    row.weights[j] = w;
    seen += w;
    entropy += w * (std::log(total) - (row.scores[j] - shift));
    position += w * at_key;
    distance += w * std::abs(at_key - static_cast<double>(query.position));
  }
  result.entropy[row.index] = entropy;
  if (seen == 0) return;
  result.position[row.index] = position / seen;
  result.distance[row.index] = distance / seen;
}

// Step 4.
void mix(const AttentionProblem& p, const Query& query, const Row& row) {
  for (std::int64_t j = 0; j < p.k.shape[2]; ++j) {
    if (row.scores[j] == kHidden) continue;  // a hidden value is never read: 0 * NaN is NaN
    for (std::int64_t d = 0; d < p.v.shape[3]; ++d) {
      row.out[d] += row.weights[j] * at(p.v, query.b, query.kv_head, j, d);
    }
  }
}

Result make_result(std::size_t rows, std::size_t keys, std::size_t value_width) {
  Result r;
  r.out.resize(rows * value_width);
  r.weights.resize(rows * keys);
  r.scores.assign(rows * keys, kHidden);
  for (auto* values : {&r.row_max, &r.row_sum, &r.lse, &r.entropy, &r.position, &r.distance}) values->resize(rows);
  return r;
}

}  // namespace

Result attention(const AttentionProblem& p) {
  const auto [batch, heads, queries, width] = p.q.shape;
  const std::int64_t keys = p.k.shape[2], value_width = p.v.shape[3];
  Result result = make_result(batch * heads * queries, keys, value_width);
  std::size_t index = 0;
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t h = 0; h < heads; ++h) {
      for (std::int64_t i = 0; i < queries; ++i, ++index) {
        const Query query = locate(p, b, h, i);
        const Row row{index, result.scores.data() + index * keys, result.weights.data() + index * keys,
                      result.out.data() + index * value_width};
        for (std::int64_t j = 0; j < keys; ++j) row.scores[j] = visible(p, query, j) ? score(p, query, j) : kHidden;
        softmax(p, query, row, result);
        mix(p, query, row);
      }
    }
  }
  return result;
}

}  // namespace sightline::reference
