#include "cli/matrix.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "cli/display_text.h"

namespace sightline::cli {
namespace {

engine::Axis axis_of(const std::vector<std::string>& labels) {
  engine::Axis axis;
  for (const std::string& label : labels) {
    engine::AxisItem item;
    item.label = label;
    axis.push_back(item);
  }
  return axis;
}

engine::Axis numbered(std::size_t count) {
  std::vector<std::string> labels;
  for (std::size_t i = 0; i < count; ++i) labels.push_back(fmt::format("w{}", i));
  return axis_of(labels);
}

// All weight on the item's own column.
Weights identity(std::int64_t count) {
  return {count, count, [count](std::int64_t row_begin, std::int64_t row_end, std::span<float> out) {
            for (std::int64_t row = row_begin; row < row_end; ++row)
              for (std::int64_t col = 0; col < count; ++col)
                out[(row - row_begin) * count + col] = row == col ? 1.0f : 0.0f;
          }};
}

std::vector<std::string> lines_of(const Terminal& terminal, const engine::Axis& axis, const Weights& weights) {
  Painter painter(terminal);
  const ShownItems items = all_items(axis);
  add_matrix(painter, items, items, weights, "words");
  std::vector<std::string> lines;
  std::istringstream stream(painter.result());
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

Terminal plain(int width, bool utf8) { return {width, ColourDepth::none, utf8, format::Theme::dark}; }

TEST(Matrix, SaysPerCentUnderLettersAndBesideWords) {
  Weights weights = identity(2);
  weights.read = [](std::int64_t row_begin, std::int64_t row_end, std::span<float> out) {
    const std::vector<float> all = {0.25f, 0.75f, 0.004f, 0.996f};
    std::copy(all.begin() + row_begin * 2, all.begin() + row_end * 2, out.begin());
  };
  const auto lines = lines_of(plain(80, true), axis_of({"it", "animal"}), weights);
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[0], "          it  animal");
  EXPECT_EQ(lines[1], "    it    25     75");
  EXPECT_EQ(lines[2], "animal          100");
}

TEST(Matrix, LettersStandUprightOverNarrowColumns) {
  const auto lines = lines_of(plain(40, true), axis_of({"ab", "animal", "c", "d", "e", "f", "g", "h"}), identity(8));
  EXPECT_EQ(lines[0], "             a");
  EXPECT_EQ(lines[4], "         a   a");
  EXPECT_EQ(lines[5], "         b   l   c   d   e   f   g   h");
  EXPECT_EQ(lines[6], "    ab 100");
  EXPECT_EQ(lines[7], "animal     100");
}

TEST(Matrix, NeverWiderThanTheTerminal) {
  for (const int width : {40, 80, 133}) {
    for (const std::size_t count : {1, 2, 9, 20, 37, 64, 65, 200, 3000}) {
      for (const bool utf8 : {true, false}) {
        const engine::Axis axis = numbered(count);
        for (const std::string& line : lines_of(plain(width, utf8), axis, identity(static_cast<std::int64_t>(count)))) {
          EXPECT_LE(display_width(line), width) << count << ": " << line;
        }
      }
    }
  }
}

TEST(Matrix, WideAndHostileLabelsKeepTheGridStraight) {
  const engine::Axis axis = axis_of({"日本語", "\x1b[2J", "e\xCC\x81t\xC3\xA9", "\xE2\x80\xAE"});
  for (const bool utf8 : {true, false}) {
    const auto lines = lines_of(plain(40, utf8), axis, identity(4));
    std::string all;
    for (const std::string& line : lines) all += line;
    EXPECT_EQ(all.find('\x1b'), std::string::npos);
    EXPECT_EQ(all.find("\xE2\x80\xAE"), std::string::npos);
    std::vector<int> ends;
    for (const std::string& line : lines) {
      if (line.ends_with("100")) ends.push_back(display_width(line));
    }
    ASSERT_EQ(ends.size(), 4u);
    EXPECT_EQ(ends[1] - ends[0], ends[2] - ends[1]);
    EXPECT_EQ(ends[2] - ends[1], ends[3] - ends[2]);
  }
}

TEST(Matrix, PoolsWhatDoesNotFitAndSaysSo) {
  const auto lines = lines_of(plain(80, false), numbered(300), identity(300));
  EXPECT_NE(lines.back().find("300 words: a cell is the mean weight of"), std::string::npos) << lines.back();
  EXPECT_LT(lines.size(), 60u);
  for (const std::string& line : lines) {
    for (const char c : line) EXPECT_LT(static_cast<unsigned char>(c), 0x80);
  }
}

TEST(Matrix, ColoursCarryNoNumberLess) {
  Terminal terminal = plain(80, true);
  const std::string without = lines_of(terminal, numbered(5), identity(5))[2];
  terminal.colours = ColourDepth::rgb;
  std::string with = lines_of(terminal, numbered(5), identity(5))[2], stripped;
  for (std::size_t i = 0; i < with.size(); ++i) {
    if (with[i] == '\x1b') {
      i = with.find('m', i);
    } else {
      stripped += with[i];
    }
  }
  while (stripped.ends_with(' ')) stripped.pop_back();
  EXPECT_EQ(stripped, without);
  EXPECT_NE(with, stripped);
}

}  // namespace
}  // namespace sightline::cli
