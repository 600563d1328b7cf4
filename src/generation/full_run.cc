#include "src/generation/full_run.h"

#include <utility>

namespace sightline::model {

FullRun::FullRun(Transformer transformer, Context whole, ops::Sampler sampler, int threads)
    : transformer_(std::move(transformer)),
      context_(std::move(whole)),
      sampler_(std::move(sampler)),
      threads_(threads) {}

std::optional<std::int32_t> FullRun::next(std::span<const std::int32_t> tokens, std::span<const float> logits,
                                          Progress* progress) {
  const auto known = static_cast<std::size_t>(context_.length());
  if (known == tokens.size()) return sampler_.next(logits, tokens);
  const TokenSequence text{tokens.subspan(known), {}, &context_};
  const ForwardOptions how{.threads = threads_, .progress = progress, .logits = LogitRows::last};
  return sampler_.next(transformer_.forward({&text, 1}, how).logits, tokens);
}

}  // namespace sightline::model
