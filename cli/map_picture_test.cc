#include "cli/map_picture.h"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/picture_parts.h"
#include "src/format/picture.h"
#include "src/format/picture_testing.h"

namespace sightline::cli {
namespace {

using format::Rgb;
using format::testing::drawn;
using format::testing::Pixels;

float weight(std::int64_t row, std::int64_t col) { return static_cast<float>((row * 7 + col * 3) % 50) / 49; }

Weights made(std::int64_t side) {
  return {side, side, [side](std::int64_t row_begin, std::int64_t row_end, std::span<float> out) {
            for (std::int64_t row = row_begin; row < row_end; ++row)
              for (std::int64_t col = 0; col < side; ++col) out[(row - row_begin) * side + col] = weight(row, col);
          }};
}

MapSheet sheet_of(std::int64_t side) {
  MapSheet sheet;
  sheet.title = "Layer 1, head 1";
  sheet.model = "made";
  sheet.unit = "words";
  for (std::int64_t i = 0; i < side; ++i) sheet.rows.push_back({fmt::format("w{}", i), i == 0});
  sheet.cols = sheet.rows;
  sheet.weights = made(side);
  return sheet;
}

bool has_label(const format::Picture& picture, const std::string& text) {
  return std::any_of(picture.labels.begin(), picture.labels.end(),
                     [&](const format::Label& label) { return label.text == text; });
}

class MapPicture : public testing::Test {
  void SetUp() override {
    if (!std::filesystem::exists("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf"))
      GTEST_SKIP() << "fonts-dejavu-core is not installed";
  }
};

// The top left pixel of a cell is never under its number.
TEST_F(MapPicture, EveryCellHasItsWeightsColour) {
  format::Font font;
  for (const std::int64_t side : {1, 5, 14, 60, 130, 700}) {
    const format::Picture picture = draw_map(sheet_of(side), font);
    const Pixels pixels = drawn(picture, font);
    ASSERT_EQ(pixels.width, picture.width);
    ASSERT_EQ(pixels.height, picture.height);
    const format::Cells& cells = picture.cells.front();
    ASSERT_EQ(cells.rows, side);
    const Scale scale{side};
    for (std::int64_t row = 0; row < side; ++row) {
      for (std::int64_t col = 0; col < side; ++col) {
        const Rgb expected = format::weight_colour(scale.place(weight(row, col)), format::Theme::light);
        ASSERT_EQ(pixels.at(cells.x + col * cells.cell, cells.y + row * cells.cell), expected)
            << side << ": " << row << ", " << col;
      }
    }
  }
}

TEST_F(MapPicture, NamesAxesScaleAndCaveat) {
  format::Font font;
  const format::Picture picture = draw_map(sheet_of(14), font);
  for (const char* text :
       {"Layer 1, head 1", "made: row looks at column, 14 × 14 words, every weight exact", "looks ↓", "looked at →",
        "0", "0.05", "0.2", "0.5", "1", "Attention weights show where information flowed, not why."}) {
    EXPECT_TRUE(has_label(picture, text)) << text;
  }
  EXPECT_EQ(
      std::count_if(picture.labels.begin(), picture.labels.end(), [](const auto& label) { return label.text == "w7"; }),
      2);
  EXPECT_TRUE(has_label(picture, ".49"));  // (24 / 49) in a cell
}

TEST_F(MapPicture, NothingLiesOutside) {
  format::Font font;
  for (const std::int64_t side : {1, 14, 64, 65, 512}) {
    const format::Picture picture = draw_map(sheet_of(side), font);
    for (const format::Label& label : picture.labels) {
      const double reach = label.style.angle == 0 ? font.width(label.text, label.style) : 0;
      const double left = label.x - (label.anchor == format::Label::Anchor::end      ? reach
                                     : label.anchor == format::Label::Anchor::middle ? reach / 2
                                                                                     : 0);
      EXPECT_GE(left, 0) << label.text;
      EXPECT_LE(left + reach, static_cast<double>(picture.width)) << label.text;
      EXPECT_LT(label.y, static_cast<double>(picture.height)) << label.text;
    }
  }
}

TEST_F(MapPicture, LongTextsAreNamedSparsely) {
  format::Font font;
  const format::Picture picture = draw_map(sheet_of(1000), font);
  EXPECT_TRUE(has_label(picture, "1 w0"));
  EXPECT_LT(picture.labels.size(), 300u);
  EXPECT_TRUE(has_label(picture, "weight, logarithmic around an even look (1/1000 each)"));
}

TEST_F(MapPicture, SaysWhenPixelsAreMeans) {
  format::Font font;
  const format::Picture picture = draw_map(sheet_of(kMaxMapSide + 1), font);
  EXPECT_EQ(picture.cells.front().rows, kMaxMapSide / 2 + 1);
  EXPECT_TRUE(
      has_label(picture, fmt::format("made: row looks at column, {0} × {0} words, each pixel the mean of 2 × 2 weights",
                                     kMaxMapSide + 1)));
}

// A sanitizer keeps freed memory aside, so that the peak tells nothing of the program.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool kSanitized = true;
#elif defined(__has_feature)
constexpr bool kSanitized = __has_feature(address_sanitizer);
#else
constexpr bool kSanitized = false;
#endif

long peak_kilobytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

// 4000 x 4000 weights are 64 MB, and their pixels 48 MB more.
TEST_F(MapPicture, DrawsInStrips) {
  if (kSanitized) GTEST_SKIP() << "the peak is the sanitizer's";
  format::Font font;
  const format::Picture picture = draw_map(sheet_of(4000), font);
  std::size_t bytes = 0;
  const format::ByteSink count = [&bytes](std::span<const std::byte> part) { bytes += part.size(); };
  drawn(draw_map(sheet_of(14), font), font);  // whatever is held once and for all
  const long before = peak_kilobytes();
  write_png(picture, font, count);
  EXPECT_GT(bytes, 100'000u);
  EXPECT_LT(peak_kilobytes() - before, 16 * 1024);
}

TEST_F(MapPicture, SheetHoldsEveryHead) {
  format::Font font;
  HeadSheet sheet{"2 layers × 3 heads", "made", "words", {}, 2, 3, {}};
  for (int i = 0; i < 6; ++i) sheet.tiles.push_back({made(10), 1.25, 0.5, i == 4});
  const format::Picture picture = draw_heads(sheet, font);
  EXPECT_EQ(picture.cells.size(), 6u);
  for (const char* text : {"L1", "L2", "H1", "H2", "H3", "sharpest", "1.25"})
    EXPECT_TRUE(has_label(picture, text)) << text;
  const Pixels pixels = drawn(picture, font);
  for (const format::Cells& cells : picture.cells) {
    for (std::int64_t row = 0; row < 10; ++row)
      for (std::int64_t col = 0; col < 10; ++col)
        ASSERT_EQ(pixels.at(cells.x + col * cells.cell, cells.y + row * cells.cell),
                  format::weight_colour(format::ease(weight(row, col)), format::Theme::light));
  }
}

TEST_F(MapPicture, SheetOfLargeModelsStaysWithinReach) {
  format::Font font;
  HeadSheet sheet{"36 layers × 32 heads", "made", "words", {}, 36, 32, {}};
  for (int i = 0; i < 36 * 32; ++i) sheet.tiles.push_back({made(900), 1.25, 0.5, false});
  const format::Picture picture = draw_heads(sheet, font);
  EXPECT_LE(picture.width, 10'000);
  EXPECT_TRUE(has_label(
      picture,
      "made: a tile is one head's map of 900 words, row looks at column, each cell the mean of 4 × 4 weights"));
}

}  // namespace
}  // namespace sightline::cli
