#include "cli/display_text.h"

#include <gtest/gtest.h>

#include <string>

namespace sightline::cli {
namespace {

TEST(DisplayText, EscapesWhatCouldMoveTheCursor) {
  EXPECT_EQ(displayable("a\x1b[31mred\x07", true), "a\\x1b[31mred\\x07");
  EXPECT_EQ(displayable("one\ntwo\r\tthree\x7f", true), "one\\ntwo\\r\\tthree\\x7f");
  EXPECT_EQ(displayable(std::string("\0", 1), true), "\\x00");
  EXPECT_EQ(displayable("\xC2\x9b"
                        "31m",
                        true),
            "\\u009b31m");  // CSI as one C1 control
}

TEST(DisplayText, EscapesWhatCannotBeSeen) {
  EXPECT_EQ(displayable("abc\xE2\x80\xAEtxt.exe", true), "abc\\u202etxt.exe");  // right-to-left override
  EXPECT_EQ(displayable("\xE2\x81\xA6x\xE2\x81\xA9", true), "\\u2066x\\u2069");
  EXPECT_EQ(displayable("\xE2\x80\x8B\xEF\xBB\xBF", true), "\\u200b\\ufeff");
  EXPECT_EQ(displayable("\xEE\x80\x80\xF3\xA0\x81\x81", true), "\\ue000\\U000e0041");  // private use, a tag
  EXPECT_EQ(displayable("\xE2\x80\xA8", true), "\\u2028");
}

TEST(DisplayText, EscapesBrokenUtf8ByTheByte) {
  EXPECT_EQ(displayable("a\xFF\xC3", true), "a\\xff\\xc3");
  EXPECT_EQ(displayable("\xED\xA0\x80", true), "\\xed\\xa0\\x80");  // a surrogate
}

TEST(DisplayText, LeavesTextAlone) {
  const std::string text = "Ünï 日本語 \xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x94\xAC e\xCC\x81";
  EXPECT_EQ(displayable(text, true), text);
}

TEST(DisplayText, AsciiAlone) { EXPECT_EQ(displayable("caf\u00e9 \U0001F600", false), "caf\\u00e9 \\U0001f600"); }

TEST(DisplayText, MarksWhiteSpace) {
  EXPECT_EQ(with_marks(" a b\n\t\r\x1b", true), "␣a␣b⏎⇥␍\\x1b");
  EXPECT_EQ(with_marks(" a b\n\t\r\u00e9", false), "\\sa\\sb\\n\\t\\r\\u00e9");
  EXPECT_EQ(with_marks("", true), "");
}

TEST(DisplayText, MarksSpacesThatAreAllThereIs) {
  EXPECT_EQ(label_text(" ", true), "␣");
  EXPECT_EQ(label_text(" \n  ", true), "␣⏎␣␣");
  EXPECT_EQ(label_text("\u00a0\u3000", true), "\\u00a0\\u3000");
  EXPECT_EQ(label_text("  ", false), "\\s\\s");
  EXPECT_EQ(label_text(" a b", true), " a b");
  EXPECT_EQ(label_text("", true), "");
}

TEST(DisplayText, WidthCountsColumns) {
  EXPECT_EQ(display_width("abc"), 3);
  EXPECT_EQ(display_width("日本"), 4);
  EXPECT_EQ(display_width("e\xCC\x81"), 1);
  EXPECT_EQ(display_width("\xF0\x9F\x98\x80"), 2);
  EXPECT_EQ(display_width("\xEF\xBC\xA1"), 2);                          // fullwidth A
  EXPECT_EQ(display_width("\xE1\x84\x92\xE1\x85\xA1\xE1\x86\xAB"), 2);  // one syllable of three jamo
}

TEST(DisplayText, FittingNeverExceedsTheWidth) {
  for (const char* text : {"because", "日本語です", "e\xCC\x81t\xC3\xA9", ""}) {
    for (int width = 0; width < 12; ++width) {
      EXPECT_LE(display_width(fit_columns(text, width, true)), width) << text;
      EXPECT_EQ(display_width(pad_left(text, width, true)), width) << text;
      EXPECT_EQ(display_width(pad_right(text, width, false)), width) << text;
    }
  }
  EXPECT_EQ(fit_columns("because", 5, true), "beca…");
  EXPECT_EQ(fit_columns("because", 5, false), "beca~");
  EXPECT_EQ(fit_columns("日本語", 4, true), "日…");
}

TEST(DisplayText, TakingKeepsMarksWithTheirLetter) {
  std::string_view text = "e\xCC\x81tat";
  EXPECT_EQ(take_columns(text, 1), "e\xCC\x81");
  EXPECT_EQ(text, "tat");
  text = "日x";
  EXPECT_EQ(take_columns(text, 1), "");
  EXPECT_EQ(take_columns(text, 2), "日");
}

}  // namespace
}  // namespace sightline::cli
