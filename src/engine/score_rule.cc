#include "src/engine/score_rule.h"

#include <algorithm>
#include <cmath>

namespace sightline::engine {

ScoreRule::ScoreRule(const AttentionProblem& problem)
    : scale(problem.scale ? double{*problem.scale} : 1 / std::sqrt(static_cast<double>(problem.q.shape[3]))),
      softcap(problem.softcap),
      causal(problem.causal),
      query_position(problem.alignment == Alignment::top_left ? 0 : problem.k.shape[2] - problem.q.shape[2]),
      window_left(problem.window_left),
      window_right(problem.window_right),
      sinks(problem.sinks.begin(), problem.sinks.end()) {}

KeyRange ScoreRule::visible(std::int64_t row, std::int64_t keys) const {
  const std::int64_t at = query_position + row;
  const std::int64_t left = window_left < 0 ? at : window_left;
  const std::int64_t right = causal ? 0 : window_right < 0 ? keys : window_right;
  const std::int64_t begin = std::clamp<std::int64_t>(at - left, 0, keys);
  return {begin, std::clamp<std::int64_t>(at + right + 1, begin, keys)};
}

}  // namespace sightline::engine
