#include "src/engine/score.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "sightline/error.h"
#include "src/engine/knock_out.h"
#include "src/engine/look_memory.h"
#include "src/engine/memory.h"
#include "src/engine/session.h"
#include "src/engine/token_label.h"
#include "src/generation/decoding.h"
#include "src/generation/scoring.h"

namespace sightline::engine {
namespace {

constexpr int kMaxTop = 64;
constexpr double kLn2 = 0x1.62e42fefa39efp-1;
constexpr char kAdvice[] =
    "make the context smaller (-c), keep it in fewer bytes (-ctk, -ctv), or take a smaller model";

using Ids = std::vector<std::int32_t>;

void require_top(int top) {
  if (top < 1 || top > kMaxTop) throw BadArgument(fmt::format("top is {}: it can be 1 to {}", top, kMaxTop));
}

Ids ids_of(std::span<const LookToken> tokens) {
  Ids ids;
  for (const LookToken& token : tokens) ids.push_back(token.id);
  return ids;
}

// Tokens that the template puts before a text: every window begins with them.
std::int64_t count_prefix(std::span<const LookToken> tokens) {
  return std::ranges::find(tokens, false, &LookToken::special) - tokens.begin();
}

std::int64_t stride_of(std::int64_t asked, std::int64_t context, std::int64_t prefix) {
  const std::int64_t most = context - std::max<std::int64_t>(prefix, 1);  // so that something stands before each token
  if (most < 1) {
    throw BadArgument(
        fmt::format("a context of {} tokens has no room for a token and one before it: make it larger (-c)", context));
  }
  const std::int64_t stride = asked == 0 ? std::clamp<std::int64_t>(context / 2, 1, most) : asked;
  if (stride >= 1 && stride <= most) return stride;
  throw BadArgument(
      fmt::format("the stride is {}: with a context of {} tokens it can be 1 to {}", stride, context, most));
}

model::ScoringOptions scoring_options(const ScoreOptions& options, std::int64_t room, int threads) {
  return {.room = room, .cache = options.cache, .threads = threads, .top = options.top, .progress = options.progress};
}

TokenScore token_score(const tokenizer::Tokenizer& tokenizer, std::int64_t token, std::int64_t before,
                       const ops::Likelihood& likelihood) {
  TokenScore score{token, before, likelihood.log_probability, likelihood.rank, {}};
  for (const ops::LikelyToken& likely : likelihood.likeliest) {
    score.likeliest.push_back({likely.id, token_label(tokenizer, likely.id), likely.log_probability});
  }
  return score;
}

// White space of which no token tells belongs to the token after it, at the text's end to the last one.
ScoreSummary summary_of(std::string_view text, std::span<const LookToken> tokens, std::span<const TokenScore> scores) {
  ScoreSummary summary;
  if (scores.empty()) return summary;
  for (const TokenScore& score : scores) summary.log_probability += score.log_probability;
  const auto first = static_cast<std::size_t>(scores.front().token),
             last = static_cast<std::size_t>(scores.back().token);
  const std::size_t begin = first == 0 ? 0 : tokens[first - 1].byte_end;
  const std::size_t end = last + 1 == tokens.size() ? text.size() : tokens[last].byte_end;
  summary.tokens = std::ssize(scores);
  summary.bytes = static_cast<std::int64_t>(end - begin);
  return summary;
}

// Of ranges of the text those in a window, which holds the text's first `prefix` tokens and its own behind them.
std::vector<model::PositionRange> ranges_in(const ScoreWindow& window, std::int64_t prefix,
                                            const std::vector<model::PositionRange>& ranges) {
  std::vector<model::PositionRange> found;
  const auto add = [&](std::int64_t begin, std::int64_t end) {
    if (begin < end) found.push_back({begin, end});
  };
  for (const model::PositionRange& range : ranges) {
    add(range.begin, std::min(range.end, prefix));
    add(std::max(range.begin - window.begin, prefix), std::min(range.end, prefix + window.end) - window.begin);
  }
  return found;
}

// Without those that hide nothing there: to a pass no range means all.
std::vector<model::KnockOut> knock_outs_in(const ScoreWindow& window, std::int64_t prefix,
                                           std::span<const model::KnockOut> knock_outs) {
  std::vector<model::KnockOut> found;
  for (model::KnockOut one : knock_outs) {
    one.rows = ranges_in(window, prefix, one.rows);
    one.keys = ranges_in(window, prefix, one.keys);
    if (!one.rows.empty() && !one.keys.empty()) found.push_back(std::move(one));
  }
  return found;
}

std::int64_t first_difference(std::span<const LookToken> a, std::span<const LookToken> b) {
  return std::ranges::mismatch(a, b, {}, &LookToken::id, &LookToken::id).in1 - a.begin();
}

void rank_targets(std::vector<TargetScore>& targets) {
  for (TargetScore& target : targets) {
    target.rank = 1 + std::ranges::count_if(targets, [&](const TargetScore& other) {
                    return other.summary.log_probability > target.summary.log_probability;
                  });
  }
}

void require_target(const TargetScore& target, std::int64_t first, std::int64_t context) {
  if (std::cmp_less_equal(target.tokens.size(), first)) {
    throw BadArgument(
        fmt::format("the target \"{}\" adds no token to the text: leave it out", shortened(target.target)));
  }
  if (std::cmp_greater(target.tokens.size(), context)) {
    throw BadArgument(fmt::format("text and target \"{}\" have {} tokens and the context holds {}: make it larger (-c)",
                                  shortened(target.target), target.tokens.size(), context));
  }
}

}  // namespace

double ScoreSummary::mean() const { return log_probability / static_cast<double>(tokens); }
double ScoreSummary::perplexity() const { return std::exp(-mean()); }
double ScoreSummary::bits_per_byte() const { return -log_probability / (kLn2 * static_cast<double>(bytes)); }

std::vector<ScoreWindow> score_windows(std::int64_t tokens, std::int64_t room, std::int64_t stride,
                                       std::int64_t first) {
  std::vector<ScoreWindow> windows;
  for (std::int64_t begin = 0;; begin += stride) {
    const std::int64_t end = std::min(begin + room, tokens);
    windows.push_back({begin, end, windows.empty() ? first : windows.back().end});
    if (end == tokens) return windows;
  }
}

ReadPrompt Session::read_for_score(const Prompt& prompt) const {
  ReadPrompt read = this->read(prompt, facts_.config.causal);
  std::vector<LookToken>& tokens = read.tokens;
  while (!tokens.empty() && tokens.back().special && std::cmp_less(count_prefix(tokens), tokens.size())) {
    tokens.pop_back();
    read.segments.of_token.pop_back();
  }
  return read;
}

// With the space that a token begins with, which its place in the text may leave out, as other tokens' labels.
std::vector<LookToken> Session::scored_tokens(ReadPrompt&& read) const {
  for (LookToken& token : read.tokens) token.label = token_label(model_.tokenizer, token.id);
  return std::move(read.tokens);
}

MemoryPlan Session::plan_score(std::int64_t tokens, const ScoreOptions& options) const {
  const std::int64_t room = std::min(tokens, context_tokens(facts_, options.context));
  const bool whole = std::ranges::any_of(facts_.config.ropes, &model::Rope::follows_length);
  const std::int64_t rows = whole ? room : std::min(room, model::ScoringOptions{}.piece);
  const auto of_token = static_cast<std::int64_t>(sizeof(LookToken) + sizeof(TokenScore)) +
                        options.top * static_cast<std::int64_t>(sizeof(LikelyText));
  MemoryPlan plan;
  plan.weights = facts_.weights.bytes;
  plan.kept = model::cache_bytes(facts_.config, room, options.cache) + tokens * of_token;
  plan.workspace = static_cast<std::int64_t>(pass_bytes(facts_, rows, options_.threads, 0)) +
                   model::score_logit_bytes(facts_.config, rows);
  return plan;
}

Score Session::score(const Prompt& prompt, const ScoreOptions& options) const {
  return within_memory(kNoMemoryForScore, [&] {
    model::require_decoder(facts_.config);
    require_top(options.top);
    Score result;
    result.text = prompt.text;
    ReadPrompt read = read_for_score(prompt);
    result.knock_outs = resolve(options.knock_outs, read, /*goes_on=*/false);
    result.tokens = scored_tokens(std::move(read));
    const std::int64_t prefix = count_prefix(result.tokens), body = std::ssize(result.tokens) - prefix;
    if (body < (prefix > 0 ? 1 : 2)) {
      throw BadArgument(fmt::format("the text has {} token{}, and a token is scored after others: give a longer text",
                                    body, body == 1 ? "" : "s"));
    }
    result.context = context_tokens(facts_, options.context);
    result.stride = stride_of(options.stride, result.context, prefix);
    require_memory(plan_score(std::ssize(result.tokens), options), memory(), kAdvice);
    run_windows(options, prefix, result);
    result.summary = summary_of(result.text, result.tokens, result.scores);
    return result;
  });
}

void Session::run_windows(const ScoreOptions& options, std::int64_t prefix, Score& result) const {
  const Ids ids = ids_of(result.tokens);
  const auto windows =
      score_windows(std::ssize(ids) - prefix, result.context - prefix, result.stride, prefix > 0 ? 0 : 1);
  result.windows = std::ssize(windows);
  model::ScoringOptions how = scoring_options(options, std::min(result.context, std::ssize(ids)), options_.threads);
  for (const ScoreWindow& window : windows) how.total += prefix + window.end - window.begin;
  const std::vector<model::KnockOut> knock_outs = model_knock_outs(result.knock_outs, facts_.config);
  try {
    model::Scoring scoring(model_.transformer, how);
    for (const ScoreWindow& window : windows) {
      Ids of_window(ids.begin(), ids.begin() + prefix);
      of_window.insert(of_window.end(), ids.begin() + prefix + window.begin, ids.begin() + prefix + window.end);
      scoring.knock_out(knock_outs_in(window, prefix, knock_outs));
      scoring.score(of_window, prefix + window.first - window.begin, [&](std::int64_t place, const auto& likelihood) {
        result.scores.push_back(token_score(model_.tokenizer, window.begin + place, place, likelihood));
      });
    }
  } catch (const Cancelled&) {
    result.complete = false;
  }
}

TargetScores Session::score_targets(const Prompt& prompt, std::span<const std::string> targets,
                                    const ScoreOptions& options) const {
  return within_memory(kNoMemoryForScore, [&] {
    model::require_decoder(facts_.config);
    require_top(options.top);
    TargetScores result;
    result.prompt = prompt.text;
    ReadPrompt read = read_for_score(prompt);
    result.knock_outs = resolve(options.knock_outs, read, /*goes_on=*/true);
    result.tokens = scored_tokens(std::move(read));
    result.context = context_tokens(facts_, options.context);
    result.first = std::ssize(result.tokens);
    std::int64_t longest = 0;
    for (const std::string& target : targets) {
      Prompt whole = prompt;
      whole.text += target;
      result.targets.push_back({target, scored_tokens(read_for_score(whole)), {}, {}, 0});
      const std::vector<LookToken>& tokens = result.targets.back().tokens;
      result.first = std::min(result.first, first_difference(result.tokens, tokens));
      longest = std::max(longest, std::ssize(tokens));
    }
    if (result.first < 1) throw BadArgument("nothing stands before the target: give a text that it comes after");
    if (result.seam_moved() && !result.knock_outs.empty()) {
      throw BadArgument(
          "a target changes how the end of the text is read, so that knock-outs would name other tokens: "
          "begin each target with a space, and end the text before it");
    }
    for (const TargetScore& target : result.targets) require_target(target, result.first, result.context);
    require_memory(plan_score(longest, options), memory(), kAdvice);
    run_targets(options, longest, result);
    rank_targets(result.targets);
    return result;
  });
}

void Session::run_targets(const ScoreOptions& options, std::int64_t longest, TargetScores& result) const {
  model::ScoringOptions how = scoring_options(options, longest, options_.threads);
  for (const TargetScore& target : result.targets) how.total += std::ssize(target.tokens);
  std::size_t done = 0;
  try {
    model::Scoring scoring(model_.transformer, how);
    scoring.knock_out(model_knock_outs(result.knock_outs, facts_.config));
    for (; done < result.targets.size(); ++done) {
      TargetScore& target = result.targets[done];
      scoring.score(ids_of(target.tokens), result.first, [&](std::int64_t place, const auto& likelihood) {
        target.scores.push_back(token_score(model_.tokenizer, place, place, likelihood));
      });
      target.summary = summary_of(result.prompt + target.target, target.tokens, target.scores);
    }
  } catch (const Cancelled&) {
    result.complete = false;
    result.targets.resize(done);
  }
}

}  // namespace sightline::engine
