#include "src/format/png.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "sightline/error.h"
#include "src/format/picture_testing.h"

namespace sightline::format {
namespace {

using testing::decode;
using testing::into;

TEST(Png, ReadsBackAsWritten) {
  constexpr int kWidth = 37, kHeight = 23;
  std::vector<std::uint8_t> rgb(kWidth * kHeight * 3);
  for (std::size_t i = 0; i < rgb.size(); ++i) rgb[i] = static_cast<std::uint8_t>(i * 37 + i / 91);
  std::string file;
  PngWriter png(into(file), kWidth, kHeight, "Überschrift");
  const std::span<const std::uint8_t> rows(rgb);
  png.write_rows(rows.first(kWidth * 3 * 5));
  png.write_rows(rows.subspan(kWidth * 3 * 5));
  png.finish();
  const testing::Pixels decoded = decode(file);
  EXPECT_EQ(decoded.width, 37u);
  EXPECT_EQ(decoded.height, 23u);
  EXPECT_EQ(decoded.rgb, rgb);
  EXPECT_NE(file.find("Überschrift"), std::string::npos);
}

TEST(Png, GivesOutRowsAsTheyCome) {
  std::string file;
  PngWriter png(into(file), 1000, 1000);
  std::vector<std::uint8_t> row(3000);
  std::size_t halfway = 0;
  std::uint32_t state = 1;
  for (int i = 0; i < 1000; ++i) {
    for (auto& channel : row) channel = static_cast<std::uint8_t>((state = state * 1664525u + 1013904223u) >> 24);
    png.write_rows(row);
    if (i == 499) halfway = file.size();
  }
  png.finish();
  EXPECT_GT(halfway, file.size() / 3);
}

TEST(Png, RefusesSizesItCannotWrite) {
  std::string file;
  EXPECT_THROW(PngWriter(into(file), 0, 4), BadArgument);
  EXPECT_THROW(PngWriter(into(file), 4, -1), BadArgument);
  EXPECT_THROW(PngWriter(into(file), PngWriter::kMaxSide + 1, 4), BadArgument);
  EXPECT_TRUE(file.empty());
}

TEST(Png, RefusesRowsThatDoNotFit) {
  std::string file;
  PngWriter png(into(file), 2, 2);
  EXPECT_THROW(png.write_rows(std::vector<std::uint8_t>(5)), BadArgument);
  EXPECT_THROW(png.write_rows(std::vector<std::uint8_t>(18)), BadArgument);
  EXPECT_THROW(png.finish(), BadArgument);
}

TEST(Png, PassesOnWhatTheSinkThrows) {
  int calls = 0;
  const ByteSink full = [&calls](std::span<const std::byte>) {
    if (++calls > 8) throw std::length_error("disk full");
  };
  EXPECT_THROW(
      {
        PngWriter png(full, 4000, 4000);
        std::vector<std::uint8_t> row(12000);
        std::uint32_t state = 1;
        for (int i = 0; i < 4000; ++i) {
          for (auto& channel : row) channel = static_cast<std::uint8_t>((state = state * 1664525u + 1013904223u) >> 24);
          png.write_rows(row);
        }
      },
      std::length_error);
}

}  // namespace
}  // namespace sightline::format
