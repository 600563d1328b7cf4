#include "cli/wrapped_text.h"

#include <gtest/gtest.h>

#include <random>

#include "cli/display_text.h"

namespace sightline::cli {
namespace {

using Lines = std::vector<std::string>;

Lines lines_of(const WrappedText& text) {
  Lines lines;
  for (const ScreenLine& line : text.lines()) {
    lines.emplace_back();
    for (const Stretch& stretch : line) lines.back() += stretch.text;
  }
  return lines;
}

Lines wrapped(int width, const Lines& items, bool utf8 = true) {
  WrappedText text(width, utf8);
  for (std::size_t i = 0; i < items.size(); ++i) text.add(static_cast<std::int64_t>(i), items[i]);
  return lines_of(text);
}

TEST(WrappedText, BreaksBetweenWordsAlsoWhereTheyGrow) {
  EXPECT_EQ(wrapped(10, {"the", " animal", " did", "n't", " cross"}), (Lines{"the animal", "didn't ", "cross"}));
  EXPECT_EQ(wrapped(8, {"ab cdef", "ghij"}), (Lines{"ab ", "cdefghij"}));
  EXPECT_EQ(wrapped(8, {"ab cdef", "ghijk"}), (Lines{"ab ", "cdefghij", "k"}));  // wider than a line
  EXPECT_EQ(wrapped(4, {"abcdefghij"}), (Lines{"abcd", "efgh", "ij"}));
}

TEST(WrappedText, MarksLinesEndsAndTabs) {
  EXPECT_EQ(wrapped(8, {"a\nb\tc", "\r\n\n"}), (Lines{"a⏎", "b⇥c␍⏎", "⏎", ""}));
  EXPECT_EQ(wrapped(8, {"a\nb"}, false), (Lines{"a\\n", "b"}));
}

TEST(WrappedText, KeepsWideCharactersAndMarksWhole) {
  EXPECT_EQ(wrapped(5, {"他没有过马路"}), (Lines{"他没", "有过", "马路"}));
  EXPECT_EQ(wrapped(4, {"abce\u0301f"}), (Lines{"abce\u0301", "f"}));
  EXPECT_EQ(wrapped(4, {"abce", "\u0301f"}),
            (Lines{"abce\u0301", "f"}));  // a mark that comes later stays with its letter
  EXPECT_EQ(wrapped(3, {"a👩‍🔬b"}),
            (Lines{"a👩‍", "🔬b"}));  // as wide as its parts, which some terminals show
  EXPECT_EQ(wrapped(1, {"他a"}), (Lines{"…", "a"}));
}

TEST(WrappedText, EscapesWhatWouldActOnATerminal) {
  EXPECT_EQ(wrapped(20, {"a\x1b[2Jb"}), (Lines{"a\\x1b[2Jb"}));
  EXPECT_EQ(wrapped(6, {"\u202e\u202e"}), (Lines{"\\u202e", "\\u202e"}));
  EXPECT_EQ(wrapped(4, {"\u202e"}), (Lines{"\\u20", "2e"}));
  EXPECT_EQ(wrapped(20, {"\xff\xfe"}), (Lines{"\\xff\\xfe"}));
  EXPECT_EQ(wrapped(12, {"né"}, false), (Lines{"n\\u00e9"}));
}

// Whatever comes in whatever parts: no line is too wide, and nothing is lost but spaces at lines' ends.
TEST(WrappedText, NoLineIsTooWide) {
  const Lines pieces = {"a",           "word", " ",    "他",     "e\u0301", "\n",      "\t",
                        "👩‍🔬", "\x01", "ابجد", "\u0301", "\xc3",    "half-way"};
  std::mt19937 random(7);
  for (int width = 1; width <= 24; ++width) {
    for (const bool utf8 : {true, false}) {
      Lines items(200);
      for (std::string& item : items) {
        for (auto parts = random() % 4; parts > 0; --parts) item += pieces[random() % pieces.size()];
      }
      WrappedText text(width, utf8);
      for (std::size_t i = 0; i < items.size(); ++i) {
        text.add(static_cast<std::int64_t>(i), items[i]);
        const std::int64_t line = text.line_of(static_cast<std::int64_t>(i));
        EXPECT_TRUE(items[i].empty() || line >= std::ssize(text.lines()) - 23);
      }
      for (const std::string& line : lines_of(text)) EXPECT_LE(display_width(line), width);
    }
  }
}

TEST(WrappedText, FindsTheLineOfAnItem) {
  WrappedText text(3, true);
  text.add(0, "abc");
  text.add(1, "defg");
  text.add(2, "\n\n\n");
  text.add(3, "h");
  EXPECT_EQ(lines_of(text), (Lines{"abc", "def", "g⏎", "⏎", "⏎", "h"}));
  EXPECT_EQ(text.line_of(0), 0);
  EXPECT_EQ(text.line_of(1), 2);
  EXPECT_EQ(text.line_of(2), 4);
  EXPECT_EQ(text.line_of(3), 5);
}

}  // namespace
}  // namespace sightline::cli
