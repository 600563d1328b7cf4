#ifndef SIGHTLINE_ANALYSIS_RANK_CORRELATION_H_
#define SIGHTLINE_ANALYSIS_RANK_CORRELATION_H_

#include <cstdint>
#include <span>
#include <vector>

namespace sightline::analysis {

/// Ranks from 1, the smallest first; equal values all have the mean of the ranks that they take up. No value is NaN.
std::vector<double> average_ranks(std::span<const double> values);

/// Spearman's rank correlation: Pearson's of the average ranks, so that ties count as what they are. NaN where it is
/// not defined: fewer than two pairs, all values of a side equal, or one that is NaN.
double rank_correlation(std::span<const double> a, std::span<const double> b);

/// The size that the rank correlation of so many unrelated pairs reaches one time in twenty, either way: 1.96 /
/// sqrt(pairs - 1), the normal approximation, within 0.02 of what all orders give. NaN for fewer than 5 pairs, where
/// even the same order is more frequent than that.
double chance_rank_correlation(std::int64_t pairs);

}  // namespace sightline::analysis

#endif  // SIGHTLINE_ANALYSIS_RANK_CORRELATION_H_
