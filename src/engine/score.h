#ifndef SIGHTLINE_ENGINE_SCORE_H_
#define SIGHTLINE_ENGINE_SCORE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "sightline/context.h"
#include "sightline/execution.h"
#include "src/engine/knock_out.h"
#include "src/engine/look.h"

namespace sightline::engine {

struct ScoreOptions {
  std::int64_t context = 0;  // tokens of a window; 0: model::kDefaultContext, or the model's limit below it
  std::int64_t stride = 0;   // tokens from a window's start to the next one's; 0: half the context
  model::ContextOptions cache = {};
  int top = 1;                               // of the likeliest tokens at each place, 1..64
  std::vector<std::string> knock_outs = {};  // as parse_knock_out() reads them; all of them hold at once
  Progress* progress = nullptr;              // told of tokens as they go through; false ends it, with what is done
};

/// A token that could have stood at a place.
struct LikelyText {
  std::int32_t id = 0;
  std::string label;  // as LookToken::label
  double log_probability = 0;
};

/// How likely a token was after those before it.
struct TokenScore {
  std::int64_t token = 0;   // index into the tokens
  std::int64_t before = 0;  // tokens that the model saw before it, of its window
  double log_probability = 0;
  std::int64_t rank = 0;              // 1: no token was likelier
  std::vector<LikelyText> likeliest;  // from the likeliest down
};

/// Sums over scored tokens.
struct ScoreSummary {
  std::int64_t tokens = 0;
  std::int64_t bytes = 0;      // of the text that they stand for
  double log_probability = 0;  // nats

  double mean() const;           // log-probability a token
  double perplexity() const;     // e^-mean
  double bits_per_byte() const;  // of two models with different tokenizers the comparable number
};

/// A text and how likely each of its tokens is.
struct Score {
  std::string text;
  std::vector<LookToken> tokens;   // without those that the template puts behind a text; labels are of ids
  std::vector<TokenScore> scores;  // ascending
  std::vector<TextKnockOut> knock_outs;
  ScoreSummary summary;
  std::int64_t context = 0, stride = 0, windows = 0;
  bool complete = true;  // false: the caller's progress ended it
};

/// What may come after a prompt, and how likely it is.
struct TargetScore {
  std::string target;
  std::vector<LookToken> tokens;   // of prompt and target
  std::vector<TokenScore> scores;  // of tokens from TargetScores::first on
  ScoreSummary summary;
  std::int64_t rank = 0;  // 1: no target has a larger log-probability
};

struct TargetScores {
  std::string prompt;
  std::vector<LookToken> tokens;         // of the prompt alone
  std::vector<TextKnockOut> knock_outs;  // a target's tokens are those to come
  std::int64_t first = 0;                // index of the first token that is scored, of prompt and target
  std::int64_t context = 0;
  std::vector<TargetScore> targets;  // as they were given
  bool complete = true;              // false: the caller's progress ended it; targets not done are not there

  /// Whether a target changes how the prompt's end is read: then tokens of the prompt's end are scored, too.
  bool seam_moved() const { return first < static_cast<std::int64_t>(tokens.size()); }
};

/// A part of the text that goes through a model by itself: tokens [begin, end), of which those from `first` on are
/// scored.
struct ScoreWindow {
  std::int64_t begin = 0, end = 0, first = 0;

  friend bool operator==(const ScoreWindow&, const ScoreWindow&) = default;
};

/// Windows of up to `room` tokens that begin `stride` tokens apart, until one reaches the end: each token is in the
/// scored part of just one. `first`: the first token that is scored at all.
std::vector<ScoreWindow> score_windows(std::int64_t tokens, std::int64_t room, std::int64_t stride, std::int64_t first);

}  // namespace sightline::engine

#endif  // SIGHTLINE_ENGINE_SCORE_H_
