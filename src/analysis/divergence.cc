#include "src/analysis/divergence.h"

#include <cmath>
#include <cstddef>

namespace sightline::analysis {
namespace {

// Below this t the series of shape() has all digits with so many terms, and takes no logarithm.
constexpr double kSeriesUpTo = 0.125;
constexpr int kTerms = 9;

// (1 + t) ln(1 + t) + (1 - t) ln(1 - t) for t from 0 to 1: the sum of t^2k / (k (2k - 1)) over k from 1.
double shape(double t) {
  if (t < kSeriesUpTo) {
    double sum = 0;
    for (int k = kTerms; k > 0; --k) sum = t * t * (sum + 1.0 / (k * (2 * k - 1)));
    return sum;
  }
  return (1 + t) * std::log1p(t) + (t == 1 ? 0 : (1 - t) * std::log1p(-t));
}

// What one key adds: with m = (p + q) / 2 and t = |p - q| / (p + q), (p ln(p/m) + q ln(q/m)) / 2 is m shape(t) / 2,
// which is never negative, so that large terms of either sign do not have to cancel over the keys.
double of_key(double p, double q) {
  const double sum = p + q;
  return sum == 0 ? 0 : sum / 4 * shape(std::abs(p - q) / sum);
}

}  // namespace

double jensen_shannon(std::span<const double> p, std::span<const double> q) {
  double sum = 0;
  for (std::size_t i = 0; i < p.size(); ++i) sum += of_key(p[i], q[i]);
  return sum;
}

}  // namespace sightline::analysis
