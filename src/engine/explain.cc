#include "src/engine/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "sightline/error.h"
#include "src/attention/reference.h"
#include "src/engine/look_data.h"
#include "src/engine/memory.h"

namespace sightline::engine {
namespace {

// Row i of a dense f32 tensor [1, 1, rows, width].
std::span<const float> row_of(const TensorView& view, std::int64_t i) {
  const auto width = static_cast<std::size_t>(view.shape[3]);
  return {static_cast<const float*>(view.data) + static_cast<std::size_t>(i) * width, width};
}

double norm(std::span<const double> values) {
  double sum = 0;
  for (const double x : values) sum += x * x;
  return std::sqrt(sum);
}

double dot(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (std::size_t d = 0; d < a.size(); ++d) sum += static_cast<double>(a[d]) * b[d];
  return sum;
}

double largest_difference(std::span<const float> fused, std::span<const double> exact) {
  double largest = 0;
  for (std::size_t i = 0; i < fused.size(); ++i) {
    const double difference = std::abs(fused[i] - exact[i]);
    if (std::isnan(difference)) return difference;
    largest = std::max(largest, difference);
  }
  return largest;
}

// Not a number where one of them is not.
double largest_of(std::span<const double> weights) {
  double largest = 0;
  for (const double weight : weights) largest = std::isnan(weight) ? weight : std::max(largest, weight);
  return largest;
}

Peak peak_of(const reference::Result& row, double scale) { return {scale, row.entropy[0], largest_of(row.weights)}; }

// Steps 1 to 4 for every key: dot, score, weight, and what its value adds to the output.
void fill_keys(const AttentionProblem& problem, const reference::Result& row, Explanation& result) {
  result.softcap = problem.softcap;
  if (!problem.sinks.empty()) result.sink = {problem.sinks.front(), row.sink_weight.front()};
  const std::int64_t keys = problem.k.shape[2];
  const auto width = static_cast<std::size_t>(problem.v.shape[3]);
  for (std::int64_t j = 0; j < keys; ++j) {
    const std::span<const float> key_vector = row_of(problem.k, j), value = row_of(problem.v, j);
    result.key_vectors.insert(result.key_vectors.end(), key_vector.begin(), key_vector.end());
    result.value_vectors.insert(result.value_vectors.end(), value.begin(), value.end());
    ExplainedKey key;
    key.dot = dot(row_of(problem.q, 0), key_vector);
    key.scaled = key.dot * result.scale;
    key.score = row.scores[static_cast<std::size_t>(j)];
    key.weight = row.weights[static_cast<std::size_t>(j)];
    key.value_norm = norm(std::vector<double>(value.begin(), value.end()));
    for (const float v : value) result.contributions.push_back(key.weight == 0 ? 0 : key.weight * v);
    key.contribution_norm = norm(std::span(result.contributions).last(width));
    result.keys.push_back(key);
  }
}

// The fused kernel on the same row: how far its weights and its output are from fp64.
void compare_with_kernel(const AttentionProblem& problem, const reference::Result& row, int threads,
                         Explanation& result) {
  std::vector<float> weights(row.weights.size()), output(row.out.size());
  constexpr std::int64_t kRow[] = {0};
  Observations see;
  see.rows = kRow;
  see.row_weights = weights.data();
  attention(problem, dense_view(output.data(), {1, 1, 1, problem.v.shape[3]}), see, {threads});
  result.weight_difference = largest_difference(weights, row.weights);
  result.output_difference = largest_difference(output, row.out);
}

Explanation take_steps(const Look& look, std::int64_t token, const MapId& map, bool scale) {
  look.require_kept(map);
  const LayerRecord& layer = look.data().layer_of(map);
  if (token < 0 || token >= layer.rows) {
    throw BadArgument(fmt::format("there is no token #{}: the text has {}", token + 1, layer.rows));
  }
  RowPlace place;
  AttentionProblem scaled = layer.stored.row(map.head - 1, token, place);
  AttentionProblem unscaled = scaled;
  unscaled.scale = 1.0F;
  const reference::Result with = reference::attention(scaled), without = reference::attention(unscaled);
  const AttentionProblem& problem = scale ? scaled : unscaled;
  const reference::Result& row = scale ? with : without;

  Explanation result;
  result.map = map;
  result.token = token;
  result.scaled = scale;
  const KeyRange visible = layer.rule.visible(token, layer.keys);
  for (std::int64_t j = visible.begin; j < visible.end; ++j) {
    if (!look.is_cut(map, token, j)) result.visible.push_back(j);
  }
  result.with_scale = peak_of(with, layer.rule.scale);
  result.without_scale = peak_of(without, 1);
  result.scale = scale ? result.with_scale.scale : 1;
  const std::span<const float> query = row_of(problem.q, 0);
  result.query.assign(query.begin(), query.end());
  result.output = row.out;
  fill_keys(problem, row, result);
  compare_with_kernel(problem, row, look.data().threads, result);
  return result;
}

}  // namespace

Explanation explain(const Look& look, std::int64_t token, const MapId& map, bool scale) {
  return within_memory(kNoMemoryForText, [&] { return take_steps(look, token, map, scale); });
}

}  // namespace sightline::engine
