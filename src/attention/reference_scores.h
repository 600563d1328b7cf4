#ifndef SIGHTLINE_ATTENTION_REFERENCE_SCORES_H_
#define SIGHTLINE_ATTENTION_REFERENCE_SCORES_H_

#include <limits>

#include "src/attention/reference_operands.h"

namespace sightline::reference {

inline constexpr double kHidden = -std::numeric_limits<double>::infinity();

/// Whether the query sees key `n` of its sequence, which is in use.
bool sees(const AttentionProblem& problem, const Query& query, std::int64_t n);

/// As relative_bucket(), from the definition.
std::int64_t bucket(const RelativeBias& bias, std::int64_t offset);

/// dot * scale of a query and key `n` of its sequence.
double raw_score(const AttentionProblem& problem, const Query& query, std::int64_t n);
double capped_score(const AttentionProblem& problem, const Query& query, std::int64_t n);
/// With all that is added to the capped score, and the caller's function; the mask is not looked at.
double full_score(const AttentionProblem& problem, const Query& query, std::int64_t n);

}  // namespace sightline::reference

#endif  // SIGHTLINE_ATTENTION_REFERENCE_SCORES_H_
