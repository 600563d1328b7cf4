#ifndef SIGHTLINE_ANALYSIS_BASELINES_H_
#define SIGHTLINE_ANALYSIS_BASELINES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/analysis/probe.h"

namespace sightline::analysis {

/// A rule that answers a question without reading weights.
struct Rule {
  enum class Kind : std::uint8_t { nearest, before, after };
  Kind kind = Kind::nearest;
  std::int64_t n = 1;  // which one before or after the row, from 1

  bool operator==(const Rule&) const = default;
};

/// The candidate that the rule takes, as an index; none where there is no such candidate. Nearest is by tokens between
/// row and candidate, of two equally near ones the one before.
std::optional<std::size_t> answer_of(const Rule& rule, const Question& question);
bool is_right(const Rule& rule, const Question& question);

/// The rule that answers most of these right: the nearest candidate, or the n-th before or after the row. Of equally
/// good ones that which comes first in this order, smaller n first.
Rule best_rule(const std::vector<const Question*>& questions);

/// "nearest", "1 before", "2 after".
std::string rule_name(const Rule& rule);

}  // namespace sightline::analysis

#endif  // SIGHTLINE_ANALYSIS_BASELINES_H_
