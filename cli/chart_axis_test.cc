#include "cli/chart_axis.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace sightline::cli {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN(), kInfinity = std::numeric_limits<double>::infinity();

using Texts = std::vector<std::string>;

Texts texts(const std::vector<double>& values, bool logarithmic) {
  const AxisScale axis(values, logarithmic);
  Texts all;
  for (const Tick& tick : axis.ticks()) all.push_back(tick.text);
  return all;
}

TEST(ChartAxis, LinearTicksAreRound) {
  EXPECT_EQ(texts({0.02, 0.97}, false), (Texts{"0", "0.2", "0.4", "0.6", "0.8", "1.0"}));
  EXPECT_EQ(texts({93, 107}, false), (Texts{"90", "95", "100", "105", "110"}));
  EXPECT_EQ(texts({-3, 6}, false), (Texts{"-4", "-2", "0", "2", "4", "6"}));
  EXPECT_EQ(texts({100, 4000}, false), (Texts{"0", "1,000", "2,000", "3,000", "4,000"}));
  EXPECT_EQ(texts({1e7, 3.1e7}, false), (Texts{"0", "1×10⁷", "2×10⁷", "3×10⁷", "4×10⁷"}));
  EXPECT_EQ(texts({2e-6, 9e-6}, false), (Texts{"0", "2×10⁻⁶", "4×10⁻⁶", "6×10⁻⁶", "8×10⁻⁶", "10×10⁻⁶"}));
}

TEST(ChartAxis, NumberedAxesBeginAtTheFirst) {
  const auto named = [](double low, double high) {
    const AxisScale axis({low, high}, false, true);
    Texts all;
    for (const Tick& tick : axis.ticks()) all.push_back(tick.text);
    return all;
  };
  EXPECT_EQ(named(1, 6), (Texts{"1", "2", "3", "4", "5", "6"}));
  EXPECT_EQ(named(1, 18), (Texts{"2", "4", "6", "8", "10", "12", "14", "16", "18"}));
  EXPECT_EQ(named(1, 1), (Texts{"1"}));
  EXPECT_EQ(AxisScale({1, 6}, false, true).place(1), 0);
  EXPECT_EQ(AxisScale({1, 6}, false, true).place(6), 1);
}

TEST(ChartAxis, LogarithmicTicksAreRound) {
  EXPECT_EQ(texts({0.003, 40}, true), (Texts{"0.01", "0.1", "1", "10"}));
  EXPECT_EQ(texts({3, 300}, true), (Texts{"5", "10", "20", "50", "100", "200"}));
  EXPECT_EQ(texts({1e-8, 1}, true), (Texts{"10⁻⁸", "10⁻⁷", "10⁻⁶", "10⁻⁵", "0.0001", "0.001", "0.01", "0.1", "1"}));
  EXPECT_EQ(texts({3e5, 8e6}, true), (Texts{"500,000", "10⁶", "2×10⁶", "5×10⁶"}));
  EXPECT_EQ(texts({2.1, 7.5}, true), (Texts{"3", "4", "5", "6", "7"}));
}

TEST(ChartAxis, DoublingsAreNamedAsTheyAre) {
  EXPECT_EQ(texts({1024, 2048, 8192, 4096}, true), (Texts{"1,024", "2,048", "4,096", "8,192"}));
  EXPECT_EQ(texts({1, 131072}, true), (Texts{"1", "4", "16", "64", "256", "1,024", "4,096", "16,384", "65,536"}));
  EXPECT_EQ(texts({1000, 4000}, true), (Texts{"1,000", "1,500", "2,000", "2,500", "3,000", "3,500", "4,000"}));
}

TEST(ChartAxis, PlacesFollowTheirFormulas) {
  const AxisScale linear({0, 10}, false);
  EXPECT_NEAR(linear.place(0), 0, 1e-12);
  EXPECT_NEAR(linear.place(2.5), 0.25, 1e-12);
  EXPECT_NEAR(linear.place(10), 1, 1e-12);
  const AxisScale logarithmic({1, 10'000}, true);
  EXPECT_NEAR(logarithmic.place(100), 0.5, 1e-12);
  EXPECT_NEAR(logarithmic.place(10) - logarithmic.place(1), logarithmic.place(1000) - logarithmic.place(100), 1e-12);
  EXPECT_NEAR(logarithmic.place(10'000) - logarithmic.place(1), 1 / 1.08, 1e-12);
}

// Whatever the values, each that is held lies on the axis, and so does each tick; ticks ascend and read differently.
TEST(ChartAxis, HoldsWhatItWasMadeFrom) {
  const std::vector<std::vector<double>> kValues = {
      {},
      {kNaN, kInfinity, -kInfinity},
      {0},
      {7},
      {-7, -7},
      {1e-310},
      {1e150, -1e150},
      {1, 1 + 1e-15},
      {1e6, 1e6 + 1e-3},
      {-5, -4},
      {-1000, -1},
      {5e-324, 1},
      {1e-149, 1e149},
      {1e-299, 1e299},
      {123456, 123457},
      {0.1, 0.2, 0.3},
      {999999, 1000001},
      {kNaN, 3, 1e308},
  };
  for (const auto& values : kValues) {
    for (const bool logarithmic : {false, true}) {
      const AxisScale axis(values, logarithmic);
      const auto on_axis = [&](double value) {
        EXPECT_GE(axis.place(value), -1e-9) << value;
        EXPECT_LE(axis.place(value), 1 + 1e-9) << value;
      };
      for (const double value : values) {
        if (axis.holds(value)) on_axis(value);
      }
      ASSERT_FALSE(axis.ticks().empty()) << values.front();
      ASSERT_LE(axis.ticks().size(), 12u);
      for (std::size_t i = 0; i < axis.ticks().size(); ++i) {
        on_axis(axis.ticks()[i].value);
        if (i == 0) continue;
        EXPECT_LT(axis.ticks()[i - 1].value, axis.ticks()[i].value);
        EXPECT_NE(axis.ticks()[i - 1].text, axis.ticks()[i].text) << axis.ticks()[i].value;
      }
    }
  }
}

TEST(ChartAxis, RefusesWhatHasNoPlace) {
  EXPECT_FALSE(AxisScale({1, 2}, false).holds(kNaN));
  EXPECT_FALSE(AxisScale({1, 2}, false).holds(kInfinity));
  EXPECT_TRUE(AxisScale({1, 2}, false).holds(-3));
  EXPECT_FALSE(AxisScale({1, 2}, true).holds(0));
  EXPECT_FALSE(AxisScale({1, 2}, true).holds(-3));
}

}  // namespace
}  // namespace sightline::cli
