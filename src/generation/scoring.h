#ifndef SIGHTLINE_GENERATION_SCORING_H_
#define SIGHTLINE_GENERATION_SCORING_H_

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "sightline/transformer.h"
#include "src/ops/likelihood.h"

namespace sightline::model {

struct ScoringOptions {
  std::int64_t room = 0;  // tokens that the context holds
  ContextOptions cache = {};
  int threads = 0;
  int top = 1;                   // of the likeliest tokens at each place
  std::int64_t piece = 512;      // tokens in a pass; no result depends on it
  Progress* progress = nullptr;  // told of the tokens that went through, of `total`; false ends a pass with Cancelled
  std::int64_t total = 0;        // tokens that will go through score() in all
};

/// How likely each token of a sequence is after all those before it: what a decoder says of a text that is there
/// already. A token's log-probability has the bits that Decoding gives at the same place.
class Scoring {
 public:
  /// `place`: of the token in the sequence.
  using OnScore = std::function<void(std::int64_t place, const ops::Likelihood& likelihood)>;

  /// Throws BadArgument for a model that writes no text (an encoder, or one without an output matrix) and for a context
  /// that it does not take; OutOfMemory.
  Scoring(Transformer transformer, const ScoringOptions& options);

  /// Takes these edges out of what goes through from now on. Where they are others than before, nothing that stands in
  /// the context is used again. score() throws BadArgument for positions that the context does not hold.
  void knock_out(std::vector<KnockOut> knock_outs);

  /// The tokens of `ids` from `first` on, which is 1 at least, ascending. What `ids` begin with as those of the call
  /// before did is in the context and does not go through again. Throws BadArgument for more ids than the context
  /// holds, Cancelled, BadFile where a log-probability is no number; what `on_score` was told of stays true.
  void score(std::span<const std::int32_t> ids, std::int64_t first, const OnScore& on_score);

 private:
  void keep_common(std::span<const std::int32_t> ids, std::int64_t most);
  void read(std::span<const float> logits, std::span<const std::int32_t> ids, std::int64_t place,
            const OnScore& on_score) const;
  void run(std::span<const std::int32_t> ids, LogitRows rows, const LogitReader& read);

  Transformer transformer_;
  ScoringOptions options_;
  Context context_;
  std::vector<KnockOut> knock_outs_;
  bool whole_;             // a rope follows the text's length, so that all of it goes through at once
  std::int64_t done_ = 0;  // tokens, of all calls so far
};

/// Throws BadArgument for a model whose logits say nothing of a next token.
void require_decoder(const TransformerConfig& config);

/// Bytes that score() takes for the logits of a pass over `rows` rows while it reads them.
std::int64_t score_logit_bytes(const TransformerConfig& config, std::int64_t rows);

}  // namespace sightline::model

#endif  // SIGHTLINE_GENERATION_SCORING_H_
