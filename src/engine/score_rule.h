#ifndef SIGHTLINE_ENGINE_SCORE_RULE_H_
#define SIGHTLINE_ENGINE_SCORE_RULE_H_

#include <cstdint>
#include <vector>

#include "sightline/attention.h"

namespace sightline::engine {

/// Keys [begin, end) of a map.
struct KeyRange {
  std::int64_t begin = 0, end = 0;

  std::int64_t count() const { return end - begin; }
  bool has(std::int64_t key) const { return begin <= key && key < end; }
  bool operator==(const KeyRange&) const = default;
};

/// What a layer makes of its dot products, and which keys its rows see. It follows from the model and the text's length
/// alone, so that it is known also of layers that were not kept.
struct ScoreRule {
  double scale = 1;
  float softcap = 0;  // 0: none
  bool causal = false;
  std::int64_t query_position = 0;                   // the key at which query 0 stands
  std::int64_t window_left = -1, window_right = -1;  // keys before and after the row's own; -1: all
  std::vector<float> sinks;                          // [heads] a logit beside those of the keys; or empty

  ScoreRule() = default;
  explicit ScoreRule(const AttentionProblem& problem);

  bool hides() const { return causal || window_left >= 0 || window_right >= 0; }
  /// The keys that a row sees, of `keys`.
  KeyRange visible(std::int64_t row, std::int64_t keys) const;
};

}  // namespace sightline::engine

#endif  // SIGHTLINE_ENGINE_SCORE_RULE_H_
