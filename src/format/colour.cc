#include "src/format/colour.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace sightline::format {
namespace {

double linear_of(std::uint8_t channel) {
  const double c = channel / 255.0;
  return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
}

std::uint8_t channel_of(double linear) {
  const double clipped = std::clamp(linear, 0.0, 1.0);
  const double c = clipped <= 0.0031308 ? 12.92 * clipped : 1.055 * std::pow(clipped, 1 / 2.4) - 0.055;
  return static_cast<std::uint8_t>(std::lround(255 * c));
}

constexpr Rgb from_hex(std::uint32_t hex) {
  return {static_cast<std::uint8_t>(hex >> 16), static_cast<std::uint8_t>(hex >> 8), static_cast<std::uint8_t>(hex)};
}

// Stops of the scale at t = 0, 1/8, ... 1. Their OKLab lightness falls (rises, when dark) by the same step each time;
// hue stays within 14 degrees.
constexpr std::array<std::uint32_t, 9> kLightStops = {0xf6fafa, 0xcee1e3, 0x9ccbd1, 0x5cb6c3, 0x339cac,
                                                      0x128293, 0x036777, 0x0e4c59, 0x15333a};
constexpr std::array<std::uint32_t, 9> kDarkStops = {0x131b1d, 0x1c3337, 0x0e4f58, 0x006e7b, 0x008b97,
                                                     0x17a6af, 0x58c1c6, 0x8edadc, 0xc3f3f2};
constexpr int kSteps = 256;
using Ramp = std::array<Rgb, kSteps>;

// Lightness runs straight from the first stop to the last, and only a and b follow the stops between, so that rounding
// a stop to 8 bits does not bend the scale.
Ramp make_ramp(const std::array<std::uint32_t, 9>& stops) {
  std::array<OkLab, 9> labs;
  std::transform(stops.begin(), stops.end(), labs.begin(), [](std::uint32_t hex) { return to_oklab(from_hex(hex)); });
  Ramp ramp;
  for (int i = 0; i < kSteps; ++i) {
    const double t = i / (kSteps - 1.0), at = t * 8;
    const int left = std::min(7, static_cast<int>(at));
    const OkLab &from = labs[left], &to = labs[left + 1];
    ramp[i] = to_rgb({std::lerp(labs[0].lightness, labs[8].lightness, t), std::lerp(from.a, to.a, at - left),
                      std::lerp(from.b, to.b, at - left)});
  }
  return ramp;
}

double luminance(Rgb colour) {
  return 0.2126 * linear_of(colour.red) + 0.7152 * linear_of(colour.green) + 0.0722 * linear_of(colour.blue);
}

}  // namespace

OkLab to_oklab(Rgb colour) {
  const double r = linear_of(colour.red), g = linear_of(colour.green), b = linear_of(colour.blue);
  const double l = std::cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const double m = std::cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const double s = std::cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return {0.2104542553 * l + 0.7936177850 * m - 0.0040720468 * s,
          1.9779984951 * l - 2.4285922050 * m + 0.4505937099 * s,
          0.0259040371 * l + 0.7827717662 * m - 0.8086757660 * s};
}

Rgb to_rgb(const OkLab& colour) {
  const auto cube = [](double x) { return x * x * x; };
  const double l = cube(colour.lightness + 0.3963377774 * colour.a + 0.2158037573 * colour.b);
  const double m = cube(colour.lightness - 0.1055613458 * colour.a - 0.0638541728 * colour.b);
  const double s = cube(colour.lightness - 0.0894841775 * colour.a - 1.2914855480 * colour.b);
  return {channel_of(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
          channel_of(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
          channel_of(-0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s)};
}

const Palette& palette(Theme theme) {
  static constexpr Palette kLight = {from_hex(0xfafcfb), from_hex(0x101c1b), from_hex(0x4d5d5b), from_hex(0xd5dddb),
                                     from_hex(0x0b6772)};
  static constexpr Palette kDark = {from_hex(0x0d1615), from_hex(0xecf3f1), from_hex(0xa3b4b1), from_hex(0x2a3836),
                                    from_hex(0x62c6d3)};
  return theme == Theme::light ? kLight : kDark;
}

double ease(double weight) { return weight > 0 ? std::min(1.0, std::pow(weight, 0.6)) : 0; }

double ease_long(double weight, std::int64_t keys) {
  if (!(weight > 0)) return 0;
  const double even = std::log10(static_cast<double>(std::max<std::int64_t>(1, keys)));
  return std::clamp((std::log10(weight) + even + 1.2) / (even + 1.2), 0.0, 1.0);
}

Rgb weight_colour(double t, Theme theme) {
  static const Ramp light = make_ramp(kLightStops), dark = make_ramp(kDarkStops);
  const double clipped = t > 0 ? std::min(t, 1.0) : 0;
  return (theme == Theme::light ? light : dark)[static_cast<std::size_t>(std::lround(clipped * (kSteps - 1)))];
}

Rgb ink_on(Rgb background) {
  // WCAG contrast with white is 1.05 / (L + 0.05), with black (L + 0.05) / 0.05; they meet at L = sqrt(1.05 * 0.05) -
  // 0.05.
  return luminance(background) > 0.1791 ? Rgb{0, 0, 0} : Rgb{255, 255, 255};
}

std::string hex(Rgb colour) { return fmt::format("#{:02x}{:02x}{:02x}", colour.red, colour.green, colour.blue); }

}  // namespace sightline::format
