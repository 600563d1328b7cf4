#include "src/analysis/rank_correlation.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>

#include "sightline/error.h"

namespace sightline::analysis {
namespace {

bool has_nan(std::span<const double> values) {
  return std::ranges::any_of(values, [](double value) { return std::isnan(value); });
}

}  // namespace

std::vector<double> average_ranks(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](std::size_t i) { return values[i]; });
  std::vector<double> ranks(values.size());
  for (std::size_t first = 0, end = 0; first < order.size(); first = end) {
    while (end < order.size() && values[order[end]] == values[order[first]]) ++end;
    const double rank = static_cast<double>(first + 1 + end) / 2;  // the mean of first + 1 .. end
    for (std::size_t i = first; i < end; ++i) ranks[order[i]] = rank;
  }
  return ranks;
}

double rank_correlation(std::span<const double> a, std::span<const double> b) {
  if (a.size() != b.size()) throw BadArgument("a rank correlation takes pairs, and the two lists differ in length");
  if (a.size() < 2 || has_nan(a) || has_nan(b)) return std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> x = average_ranks(a), y = average_ranks(b);
  const double mean = static_cast<double>(a.size() + 1) / 2;  // of either: ties keep the sum of the ranks
  double xx = 0, yy = 0, xy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - mean) * (x[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
    xy += (x[i] - mean) * (y[i] - mean);
  }
  if (xx == 0 || yy == 0) return std::numeric_limits<double>::quiet_NaN();
  return std::clamp(xy / std::sqrt(xx * yy), -1.0, 1.0);
}

double chance_rank_correlation(std::int64_t pairs) {
  if (pairs < 5) return std::numeric_limits<double>::quiet_NaN();
  return 1.959964 / std::sqrt(static_cast<double>(pairs - 1));  // the 97.5th percentile of a normal distribution
}

}  // namespace sightline::analysis
