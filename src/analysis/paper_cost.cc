#include "src/analysis/paper_cost.h"

#include "src/model/flops.h"

namespace sightline::analysis {
namespace {

// More than any model reads; sums of pairs are exact in fp64 up to here.
constexpr std::int64_t kLongest = std::int64_t{1} << 26;

// Rows [begin, n) of a text of n tokens, and the logits of the last one.
PaperCost cost_of_rows(const model::TransformerConfig& config, std::int64_t begin, std::int64_t n) {
  PaperCost cost;
  for (int layer = 0; layer < static_cast<int>(config.layers); ++layer) {
    cost.attention += visible_pairs(config, layer, begin, n, n) * pair_flops(config);
  }
  const double token = static_cast<double>(config.layers) * layer_linear_flops(config) + embedding_flops(config);
  cost.rest = static_cast<double>(n - begin) * token + language_head_flops(config);
  return cost;
}

}  // namespace

PaperCost pass_cost(const model::TransformerConfig& config, std::int64_t n) { return cost_of_rows(config, 0, n); }

PaperCost token_cost(const model::TransformerConfig& config, std::int64_t n) { return cost_of_rows(config, n - 1, n); }

std::optional<std::int64_t> crossing(const std::function<PaperCost(std::int64_t)>& cost) {
  const auto reaches = [&](std::int64_t n) {
    const PaperCost at = cost(n);
    return at.attention >= at.rest;
  };
  if (!reaches(kLongest)) return std::nullopt;
  std::int64_t below = 0, reached = kLongest;
  while (reached - below > 1) {
    const std::int64_t middle = below + (reached - below) / 2;
    (reaches(middle) ? reached : below) = middle;
  }
  return reached;
}

}  // namespace sightline::analysis
