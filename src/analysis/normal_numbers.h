#ifndef SIGHTLINE_ANALYSIS_NORMAL_NUMBERS_H_
#define SIGHTLINE_ANALYSIS_NORMAL_NUMBERS_H_

#include <cmath>
#include <cstdint>
#include <numbers>
#include <optional>
#include <span>
#include <utility>

#include "src/ops/random.h"

namespace sightline::analysis {

/// Draws from N(0, 1) that a seed decides (Box & Muller 1958).
class NormalNumbers {
 public:
  explicit NormalNumbers(std::uint64_t seed) : random_(seed) {}

  double operator()() {
    if (second_) return *std::exchange(second_, std::nullopt);
    const double radius = std::sqrt(-2 * std::log(1 - random_.uniform()));  // of (0, 1]
    const double angle = 2 * std::numbers::pi * random_.uniform();
    second_ = radius * std::sin(angle);
    return radius * std::cos(angle);
  }

  template <class Number>
  void fill(std::span<Number> values) {
    for (Number& value : values) value = static_cast<Number>((*this)());
  }

 private:
  ops::Random random_;
  std::optional<double> second_;  // each pair of even numbers makes two
};

}  // namespace sightline::analysis

#endif  // SIGHTLINE_ANALYSIS_NORMAL_NUMBERS_H_
