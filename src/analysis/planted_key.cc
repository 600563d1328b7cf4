#include "src/analysis/planted_key.h"

#include <algorithm>
#include <cmath>

namespace sightline::analysis {
namespace {

constexpr auto kColumns = static_cast<std::size_t>(PlantedKey::kWidth);

}  // namespace

PlantedKey::PlantedKey(std::int64_t keys, std::int64_t position, NormalNumbers& draw)
    : position_(position),
      query_(kColumns),
      keys_(static_cast<std::size_t>(keys) * kColumns),
      values_(keys_.size()),
      output_(kColumns) {
  draw.fill(std::span(query_));
  double square = 0;
  for (const float q : query_) square += static_cast<double>(q) * q;
  const auto at = static_cast<std::size_t>(position) * kColumns;
  draw.fill(std::span(values_).subspan(at, kColumns));
  // The score is the dot over sqrt(d).
  const double dot = std::log(3 * static_cast<double>(keys - 1)) * std::sqrt(static_cast<double>(kWidth));
  for (std::size_t i = 0; i < kColumns; ++i) keys_[at + i] = static_cast<float>(query_[i] * dot / square);
}

AttentionProblem PlantedKey::problem() const {
  AttentionProblem problem;
  const std::int64_t keys = std::ssize(keys_) / kWidth;
  problem.q = dense_view(query_.data(), {1, 1, 1, kWidth});
  problem.k = dense_view(keys_.data(), {1, 1, keys, kWidth});
  problem.v = dense_view(values_.data(), {1, 1, keys, kWidth});
  problem.causal = true;
  return problem;
}

void PlantedKey::read() {
  AttentionOptions options;
  options.threads = 1;
  options.workspace = &workspace_;
  attention(problem(), dense_view(output_.data(), {1, 1, 1, kWidth}), {}, options);
}

float PlantedKey::weight() const {
  Observations see;
  std::int32_t index = -1;
  float weight = 0;
  see.top_k = 1;
  see.topk_index = &index;
  see.topk_weight = &weight;
  attention(problem(), {}, see, {.threads = 1});
  return index == position_ ? weight : 0;
}

double PlantedKey::error() const {
  double largest = 0, error = 0;
  const auto at = static_cast<std::size_t>(position_) * kColumns;
  for (std::size_t i = 0; i < kColumns; ++i) {
    const double expected = kWeight * static_cast<double>(values_[at + i]);
    largest = std::max(largest, std::abs(expected));
    error = std::max(error, std::abs(static_cast<double>(output_[i]) - expected));
  }
  return error / largest;
}

}  // namespace sightline::analysis
