#include "src/format/picture.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <stdexcept>
#include <string>

#include "sightline/error.h"
#include "src/format/picture_testing.h"

namespace sightline::format {
namespace {

using testing::decode;
using testing::into;
using testing::Pixels;

constexpr Rgb kPaper = {250, 252, 251}, kRed = {200, 0, 0}, kBlue = {0, 0, 200};

bool has_fonts() { return std::filesystem::exists("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf"); }

// Red where row + col is even, else blue.
Cells chessboard(std::int64_t side, std::int64_t x, std::int64_t y, std::int64_t cell, std::int64_t gap) {
  auto colours = [side](std::int64_t row_begin, std::int64_t row_end, std::span<Rgb> out) {
    for (std::int64_t row = row_begin; row < row_end; ++row)
      for (std::int64_t col = 0; col < side; ++col)
        out[(row - row_begin) * side + col] = (row + col) % 2 ? kBlue : kRed;
  };
  return {x, y, cell, gap, side, side, colours};
}

Picture blank(std::int64_t width, std::int64_t height) {
  Picture picture;
  picture.width = width;
  picture.height = height;
  picture.paper = kPaper;
  return picture;
}

Pixels drawn(const Picture& picture) {
  Font font;
  std::string file;
  write_png(picture, font, into(file));
  return decode(file);
}

// Each channel of the ink as a share of the way from the paper to the colour, summed: how many pixels are covered.
double inked(const Pixels& pixels, Rgb colour) {
  double sum = 0;
  for (std::size_t i = 0; i < pixels.rgb.size(); i += 3) {
    sum += (kPaper.green - pixels.rgb[i + 1]) / static_cast<double>(kPaper.green - colour.green);
  }
  return sum;
}

class PictureTest : public ::testing::Test {
  void SetUp() override {
    if (!has_fonts()) GTEST_SKIP() << "fonts-dejavu-core is not installed";
  }
};

TEST_F(PictureTest, CellsStandWhereTheyShouldAcrossBands) {
  Picture picture = blank(120, 300);
  picture.cells.push_back(chessboard(14, 7, 11, 20, 2));
  const Pixels pixels = drawn(picture);
  ASSERT_EQ(pixels.height, 300u);
  for (std::size_t y = 0; y < 300; ++y) {
    for (std::size_t x = 0; x < 120; ++x) {
      Rgb expected = kPaper;
      if (x >= 7 && y >= 11 && (x - 7) % 20 < 18 && (y - 11) % 20 < 18 && (y - 11) / 20 < 14) {
        expected = ((x - 7) / 20 + (y - 11) / 20) % 2 ? kBlue : kRed;
      }
      ASSERT_EQ(pixels.at(x, y), expected) << x << ", " << y;
    }
  }
}

TEST_F(PictureTest, RowsOfCellsAreAskedForInOrderAndFewAtATime) {
  Picture picture = blank(1000, 5000);
  std::int64_t last = -1, most = 0;
  Cells cells{0, 0, 1, 0, 5000, 1000, {}};
  cells.colours = [&](std::int64_t row_begin, std::int64_t row_end, std::span<Rgb>) {
    EXPECT_EQ(row_begin, last + 1);
    last = row_end - 1;
    most = std::max(most, row_end - row_begin);
  };
  picture.cells.push_back(cells);
  drawn(picture);
  EXPECT_EQ(last, 4999);
  EXPECT_LE(most, 128);
}

TEST_F(PictureTest, TextIsInkedAndTurns) {
  Picture picture = blank(300, 300);
  picture.labels.push_back({"MMMMMM", 20, 280, {40}, kRed});
  const Pixels flat = drawn(picture);
  EXPECT_GT(flat.count(kRed), 300u);
  EXPECT_EQ(flat.at(150, 100), kPaper);
  picture.labels[0].style.angle = 90;
  picture.labels[0].x = 150;
  const Pixels upright = drawn(picture);
  std::size_t above = 0, beside = 0;
  for (std::size_t y = 0; y < 300; ++y)
    for (std::size_t x = 0; x < 300; ++x) {
      if (upright.at(x, y) != kRed) continue;
      above += x > 100 && x <= 151 && y <= 281;
      beside += x <= 100 || x > 151 || y > 281;
    }
  EXPECT_GT(above, 300u);
  EXPECT_EQ(beside, 0u);
}

TEST_F(PictureTest, AnchorsEndAndCentreText) {
  Font font;
  const double width = font.width("wide text", {30});
  EXPECT_GT(width, 60);
  EXPECT_NEAR(font.width("wide text", {60}), 2 * width, 0.5);
  Picture picture = blank(400, 60);
  picture.labels.push_back({"wide text", 390, 40, {30}, kRed, Label::Anchor::end});
  const Pixels pixels = drawn(picture);
  std::size_t first = 400, last = 0;
  for (std::size_t y = 0; y < 60; ++y)
    for (std::size_t x = 0; x < 400; ++x)
      if (pixels.at(x, y) != kPaper) first = std::min(first, x), last = std::max(last, x);
  EXPECT_NEAR(static_cast<double>(first), 390 - width, 4);
  EXPECT_NEAR(static_cast<double>(last), 390, 4);
}

TEST_F(PictureTest, ScriptsWithoutGlyphsStillDraw) {
  Picture picture = blank(600, 60);
  picture.labels.push_back({"日本語 \xF3\xB0\x80\x80 \xFF e\xCC\x81", 10, 40, {30}, kRed});
  EXPECT_GT(drawn(picture).count(kRed), 50u);
}

// The first letter of a Hebrew word is its rightmost: "שא" must look like the left-to-right run of alef, then shin.
TEST_F(PictureTest, RightToLeftWordsStandFromRightToLeft) {
  Picture word = blank(100, 60), letters = word;
  Font font;
  word.labels.push_back({"\xD7\xA9\xD7\x90", 10, 40, {30}, kRed});
  letters.labels.push_back({"\xD7\x90", 10, 40, {30}, kRed});
  letters.labels.push_back({"\xD7\xA9", 10 + font.width("\xD7\x90", {30}), 40, {30}, kRed});
  EXPECT_EQ(drawn(word).rgb, drawn(letters).rgb);
  EXPECT_GT(drawn(word).count(kRed), 20u);
}

// The area of a line with round ends is its length times its width, and a disc; at joins, and where a line runs through
// several bands, no part is counted twice.
TEST_F(PictureTest, StrokesCoverTheirArea) {
  const double pi = 3.14159265358979;
  const struct {
    std::vector<Point> points;
    double width, area;
  } kCases[] = {
      {{{20, 30}, {170, 30}}, 6, 150 * 6 + 9 * pi},
      {{{20, 20}, {140, 180}}, 5, 200 * 5 + 6.25 * pi},
      {{{40, 10}, {40, 190}, {160, 190}}, 8, 180 * 8 + 120 * 8 - 16 + 4 * pi + 16 * pi},
      {{{100, 64}}, 20, 100 * pi},
      {{{20.5, 50}, {20.5, 150}}, 1, 100.8},
  };
  for (const auto& stroke : kCases) {
    Picture picture = blank(200, 200);
    picture.strokes.push_back({stroke.points, stroke.width, kRed});
    EXPECT_NEAR(inked(drawn(picture), kRed), stroke.area, 0.012 * stroke.area + 1) << stroke.width;
  }
  Picture picture = blank(200, 200);
  picture.strokes.push_back({{{20, 20}, {140, 180}}, 5, kRed});
  const Pixels pixels = drawn(picture);
  EXPECT_EQ(pixels.at(80, 100), kRed);
  EXPECT_EQ(pixels.at(20 + 60 - 5, 20 + 80 + 5), kPaper);
}

TEST_F(PictureTest, StrokesMayLieOutsideAndHaveNoPoints) {
  Picture picture = blank(50, 50);
  picture.strokes.push_back({{{-1000, -1000}, {-900, 2000}, {70, 1e6}}, 3, kRed});
  picture.strokes.push_back({{}, 3, kRed});
  EXPECT_EQ(drawn(picture).count(kPaper), 2500u);
}

TEST_F(PictureTest, StopsWhenProgressThrows) {
  Font font;
  std::string file;
  const Progress stop = [](double share) {
    if (share > 0.5) throw std::runtime_error("stopped");
  };
  EXPECT_THROW(write_png(blank(100, 1000), font, into(file), stop), std::runtime_error);
}

TEST(Font, NamesThePackageThatIsMissing) {
  try {
    Font font("/nowhere");
    FAIL();
  } catch (const BadFile& error) {
    EXPECT_NE(std::string(error.what()).find("fonts-dejavu-core"), std::string::npos);
  }
}

std::string svg_of(const Picture& picture) {
  std::string file;
  write_svg(picture, into(file));
  return file;
}

TEST(Svg, EscapesTextAndKeepsItText) {
  Picture picture = blank(10, 10);
  picture.title = "<title> & \"more\"";
  picture.labels.push_back({"<script>alert('1')</script>\x01\xFF", 1, 2, {13}, kRed});
  const std::string svg = svg_of(picture);
  EXPECT_EQ(svg.find("<script"), std::string::npos);
  EXPECT_NE(svg.find("&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;\xEF\xBF\xBD\xEF\xBF\xBD<"), std::string::npos);
  EXPECT_NE(svg.find("&lt;title&gt; &amp; &quot;more&quot;"), std::string::npos);
}

TEST(Svg, XmlHoldsOnlyWhatXmlMayHold) {
  EXPECT_EQ(xml_escape("a\tb\nc"), "a\tb\nc");
  EXPECT_EQ(xml_escape(std::string("\0\x1b[0m", 5)), "\xEF\xBF\xBD\xEF\xBF\xBD[0m");
  EXPECT_EQ(xml_escape("\xEF\xBF\xBF"), "\xEF\xBF\xBD");
  EXPECT_EQ(xml_escape("日本 \xF0\x9F\x98\x80"), "日本 \xF0\x9F\x98\x80");
}

TEST(Svg, StrokesArePathsAndASinglePointIsADisc) {
  Picture picture = blank(100, 100);
  picture.strokes.push_back({{{1, 2}, {3.5, 4}}, 2, kRed});
  picture.strokes.push_back({{{7, 8}}, 9, kBlue});
  picture.strokes.push_back({{}, 9, kBlue});
  const std::string svg = svg_of(picture);
  EXPECT_NE(svg.find("d=\"M1 2L3.5 4\" fill=\"none\" stroke=\"#c80000\" stroke-width=\"2\""), std::string::npos);
  EXPECT_NE(svg.find("d=\"M7 8L7 8\" fill=\"none\" stroke=\"#0000c8\" stroke-width=\"9\""), std::string::npos);
  EXPECT_EQ(svg.find("d=\"\""), std::string::npos);
}

TEST(Svg, SmallGridsAreSquaresOfTheirColours) {
  Picture picture = blank(100, 100);
  picture.cells.push_back(chessboard(3, 0, 0, 10, 1));
  const std::string svg = svg_of(picture);
  std::size_t red = 0;
  for (std::size_t at = svg.find("#c80000"); at != std::string::npos; at = svg.find("#c80000", at + 1)) ++red;
  EXPECT_EQ(red, 5u);
  EXPECT_EQ(svg.find("<image"), std::string::npos);
}

// RFC 4648, by hand.
std::string base64_decode(std::string_view text) {
  constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  std::uint32_t bits = 0;
  int held = 0;
  for (const char c : text) {
    if (c == '=') break;
    bits = bits << 6 | static_cast<std::uint32_t>(kAlphabet.find(c));
    held += 6;
    if (held >= 8) bytes += static_cast<char>(bits >> (held -= 8) & 255);
  }
  return bytes;
}

TEST(Svg, LargeGridsAreExactImages) {
  Picture picture = blank(300, 300);
  picture.cells.push_back(chessboard(211, 0, 0, 1, 0));
  const std::string svg = svg_of(picture), mark = "base64,";
  const std::size_t begin = svg.find(mark) + mark.size(), end = svg.find('"', begin);
  const Pixels pixels = decode(base64_decode(std::string_view(svg).substr(begin, end - begin)));
  ASSERT_EQ(pixels.width, 211u);
  ASSERT_EQ(pixels.height, 211u);
  EXPECT_EQ((end - begin) % 4, 0u);
  for (std::size_t y = 0; y < 211; ++y)
    for (std::size_t x = 0; x < 211; ++x) ASSERT_EQ(pixels.at(x, y), (x + y) % 2 ? kBlue : kRed);
}

}  // namespace
}  // namespace sightline::format
