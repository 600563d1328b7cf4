#include "src/model/language_head.h"

#include <vector>

#include "src/model/feed_forward.h"
#include "src/ops/elementwise.h"

namespace sightline::model {
namespace {

// Dense, activation and norm of BERT-type heads.
std::vector<float> transform(const Pass& pass, const LanguageHeadWeights& head, const float* rows, std::int64_t count) {
  std::vector<float> transformed(static_cast<std::size_t>(count * head.dense.weight.rows));
  apply(pass, head.dense, rows, count, transformed.data());
  activate(pass.config.head_activation, transformed, pass.options.threads);
  ops::normalise(head.norm, transformed.data(), count, transformed.data(), pass.options.threads);
  return transformed;
}

}  // namespace

void logits_of(const Pass& pass, const LanguageHeadWeights& head, const float* rows, std::int64_t count,
               std::span<float> logits) {
  const TransformerConfig& config = pass.config;
  std::vector<float> dense;
  if (config.language_head == LanguageHead::transform) dense = transform(pass, head, rows, count);
  apply(pass, head.output, dense.empty() ? rows : dense.data(), count, logits.data());
  if (config.logit_softcap > 0) ops::softcap(logits, config.logit_softcap, pass.options.threads);
}

}  // namespace sightline::model
