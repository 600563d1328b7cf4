#include "cli/chart.h"
#include "src/format/picture_testing.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace sightline::cli {
namespace {

using analysis::Chart;
using format::Label;
using format::Picture;
using format::Rgb;
using format::testing::drawn;
using format::testing::Pixels;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kTickSize = 22;
constexpr Rgb kBlue = {0, 114, 178}, kVermilion = {213, 94, 0};

const Label* find_label(const Picture& picture, const std::string& text) {
  const auto found = std::ranges::find(picture.labels, text, &Label::text);
  return found == picture.labels.end() ? nullptr : &*found;
}

bool has_label(const Picture& picture, const std::string& text) { return find_label(picture, text) != nullptr; }

// Where ticks say that a value lies.
double tick_x(const Picture& picture, const std::string& text) {
  for (const Label& label : picture.labels) {
    if (label.text == text && label.anchor == Label::Anchor::middle) return label.x;
  }
  ADD_FAILURE() << "no tick " << text;
  return 0;
}
double tick_y(const Picture& picture, const std::string& text) {
  for (const Label& label : picture.labels) {
    if (label.text == text && label.anchor == Label::Anchor::end) return label.y - 0.36 * kTickSize;
  }
  ADD_FAILURE() << "no tick " << text;
  return 0;
}

Chart chart_of(std::vector<analysis::ChartSeries> series, bool log_x = false, bool log_y = false) {
  return {"Time of a token", {"keys", log_x}, {"ms", log_y}, std::move(series)};
}

class ChartPicture : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf"))
      GTEST_SKIP() << "fonts-dejavu-core is not installed";
    font_ = std::make_unique<format::Font>();
  }
  Picture picture(const Chart& chart) { return draw_charts("A claim", std::span(&chart, 1), "A caveat.", *font_); }
  Pixels pixels(const Picture& picture) { return drawn(picture, *font_); }

  std::unique_ptr<format::Font> font_;
};

// Marks and lines stand where the axes' numbers say, and a line between two points is straight there.
TEST_F(ChartPicture, LinesRunThroughTheirValues) {
  const Picture made = picture(chart_of({{"with", {0, 100}, {20, 60}}, {"without", {0, 40, 100}, {0, 0, 80}}}));
  const Pixels image = pixels(made);
  EXPECT_EQ(image.at(tick_x(made, "100"), tick_y(made, "60")), kBlue);
  EXPECT_EQ(image.at(tick_x(made, "100"), tick_y(made, "80")), kVermilion);
  EXPECT_EQ(image.at((tick_x(made, "0") + tick_x(made, "100")) / 2, tick_y(made, "40")), kBlue);
  EXPECT_EQ(image.at(tick_x(made, "40"), tick_y(made, "0")), kVermilion);
  EXPECT_EQ(image.at((tick_x(made, "60") + tick_x(made, "80")) / 2, tick_y(made, "40")), kVermilion);
}

