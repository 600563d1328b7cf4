#ifndef SIGHTLINE_GENERATION_FULL_RUN_H_
#define SIGHTLINE_GENERATION_FULL_RUN_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sightline/transformer.h"
#include "src/ops/sampling.h"

namespace sightline::model {

/// The same text with all its keys, beside a decoding that drops some: what it would have taken.
class FullRun {
 public:
  /// `whole`: as Context::begin_dropping() gives it. `sampler`: as the decoding's is before the first token.
  FullRun(Transformer transformer, Context whole, ops::Sampler sampler, int threads);

  /// The token that comes after `tokens`, if any. `logits`: of the prompt's last row, for the first call, since all
  /// keys are there for both then.
  std::optional<std::int32_t> next(std::span<const std::int32_t> tokens, std::span<const float> logits,
                                   Progress* progress);

 private:
  Transformer transformer_;
  Context context_;
  ops::Sampler sampler_;
  int threads_;
};

}  // namespace sightline::model

#endif  // SIGHTLINE_GENERATION_FULL_RUN_H_
