#include "src/analysis/tally.h"

#include <cmath>
#include <numbers>

namespace sightline::analysis {
namespace {

constexpr double kFalseFindings = 0.05;  // over all heads

// P(Z > z) of the normal distribution.
double upper_tail(double z) { return std::erfc(z / std::numbers::sqrt2) / 2; }

bool is_over_zero(double sum, double squares, double count, double errors) {
  const double n = count + 2, mean = sum / n;
  const double variance = (squares + 2) / n - mean * mean;
  return mean > errors * std::sqrt(variance / n);
}

}  // namespace

void Tally::add(const Answer& answer) {
  const double over_baseline = (answer.right ? 1.0 : 0.0) - answer.baseline;
  const double over_even = answer.weight - answer.even_weight;
  questions += 1;
  right += answer.right ? 1 : 0;
  weight += answer.weight;
  gain += over_baseline;
  gain_squares += over_baseline * over_baseline;
  excess += over_even;
  excess_squares += over_even * over_even;
}

void Tally::add(const Tally& other) {
  questions += other.questions;
  right += other.right;
  weight += other.weight;
  gain += other.gain;
  gain_squares += other.gain_squares;
  excess += other.excess;
  excess_squares += other.excess_squares;
}

double needed_errors(std::int64_t heads) {
  const double tail = kFalseFindings / static_cast<double>(heads);
  double low = 0, high = 40;
  for (int step = 0; step < 60; ++step) {
    const double middle = (low + high) / 2;
    (upper_tail(middle) > tail ? low : high) = middle;
  }
  return high;
}

bool beats_baseline(const Tally& tally, double errors) {
  if (tally.questions == 0) return false;
  return is_over_zero(tally.gain, tally.gain_squares, tally.questions, errors) &&
         is_over_zero(tally.excess, tally.excess_squares, tally.questions, errors);
}

double share_of_rest(const Tally& tally) {
  const double rest = 1 - tally.baseline();
  return rest > 0 ? (tally.score() - tally.baseline()) / rest : 0;
}

}  // namespace sightline::analysis