// On logarithmic axes a power law is a straight line: x = 10 lies midway between 1 and 100, and y likewise.
TEST_F(ChartPicture, PowerLawsAreStraightOnLogarithmicAxes) {
  const Picture made = picture(chart_of({{"n²", {1, 100, 10'000}, {1, 1e4, 1e8}}}, true, true));
  const Pixels image = pixels(made);
  EXPECT_EQ(image.at(tick_x(made, "10"), tick_y(made, "100")), kBlue);
  EXPECT_EQ(image.at(tick_x(made, "1,000"), tick_y(made, "10⁶")), kBlue);
}

TEST_F(ChartPicture, WhatIsMissingBreaksTheLine) {
  const Picture made = picture(chart_of({{"", {0, 20, 40, 60, 80, 100}, {50, 50, kNaN, 50, 50, 50}}}));
  const Pixels image = pixels(made);
  const double y = tick_y(made, "50");
  const double step = (tick_x(made, "100") - tick_x(made, "0")) / 100;
  const auto ink = [&](double value) { return image.at(tick_x(made, "0") + value * step, y) == kBlue; };
  EXPECT_TRUE(ink(10));
  EXPECT_FALSE(ink(30));
  EXPECT_FALSE(ink(50));
  EXPECT_TRUE(ink(70));
  EXPECT_TRUE(ink(100));
}

TEST_F(ChartPicture, SaysAllThatItIsGiven) {
  const Chart charts[] = {chart_of({{"full", {1, 2}, {3, 4}}, {"window", {1, 2}, {3, 3}}}),
                          {"Mass lost", {"window", true}, {"share", false}, {{"L1", {1, 1024}, {0.5, 0}}}}};
  const Picture made = draw_charts("Cost grows with n²", charts, "Weights are not reasons.", *font_);
  for (const char* text : {"Cost grows with n²", "Time of a token", "keys", "ms", "full", "window", "Mass lost",
                           "share", "L1", "Weights are not reasons."}) {
    EXPECT_TRUE(has_label(made, text)) << text;
  }
  EXPECT_EQ(made.title, "Cost grows with n². Time of a token. Mass lost");
  EXPECT_GT(find_label(made, "Mass lost")->y, find_label(made, "keys")->y);
  EXPECT_GT(find_label(made, "Weights are not reasons.")->y, find_label(made, "share")->y);
}

// One point, equal values, nothing, no finite value, what has no place on a logarithmic axis.
TEST_F(ChartPicture, DegenerateDataIsDrawnHonestly) {
  const Picture point = picture(chart_of({{"one", {8}, {5}}}));
  const Pixels image = pixels(point);
  std::size_t blue = 0;
  for (std::size_t i = 0; i < image.rgb.size(); i += 3) {
    blue += Rgb{image.rgb[i], image.rgb[i + 1], image.rgb[i + 2]} == kBlue;
  }
  EXPECT_GT(blue, 2u * 170);  // a disc of radius 8 in the plot, one beside the name
  const Picture equal = picture(chart_of({{"flat", {4, 4}, {0, 0}}}));
  EXPECT_EQ(pixels(equal).at(tick_x(equal, "4.0"), tick_y(equal, "0")), kBlue);
  EXPECT_TRUE(has_label(picture(chart_of({})), "There is nothing to draw."));
  EXPECT_TRUE(has_label(picture(chart_of({{"none", {kNaN, INFINITY}, {1, 2}}})), "There is nothing to draw."));
  const Picture half = picture(chart_of({{"a", {1, 2}, {kNaN, kNaN}}, {"b", {1, 2}, {1, 2}}}));
  EXPECT_TRUE(has_label(half, "a: no value that can be drawn"));
  const Picture negative = picture(chart_of({{"a", {1, 2, 4}, {-1, 0, 5}}}, false, true));
  EXPECT_TRUE(has_label(negative, "2 of 3 points left out: a logarithmic axis has no place for 0 and below"));
}

// Where lines end close together, their names stand apart, in the lines' order.
TEST_F(ChartPicture, NamesDoNotCollide) {
  std::vector<analysis::ChartSeries> series;
  for (int i = 0; i < 6; ++i) series.push_back({fmt::format("s{}", i), {0, 1}, {0, 0.5 + 0.001 * i}});
  const Picture made = picture(chart_of(series));
  for (int i = 1; i < 6; ++i) {
    EXPECT_GE(find_label(made, fmt::format("s{}", i - 1))->y, find_label(made, fmt::format("s{}", i))->y + kTickSize);
  }
}

TEST_F(ChartPicture, OfManySeriesSomeAreNamed) {
  std::vector<analysis::ChartSeries> series;
  for (int i = 0; i < 48; ++i) series.push_back({fmt::format("L{}", i + 1), {0, 1}, {0, 1.0 + i}});
  const Picture made = picture(chart_of(series));
  const auto named = std::ranges::count_if(
      made.labels, [](const Label& label) { return label.text.size() > 1 && label.text[0] == 'L'; });
  EXPECT_GE(named, 10);
  EXPECT_LE(named, 20);
  EXPECT_TRUE(has_label(made, "L48"));
}

TEST_F(ChartPicture, ABaselineIsGreyAndTheOthersKeepTheirColours) {
  const analysis::ChartSeries even{"even", {0, 1}, {0, 1}, true};
  for (const int count : {3, 9}) {
    std::vector<analysis::ChartSeries> series;
    for (int i = 0; i < count; ++i) series.push_back({fmt::format("L{}", i), {0, 1}, {0, 0.1 * i}});
    const std::vector<format::Stroke> without = picture(chart_of(series)).strokes;
    series.insert(series.begin(), even);
    const std::vector<format::Stroke> with = picture(chart_of(series)).strokes;
    const auto has = [&](const format::Rgb& colour) {
      return std::ranges::any_of(with, [&](const format::Stroke& stroke) { return stroke.colour == colour; });
    };
    EXPECT_TRUE(has(format::palette(format::Theme::light).soft));
    for (const format::Stroke& stroke : without) EXPECT_TRUE(has(stroke.colour));
  }
}

TEST_F(ChartPicture, NothingLiesOutside) {
  const std::string words =
      "a long claim that goes on over more than a single line of the picture and a word of many "
      "letters, Donaudampfschifffahrtsgesellschaftskapitänspatent, and goes on and on";
  std::vector<analysis::ChartSeries> series;
  for (int i = 0; i < 9; ++i) series.push_back({words, {1e-9, 1e9}, {-1e12, 1e12 * i}});
  const Chart charts[] = {chart_of(series), chart_of({{"", {5}, {kNaN}}}, true, true)};
  const Picture made = draw_charts(words + words, charts, words + "\n" + words, *font_);
  for (const Label& label : made.labels) {
    const double reach = font_->width(label.text, label.style);
    const double left = label.x - (label.anchor == Label::Anchor::end      ? reach
                                   : label.anchor == Label::Anchor::middle ? reach / 2
                                                                           : 0);
    EXPECT_GE(left, 0) << label.text;
    EXPECT_LE(left + reach, static_cast<double>(made.width)) << label.text;
    EXPECT_LT(label.y, static_cast<double>(made.height)) << label.text;
  }
  for (const format::Stroke& stroke : made.strokes) {
    for (const format::Point& point : stroke.points) {
      EXPECT_GE(point.x, 0);
      EXPECT_LE(point.x, static_cast<double>(made.width));
      EXPECT_GE(point.y, 0);
      EXPECT_LE(point.y, static_cast<double>(made.height));
    }
  }
}

}  // namespace
}  // namespace sightline::cli
