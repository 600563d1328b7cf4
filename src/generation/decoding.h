#ifndef SIGHTLINE_GENERATION_DECODING_H_
#define SIGHTLINE_GENERATION_DECODING_H_

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "sightline/generation.h"
#include "sightline/transformer.h"
#include "src/generation/full_run.h"
#include "src/generation/state.h"
#include "src/generation/step_observer.h"
#include "src/ops/sampling.h"

namespace sightline::model {

struct DecodingOptions {
  std::int64_t room = 0;  // tokens that the context holds
  ContextOptions cache;
  bool audit = false;  // see GenerationOptions
  SamplingOptions sampling;
  int threads = 0;
  std::optional<WatchOptions> watch = {};  // observe the newest row at every step
  std::vector<KnockOut> knock_outs = {};
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
  Decoding(Transformer transformer, PromptTokens prompt, const DecodingOptions& options)
      : Decoding(std::move(transformer), std::move(prompt), options, nullptr) {}
  /// The same with what an earlier one left: see Generation.
  Decoding(Transformer transformer, PromptTokens prompt, const DecodingOptions& options, GenerationState&& state)
      : Decoding(std::move(transformer), std::move(prompt), options, &state.impl()) {}

  /// The token after all those so far. Throws BadArgument where the context is full, Cancelled, BadFile where no logit
  /// is a number. After an exception other than "full" a decoding is of no further use, but for what it has.
  std::int32_t next();
  /// Lets all tokens but the last go through.
  void read_prompt();
  /// What another can go on from, at any time; this one is of no further use, but for its tokens.
  GenerationState take_state();
  std::int64_t resumed() const { return resumed_; }  // tokens that a state had, so that they did not run

  /// Whether the last token has no room in the context, so that none can follow it.
  bool is_full() const;

  std::span<const std::int32_t> tokens() const { return tokens_; }  // the prompt's and those generated
  const PromptTokens& prompt() const { return prompt_; }
  std::int64_t room() const { return options_.room; }
  double log_probability() const { return log_probability_; }  // of the newest token, if it was asked for
  /// What the row looked at that gave the newest token; null unless it was asked for.
  const StepSight* sight() const { return observer_ ? &observer_->sight() : nullptr; }
  /// As Generation::watch_head().
  void watch_head(int head);

  std::int64_t cache_bytes() const { return taken_ ? 0 : context_.bytes(); }
  const DropAccount* drops() const { return !taken_ && context_.is_dropping() ? &context_.drops() : nullptr; }
  const std::optional<Departure>& departure() const { return departure_; }

 private:
  Decoding(Transformer transformer, PromptTokens prompt, const DecodingOptions& options, GenerationState::Impl* state);
  std::int32_t segment_count() const;                                            // 0: none are observed
  std::int64_t left() const { return std::ssize(tokens_) - context_.length(); }  // tokens that have not run
  void require_not_taken() const;
  Context first_context(GenerationState::Impl* state) const;
  std::vector<float> advance();
  std::vector<float> run(std::int64_t count, bool newest);
  void begin_dropping();
  void compare(std::int32_t token, std::span<const float> logits);
  std::vector<float> pass(std::int64_t count, bool newest, Progress* progress);

  Transformer transformer_;
  DecodingOptions options_;
  PromptTokens prompt_;
  ops::Sampler sampler_;
  Context context_;
  std::int64_t resumed_;
  std::optional<StepObserver> observer_;
  std::optional<FullRun> full_;  // of an audit, until the texts part
  std::optional<Departure> departure_;
  std::vector<std::int32_t> tokens_;
  std::vector<std::int32_t> segments_;  // of each token
  double log_probability_ = 0;
  bool sums_hold_ = true;  // false: sums of mass are not those of the context's rows
  bool taken_ = false;
};

/// Bytes of a context's cache, known before it is made, but for what a page is rounded up by.
std::int64_t cache_bytes(const TransformerConfig& config, std::int64_t room, const ContextOptions& cache);

}  // namespace sightline::model

#endif  // SIGHTLINE_GENERATION_DECODING_H_
