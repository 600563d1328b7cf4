#include "cli/chart_axis.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "cli/architecture_text.h"

namespace sightline::cli {
namespace {

constexpr double kSteps = 5;          // ticks of a linear axis, about
constexpr int kMostTicks = 9;         // of a logarithmic one
constexpr double kLargest = 1e150;    // beyond it, or below its inverse, ratios of values overflow
constexpr double kPlainBelow = 1e6;   // numbers from here on are written as powers of ten
constexpr double kPlainAbove = 1e-4;  // and those below this one
constexpr double kRoom = 0.04;        // of a logarithmic axis, left at either end

// "10⁻³"
std::string power_text(int base, int exponent) {
  static constexpr const char* kDigits[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string text = fmt::format("{}{}", base, exponent < 0 ? "⁻" : "");
  for (const char digit : std::to_string(std::abs(exponent))) text += kDigits[digit - '0'];
  return text;
}

// The 1, 2, 5 or 10 times a power of ten that is nearest above `rough`.
double round_step(double rough) {
  const double decade = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * decade >= rough * (1 - 1e-9)) return factor * decade;
  }
  return 10 * decade;
}

std::string plain_text(double value, int decimals) {
  if (decimals > 0) return fmt::format("{:.{}f}", value, decimals);
  const auto whole = static_cast<std::int64_t>(std::llround(std::abs(value)));
  return (value < 0 && whole > 0 ? "-" : "") + grouped(whole);
}

// Numbers `step` apart, the largest of which is `largest` away from 0, in as many digits as tell them apart.
std::string linear_text(double value, double step, double largest) {
  if (value == 0) return "0";
  int exponent = 0;
  if (largest >= kPlainBelow || largest < kPlainAbove) exponent = static_cast<int>(std::floor(std::log10(largest / 2)));
  const double unit = std::pow(10, exponent);
  const int decimals = std::clamp(static_cast<int>(std::ceil(-std::log10(step / unit) - 1e-9)), 0, 17);
  const std::string text = plain_text(value / unit, decimals);
  return exponent == 0 ? text : text + "×" + power_text(10, exponent);
}

// `mantissa`, one digit, times a power of ten.
std::string decimal_text(int mantissa, int exponent) {
  const double value = mantissa * std::pow(10, exponent);
  if (value < kPlainBelow && value >= kPlainAbove) return plain_text(value, std::max(0, -exponent));
  return (mantissa == 1 ? "" : fmt::format("{}×", mantissa)) + power_text(10, exponent);
}

bool is_power_of_two(double value) {
  int exponent = 0;
  return std::frexp(value, &exponent) == 0.5 && exponent > 0;
}

// Powers of `base` from `low` to `high`, of which so many are left out that kMostTicks stay.
std::vector<int> exponents(double base, double low, double high) {
  const int first = static_cast<int>(std::ceil(std::log(low) / std::log(base) - 1e-9));
  const int last = static_cast<int>(std::floor(std::log(high) / std::log(base) + 1e-9));
  const int stride = 1 + std::max(0, last - first) / kMostTicks;
  std::vector<int> all;
  for (int exponent = first; exponent <= last; exponent += stride) all.push_back(exponent);
  return all;
}

std::vector<Tick> powers_of_two(double low, double high) {
  std::vector<Tick> ticks;
  for (const int exponent : exponents(2, low, high)) {
    const double value = std::ldexp(1, exponent);
    ticks.push_back({value, exponent <= 30 ? plain_text(value, 0) : power_text(2, exponent)});
  }
  return ticks;
}

// Powers of ten, and where these are few their doubles and fives.
std::vector<Tick> decades(double low, double high) {
  const bool few = high / low < 1e3;
  std::vector<Tick> ticks;
  if (!few) {
    for (const int exponent : exponents(10, low, high)) {
      ticks.push_back({std::pow(10, exponent), decimal_text(1, exponent)});
    }
    return ticks;
  }
  const int first = static_cast<int>(std::floor(std::log10(low))), last = static_cast<int>(std::ceil(std::log10(high)));
  for (int exponent = first; exponent <= last; ++exponent) {
    for (const int mantissa : {1, 2, 5}) {
      const double value = mantissa * std::pow(10, exponent);
      if (value >= low && value <= high) ticks.push_back({value, decimal_text(mantissa, exponent)});
    }
  }
  return ticks;
}

// Multiples of `step` in [low, high].
std::vector<Tick> even_ticks(double low, double high, double step) {
  const double first = std::ceil(low / step - 1e-9), last = std::floor(high / step + 1e-9);
  const double largest = step * std::max(std::abs(first), std::abs(last));
  std::vector<Tick> ticks;
  for (int i = 0; first + i <= last; ++i) {
    const double value = step * (first + i);
    ticks.push_back({value, linear_text(value, step, largest)});
  }
  return ticks;
}

}  // namespace

AxisScale::AxisScale(const std::vector<double>& values, bool logarithmic, bool numbered) : logarithmic_(logarithmic) {
  std::vector<double> held;
  std::copy_if(values.begin(), values.end(), std::back_inserter(held), [this](double value) { return holds(value); });
  if (held.empty()) held = logarithmic ? std::vector<double>{1, 10} : std::vector<double>{0, 1};
  const auto [low, high] = std::minmax_element(held.begin(), held.end());
  if (logarithmic) {
    set_logarithmic(held, *low, *high);
  } else if (numbered) {
    set_numbered(*low, *high);
  } else {
    set_linear(*low, *high);
  }
}

bool AxisScale::holds(double value) const {
  return std::abs(value) <= kLargest && (!logarithmic_ || value >= 1 / kLargest);
}

double AxisScale::place(double value) const {
  return ((logarithmic_ ? std::log(value) : value) - begin_) / (end_ - begin_);
}

// From round value to round value. An axis that has 0 near begins or ends there: what is drawn then looks as large as
// it is.
void AxisScale::set_linear(double low, double high) {
  if (low > 0 && low <= 0.5 * high) low = 0;
  if (high < 0 && high >= 0.5 * low) high = 0;
  const double least = std::max(1e-9 * std::max(std::abs(low), std::abs(high)), 1 / kLargest);
  if (high - low < least) {
    const double around = low == 0 ? 1 : 0.1 * std::abs(low);
    low -= around;
    high += around;
  }
  const double step = round_step((high - low) / kSteps);
  begin_ = step * std::floor(low / step + 1e-9);
  end_ = step * std::ceil(high / step - 1e-9);
  ticks_ = even_ticks(begin_, end_, step);
}

void AxisScale::set_numbered(double low, double high) {
  begin_ = low == high ? low - 0.5 : low;
  end_ = low == high ? high + 0.5 : high;
  ticks_ = even_ticks(begin_, end_, std::max(1.0, round_step((high - low + 1) / (kMostTicks + 3))));
}

void AxisScale::set_logarithmic(const std::vector<double>& held, double low, double high) {
  if (high / low < 1 + 1e-9) {
    low /= 2;
    high *= 2;
  }
  const bool doubling = low >= 1 && high > 2 * low && std::all_of(held.begin(), held.end(), is_power_of_two);
  ticks_ = doubling           ? powers_of_two(low, high)
           : high / low >= 10 ? decades(low, high)
                              : even_ticks(low, high, round_step((high - low) / (kMostTicks - 1)));
  const double room = kRoom * std::log(high / low);
  begin_ = std::log(low) - room;
  end_ = std::log(high) + room;
}

}  // namespace sightline::cli
