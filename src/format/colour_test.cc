#include "src/format/colour.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace sightline::format {
namespace {

double linear(std::uint8_t channel) {
  const double c = channel / 255.0;
  return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
}

double luminance(const std::array<double, 3>& rgb) { return 0.2126 * rgb[0] + 0.7152 * rgb[1] + 0.0722 * rgb[2]; }

std::array<double, 3> linear(Rgb c) { return {linear(c.red), linear(c.green), linear(c.blue)}; }

// Full dichromacy in linear sRGB, from Machado, Oliveira & Fernandes 2009, severity 1.
using Matrix = std::array<std::array<double, 3>, 3>;
constexpr Matrix kProtanopia = {
    {{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}}};
constexpr Matrix kDeuteranopia = {
    {{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}}};
constexpr Matrix kTritanopia = {
    {{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}}};

double luminance_seen(const Matrix& m, Rgb colour) {
  const auto rgb = linear(colour);
  std::array<double, 3> seen{};
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) seen[i] += m[i][j] * rgb[j];
  return luminance(seen);
}

class Scale : public testing::TestWithParam<Theme> {};

TEST_P(Scale, LightnessIsLinearInTheValue) {
  const double first = to_oklab(weight_colour(0, GetParam())).lightness;
  const double last = to_oklab(weight_colour(1, GetParam())).lightness;
  ASSERT_GT(std::abs(last - first), 0.65);
  for (int i = 0; i <= 255; ++i) {
    const double lightness = to_oklab(weight_colour(i / 255.0, GetParam())).lightness;
    EXPECT_NEAR(lightness, first + (last - first) * i / 255, 0.004) << i;  // the grain of 8 bits
  }
}

TEST_P(Scale, StepsAreEven) {
  std::vector<double> steps;
  for (int i = 1; i <= 8; ++i) {
    const OkLab from = to_oklab(weight_colour((i - 1) / 8.0, GetParam())),
                to = to_oklab(weight_colour(i / 8.0, GetParam()));
    steps.push_back(std::hypot(to.lightness - from.lightness, to.a - from.a, to.b - from.b));
  }
  const auto [least, most] = std::minmax_element(steps.begin(), steps.end());
  EXPECT_LE(*most / *least, GetParam() == Theme::light ? 1.35 : 1.5);
}

TEST_P(Scale, EveryColourBlindnessSeesItMonotone) {
  const double direction = GetParam() == Theme::light ? -1 : 1;
  for (const Matrix& kind : {kProtanopia, kDeuteranopia, kTritanopia}) {
    for (int i = 2; i <= 64; ++i) {
      const double before = luminance_seen(kind, weight_colour((i - 1) / 64.0, GetParam()));
      EXPECT_GT(direction * (luminance_seen(kind, weight_colour(i / 64.0, GetParam())) - before), 0) << i;
    }
  }
}

TEST_P(Scale, InkContrastsEverywhere) {
  for (int i = 0; i <= 255; ++i) {
    const Rgb background = weight_colour(i / 255.0, GetParam());
    const double x = luminance(linear(background)), y = luminance(linear(ink_on(background)));
    EXPECT_GE((std::max(x, y) + 0.05) / (std::min(x, y) + 0.05), 4.5) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Themes, Scale, testing::Values(Theme::light, Theme::dark));

TEST(Colour, EndsOfTheScaleAreThePalettes) {
  EXPECT_EQ(hex(weight_colour(0, Theme::light)), "#f6fafa");
  EXPECT_EQ(hex(weight_colour(1, Theme::light)), "#15333a");
  EXPECT_EQ(hex(weight_colour(0, Theme::dark)), "#131b1d");
  EXPECT_EQ(hex(weight_colour(1, Theme::dark)), "#c3f3f2");
}

TEST(Colour, OklabRoundTripsAndKnowsTheAxes) {
  for (const Rgb c : {Rgb{0, 0, 0}, Rgb{255, 255, 255}, Rgb{255, 0, 0}, Rgb{12, 200, 99}})
    EXPECT_EQ(to_rgb(to_oklab(c)), c);
  EXPECT_NEAR(to_oklab({255, 255, 255}).lightness, 1, 1e-6);
  // Ottosson's published value for sRGB red.
  EXPECT_NEAR(to_oklab({255, 0, 0}).lightness, 0.62796, 1e-4);
  EXPECT_NEAR(to_oklab({255, 0, 0}).a, 0.22486, 1e-4);
  EXPECT_NEAR(to_oklab({255, 0, 0}).b, 0.12585, 1e-4);
}

TEST(Colour, EaseKeepsOrderAndToleratesAnything) {
  EXPECT_EQ(ease(0), 0);
  EXPECT_EQ(ease(1), 1);
  EXPECT_NEAR(ease(0.05), 0.1657, 1e-4);
  EXPECT_EQ(ease(-1), 0);
  EXPECT_EQ(ease(NAN), 0);
  EXPECT_NEAR(ease_long(1.0 / 4096, 4096), 1.2 / (std::log10(4096.0) + 1.2), 1e-12);
  EXPECT_EQ(ease_long(1e-5 / 20, 100000), 0);
  EXPECT_EQ(ease_long(0, 100), 0);
  EXPECT_EQ(ease_long(1, 100000), 1);
  EXPECT_EQ(ease_long(NAN, 10), 0);
}

}  // namespace
}  // namespace sightline::format
