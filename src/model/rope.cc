#include "src/model/rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace sightline::model {
namespace {

constexpr double kTurn = 2 * std::numbers::pi;

std::vector<double> plain_frequencies(double base, std::int64_t width) {
  std::vector<double> angle(width / 2);
  for (std::size_t i = 0; i < angle.size(); ++i) {
    angle[i] = std::pow(base, -2.0 * static_cast<double>(i) / static_cast<double>(width));
  }
  return angle;
}

// NTK-aware: the base grows so that the lowest frequency shrinks as linear scaling would shrink it.
double dynamic_base(const Rope& rope, std::int64_t length) {
  const double original = static_cast<double>(rope.original_positions), width = static_cast<double>(rope.width);
  const double growth = rope.factor * std::max(static_cast<double>(length), original) / original - (rope.factor - 1);
  return rope.width > 2 ? rope.base * std::pow(growth, width / (width - 2)) : rope.base;
}

// The pair (a fraction) that makes `turns` turns over the original positions.
double pair_of_turns(const Rope& rope, double turns) {
  const double original = static_cast<double>(rope.original_positions);
  return static_cast<double>(rope.width) * std::log(original / (turns * kTurn)) / (2 * std::log(rope.base));
}

// Pairs of many turns stay, those of less than one are divided by the factor, between the two is a ramp.
void scale_yarn(const Rope& rope, std::vector<double>& angle) {
  double low = pair_of_turns(rope, rope.beta_fast), high = pair_of_turns(rope, rope.beta_slow);
  if (rope.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, static_cast<double>(rope.width - 1));
  if (low == high) high += 0.001;  // as the reference does: a step in place of a ramp
  for (std::size_t i = 0; i < angle.size(); ++i) {
    const double ramp = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
    angle[i] = angle[i] / rope.factor * ramp + angle[i] * (1 - ramp);
  }
}

double yarn_factor(const Rope& rope) {
  const auto of = [&](double mscale) { return rope.factor <= 1 ? 1.0 : 0.1 * mscale * std::log(rope.factor) + 1; };
  const double mscale = rope.mscale.value_or(0), all = rope.mscale_all_dim.value_or(0);
  return mscale != 0 && all != 0 ? of(mscale) / of(all) : of(1);
}

double longrope_factor(const Rope& rope) {
  if (rope.factor <= 1) return 1;
  return std::sqrt(1 + std::log(rope.factor) / std::log(static_cast<double>(rope.original_positions)));
}

void scale_llama3(const Rope& rope, std::vector<double>& angle) {
  for (double& a : angle) {
    const double turns = static_cast<double>(rope.original_positions) * a / kTurn;  // over the original positions
    const double steps = rope.high_frequency_factor - rope.low_frequency_factor;
    const double kept = std::clamp((turns - rope.low_frequency_factor) / steps, 0.0, 1.0);
    a = (1 - kept) * a / rope.factor + kept * a;
  }
}

template <class Number>
void divide(std::vector<double>& angle, const std::vector<Number>& divisors) {
  for (std::size_t i = 0; i < angle.size(); ++i) angle[i] /= divisors[i];
}

}  // namespace

RopeFrequencies rope_frequencies(const Rope& rope, std::int64_t length) {
  const bool dynamic = rope.scaling == RopeScaling::dynamic;
  RopeFrequencies result{plain_frequencies(dynamic ? dynamic_base(rope, length) : rope.base, rope.width)};
  switch (rope.scaling) {
    case RopeScaling::none:
    case RopeScaling::dynamic:
      break;
    case RopeScaling::linear:
      for (double& a : result.angle) a /= rope.factor;
      break;
    case RopeScaling::yarn:
      scale_yarn(rope, result.angle);
      result.factor = yarn_factor(rope);
      break;
    case RopeScaling::longrope:
      divide(result.angle, length > rope.original_positions ? rope.long_factors : rope.short_factors);
      result.factor = longrope_factor(rope);
      break;
    case RopeScaling::llama3:
      scale_llama3(rope, result.angle);
      break;
    case RopeScaling::divisors:
      divide(result.angle, rope.divisors);
      break;
  }
  result.factor = rope.attention_factor.value_or(result.factor);
  return result;
}

bool frequencies_differ(std::span<const Rope> ropes, std::int64_t length, std::int64_t other) {
  return std::ranges::any_of(ropes, [&](const Rope& rope) {
    return rope.follows_length() && !(rope_frequencies(rope, length) == rope_frequencies(rope, other));
  });
}

}  // namespace sightline::model
