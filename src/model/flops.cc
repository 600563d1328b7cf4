#include "src/model/flops.h"

#include <algorithm>

namespace sightline::model {
namespace {

// One row through a linear layer.
double linear_flops(std::int64_t in, std::int64_t out) {
  return 2.0 * static_cast<double>(in) * static_cast<double>(out);
}

// 1 + 2 + ... + n
double sum_up_to(std::int64_t n) { return static_cast<double>(n) * static_cast<double>(n + 1) / 2; }

// Of rows [0, end). Row r sees keys up to itself, or all, but for the first r + 1 - window.
double pairs_before(const TransformerConfig& config, int layer, std::int64_t end, std::int64_t tokens) {
  const std::int64_t window = config.pattern[static_cast<std::size_t>(layer)].window;
  const double up_to = config.causal ? sum_up_to(end) : static_cast<double>(end) * static_cast<double>(tokens);
  return window > 0 ? up_to - sum_up_to(std::max<std::int64_t>(0, end - window)) : up_to;
}

}  // namespace

double query_flops(const TransformerConfig& config) {
  return linear_flops(config.width, config.query_heads * config.head_width);
}

double key_value_flops(const TransformerConfig& config) {
  return linear_flops(config.width, 2 * config.kv_heads * config.head_width);
}

double attention_output_flops(const TransformerConfig& config) { return query_flops(config); }

double feed_forward_flops(const TransformerConfig& config) {
  const double matrix = linear_flops(config.width, config.inner_width);
  switch (config.mlp) {
    case MlpKind::plain:
      return 2 * matrix;
    case MlpKind::gated:
      return 3 * matrix;
    case MlpKind::experts:
      return linear_flops(config.width, config.experts.count) + static_cast<double>(config.experts.used) * 3 * matrix;
  }
  return 0;
}

double layer_linear_flops(const TransformerConfig& config) {
  return query_flops(config) + key_value_flops(config) + attention_output_flops(config) + feed_forward_flops(config);
}

double pair_flops(const TransformerConfig& config) { return 2 * linear_flops(config.query_heads, config.head_width); }

double embedding_flops(const TransformerConfig& config) {
  return config.embedding_width != config.width ? linear_flops(config.embedding_width, config.width) : 0;
}

double language_head_flops(const TransformerConfig& config) {
  if (config.language_head == LanguageHead::none) return 0;
  const double dense =
      config.language_head == LanguageHead::transform ? linear_flops(config.width, config.embedding_width) : 0;
  return dense + linear_flops(config.embedding_width, config.vocabulary);
}

double visible_pairs(const TransformerConfig& config, int layer, std::int64_t begin, std::int64_t end,
                     std::int64_t tokens) {
  return pairs_before(config, layer, end, tokens) - pairs_before(config, layer, begin, tokens);
}

double forward_flops(const TransformerConfig& config, std::int64_t tokens, std::int64_t logit_rows) {
  double flops = static_cast<double>(tokens) * embedding_flops(config) +
                 static_cast<double>(logit_rows) * language_head_flops(config);
  for (int layer = 0; layer < static_cast<int>(config.layers); ++layer) {
    flops += static_cast<double>(tokens) * layer_linear_flops(config) +
             visible_pairs(config, layer, 0, tokens, tokens) * pair_flops(config);
  }
  return flops;
}

}  // namespace sightline::model
