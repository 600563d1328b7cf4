#include "src/analysis/tally.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace sightline::analysis {
namespace {

constexpr double kFalseFindings = 0.05;    // over all heads
constexpr std::int64_t kManyTexts = 2000;  // Student's distribution differs from the normal one by less than 1 % there

// P(Z > z) of the normal distribution.
double upper_tail(double z) { return std::erfc(z / std::numbers::sqrt2) / 2; }

// P(T > t) of Student's distribution: the finite sums for whole degrees of freedom (Abramowitz & Stegun 26.7.3 and 4).
double student_tail(double t, std::int64_t freedom) {
  const double angle = std::atan(t / std::sqrt(static_cast<double>(freedom)));
  const double cosine = std::cos(angle), sine = std::sin(angle);
  const bool odd = freedom % 2 == 1;
  double term = odd ? cosine : 1, sum = 0;
  for (std::int64_t i = odd ? 1 : 0; i < freedom - 1; i += 2) {
    sum += term;
    term *= cosine * cosine * static_cast<double>(i + 1) / static_cast<double>(i + 2);
  }
  const double within = odd ? (angle + sine * sum) * 2 / std::numbers::pi : sine * sum;
  return (1 - within) / 2;
}

// Where a falling function reaches `value`.
template <class Function>
double where(const Function& falling, double value) {
  double low = 0, high = 1e6;
  for (int step = 0; step < 100; ++step) {
    const double middle = (low + high) / 2;
    (falling(middle) > value ? low : high) = middle;
  }
  return high;
}

bool is_over_zero(const Gain& gain, double count, double errors) {
  const double n = count + 2, mean = gain.sum / n;
  const double variance = (gain.squares + 2) / n - mean * mean;
  return mean > errors * std::sqrt(variance / n);
}

// The mean of all questions as a ratio of sums over texts.
bool is_over_zero_by_text(const Gain& gain, const Tally& tally, double errors) {
  const double mean = gain.sum / tally.questions;
  const double squares = gain.text_squares - 2 * mean * gain.text_products + mean * mean * tally.text_squares;
  const double variance = std::max(0.0, squares) * tally.texts / (tally.texts - 1);
  return mean > errors * std::sqrt(variance) / tally.questions;
}

void add_to(Gain& gain, const Gain& other) {
  gain.sum += other.sum;
  gain.squares += other.squares;
  gain.text_squares += other.text_squares;
  gain.text_products += other.text_products;
}

void fold(Gain& text, double questions) {
  text.text_squares = text.sum * text.sum;
  text.text_products = text.sum * questions;
}

}  // namespace

void Tally::add(const Answer& answer) {
  questions += 1;
  right += answer.right ? 1 : 0;
  weight += answer.weight;
  rule += answer.baseline;
  even += answer.even_weight;
  over_rule.add((answer.right ? 1.0 : 0.0) - answer.baseline);
  over_even.add((answer.right ? 1.0 : 0.0) - answer.even_weight);
  excess.add(answer.weight - answer.even_weight);
}

void Tally::add_text(const Tally& text) {
  if (text.questions == 0) return;
  Tally one = text;
  one.texts = 1;
  one.text_squares = one.questions * one.questions;
  for (Gain* gain : {&one.over_rule, &one.over_even, &one.excess}) fold(*gain, one.questions);
  add(one);
}

void Tally::add(const Tally& other) {
  questions += other.questions;
  right += other.right;
  weight += other.weight;
  rule += other.rule;
  even += other.even;
  texts += other.texts;
  text_squares += other.text_squares;
  add_to(over_rule, other.over_rule);
  add_to(over_even, other.over_even);
  add_to(excess, other.excess);
}

double needed_errors(std::int64_t heads) { return where(upper_tail, kFalseFindings / static_cast<double>(heads)); }

double needed_errors(std::int64_t heads, std::int64_t texts) {
  if (texts > kManyTexts) return needed_errors(heads);
  return where([texts](double t) { return student_tail(t, texts - 1); }, kFalseFindings / static_cast<double>(heads));
}

bool beats_baseline(const Tally& tally, std::int64_t heads) {
  if (tally.questions == 0 || share_of_rest(tally) < kLeastShare) return false;
  const auto texts = static_cast<std::int64_t>(tally.texts);
  const double errors = needed_errors(heads), text_errors = texts < kFewTexts ? 0 : needed_errors(heads, texts);
  for (const Gain* gain : {&tally.over_rule, &tally.over_even, &tally.excess}) {
    if (!is_over_zero(*gain, tally.questions, errors)) return false;
    if (texts >= kFewTexts && !is_over_zero_by_text(*gain, tally, text_errors)) return false;
  }
  return true;
}

double share_of_rest(const Tally& tally) {
  const double rest = 1 - tally.baseline();
  return rest > 0 ? (tally.score() - tally.baseline()) / rest : 0;
}

}  // namespace sightline::analysis
