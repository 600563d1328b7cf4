#ifndef SIGHTLINE_ANALYSIS_DIVERGENCE_H_
#define SIGHTLINE_ANALYSIS_DIVERGENCE_H_

#include <numbers>
#include <span>

namespace sightline::analysis {

/// The largest Jensen-Shannon divergence there is, of rows that share no key: ln 2 nats.
inline constexpr double kMostDivergence = std::numbers::ln2;

/// The Jensen-Shannon divergence of two rows over the same keys, in nats: the mean of KL(p || m) and KL(q || m), where
/// m is the mean of the two. 0 for equal rows, exactly; the same for (q, p), exactly. Weights must not be negative;
/// rows that do not add up to 1 are taken as they are. Not a number where a weight is none.
double jensen_shannon(std::span<const double> p, std::span<const double> q);

}  // namespace sightline::analysis

#endif  // SIGHTLINE_ANALYSIS_DIVERGENCE_H_
