#ifndef SIGHTLINE_ENGINE_DECODING_H_
#define SIGHTLINE_ENGINE_DECODING_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sightline/transformer.h"
#include "src/engine/step_observer.h"
#include "src/ops/sampling.h"

namespace sightline::engine {

/// A segment for each token: of the prompt's tokens, and the one that all later tokens get.
struct TokenSegments {
  std::vector<std::int32_t> prompt;
  std::int32_t generated = 0;
  std::int32_t count = 0;  // 0: none are observed
};

struct DecodingOptions {
  std::int64_t room = 0;  // tokens that the context holds
  model::ContextOptions cache;
  ops::SamplingOptions sampling;
  int threads = 0;
  std::optional<WatchOptions> watch = {};  // observe the newest row at every step
  TokenSegments segments = {};             // for `watch`
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
  Decoding(model::Transformer transformer, std::vector<std::int32_t> prompt, const DecodingOptions& options);

  /// The token after all those so far. Throws BadArgument where the context is full, Cancelled, BadFile where no logit
  /// is a number. After an exception other than "full" a decoding is of no further use, but for what it has.
  std::int32_t next();
  /// Whether the last token has no room in the context, so that none can follow it.
  bool is_full() const;

  std::span<const std::int32_t> tokens() const { return tokens_; }  // the prompt's and those generated
  std::int64_t room() const { return context_.room(); }
  double log_probability() const { return log_probability_; }  // of the newest token, if it was asked for
  /// What the row looked at that gave the newest token; null unless it was asked for.
  const StepSight* sight() const { return observer_ ? &observer_->sight() : nullptr; }

 private:
  std::vector<float> advance();
  std::vector<float> run(std::int64_t count, bool newest);

  model::Transformer transformer_;
  DecodingOptions options_;
  model::Context context_;
  ops::Sampler sampler_;
  std::optional<StepObserver> observer_;
  std::vector<std::int32_t> tokens_;
  std::vector<std::int32_t> segments_;  // of each token
  std::int64_t prompt_length_;
  double log_probability_ = 0;
};

/// Bytes of a context's cache, known before it is made, but for what a page is rounded up by.
std::int64_t cache_bytes(const model::TransformerConfig& config, std::int64_t room, const model::ContextOptions& cache);

}  // namespace sightline::engine

#endif  // SIGHTLINE_ENGINE_DECODING_H_
