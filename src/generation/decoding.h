#ifndef SIGHTLINE_GENERATION_DECODING_H_
#define SIGHTLINE_GENERATION_DECODING_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sightline/generation.h"
#include "sightline/transformer.h"
#include "src/generation/step_observer.h"
#include "src/ops/sampling.h"

namespace sightline::model {

struct DecodingOptions {
  std::int64_t room = 0;  // tokens that the context holds
  ContextOptions cache;
  SamplingOptions sampling;
  int threads = 0;
  std::optional<WatchOptions> watch = {};  // observe the newest row at every step
  bool log_probability = false;
  std::int64_t piece = 512;      // tokens of the prompt in a pass; no result depends on it
  Progress* progress = nullptr;  // told of the prompt's tokens as they go through; false ends a pass with Cancelled
};

/// Token after token from a transformer with a context of its own: what a generation is, without any text. Tokens, and
/// what is observed, have the bits of passes over the whole sequence without a cache (where the cache keeps fp32).
class Decoding {
 public:
  /// The prompt goes through with the first next(). Throws BadArgument for options out of range, an empty prompt, and
  /// one that the context has no room for; OutOfMemory.
  Decoding(Transformer transformer, PromptTokens prompt, const DecodingOptions& options);

  /// The token after all those so far. Throws BadArgument where the context is full, Cancelled, BadFile where no logit
  /// is a number. After an exception other than "full" a decoding is of no further use, but for what it has.
  std::int32_t next();
  /// Whether the last token has no room in the context, so that none can follow it.
  bool is_full() const;

  std::span<const std::int32_t> tokens() const { return tokens_; }  // the prompt's and those generated
  const PromptTokens& prompt() const { return prompt_; }
  std::int64_t room() const { return context_.room(); }
  double log_probability() const { return log_probability_; }  // of the newest token, if it was asked for
  /// What the row looked at that gave the newest token; null unless it was asked for.
  const StepSight* sight() const { return observer_ ? &observer_->sight() : nullptr; }
  /// As Generation::watch_head().
  void watch_head(int head);

 private:
  std::int32_t segment_count() const;  // 0: none are observed
  std::vector<float> advance();
  std::vector<float> run(std::int64_t count, bool newest);

  Transformer transformer_;
  DecodingOptions options_;
  Context context_;
  ops::Sampler sampler_;
  std::optional<StepObserver> observer_;
  PromptTokens prompt_;
  std::vector<std::int32_t> tokens_;
  std::vector<std::int32_t> segments_;  // of each token
  double log_probability_ = 0;
};

/// Bytes of a context's cache, known before it is made, but for what a page is rounded up by.
std::int64_t cache_bytes(const TransformerConfig& config, std::int64_t room, const ContextOptions& cache);

}  // namespace sightline::model

#endif  // SIGHTLINE_GENERATION_DECODING_H_
