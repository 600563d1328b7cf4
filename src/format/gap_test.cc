#include "src/format/gap.h"

#include <gtest/gtest.h>

#include "src/format/testing.h"

namespace sightline::format {
namespace {

const std::string kHeader = "ID\tText\tPronoun\tPronoun-offset\tA\tA-offset\tA-coref\tB\tB-offset\tB-coref\tURL\n";
const std::string kRow = "t-1\tAda met Zoë, and she smiled.\tshe\t17\tAda\t0\tFALSE\tZoë\t8\tTRUE\thttp://x\n";

std::string refusal(std::string_view text) {
  return error_of<BadFile>([&] { parse_gap(text, "t.tsv"); });
}

// The row with one thing replaced.
std::string with(std::string_view old, std::string_view replacement) {
  std::string row = kRow;
  return kHeader + row.replace(row.find(old), old.size(), replacement);
}

// Offsets count characters; places are bytes: ë has two.
TEST(Gap, ReadsRows) {
  const auto questions = parse_gap(kHeader + kRow, "t");
  ASSERT_EQ(questions.size(), 1u);
  EXPECT_EQ(questions[0], (GapQuestion{"Ada met Zoë, and she smiled.", {18, 21}, {0, 3}, {8, 12}, false, true}));
}

TEST(Gap, QuotesNothing) {
  const auto questions =
      parse_gap(kHeader + "t\t\"Ann\" saw \"Bea\"; she ran\tshe\t17\tAnn\t1\tTRUE\tBea\t11\tTRUE\t\n", "t");
  EXPECT_EQ(questions.at(0), (GapQuestion{"\"Ann\" saw \"Bea\"; she ran", {17, 20}, {1, 4}, {11, 14}, true, true}));
}

TEST(Gap, TakesAnyEndOfLineAndOfFile) {
  const auto plain = parse_gap(kHeader + kRow, "t");
  std::string windows = kHeader + kRow;
  for (std::size_t at = 0; (at = windows.find('\n', at)) != windows.npos; at += 2) windows.replace(at, 1, "\r\n");
  for (const std::string& text : {windows, "\xEF\xBB\xBF" + kHeader + kRow, kHeader + kRow.substr(0, kRow.size() - 1),
                                  kHeader + "\n" + kRow + "\n", with("TRUE", "True"), with("FALSE", "false")}) {
    EXPECT_EQ(parse_gap(text, "t"), plain) << text;
  }
}

TEST(Gap, RefusesWhatIsNotItsTableSayingWhere) {
  const std::string columns =
      "t.tsv: line 1: these are not the columns of GAP, which begin with ID, Text, Pronoun, Pronoun-offset";
  EXPECT_EQ(refusal(""), columns);
  EXPECT_EQ(refusal(kRow), columns);
  EXPECT_EQ(refusal(kHeader), "t.tsv: no row in it");
  EXPECT_EQ(refusal(kHeader + kRow + "t-2\tAda\n"),
            "t.tsv: line 3: there are 11 columns with a tab between any two, but this line has 2");
  EXPECT_EQ(refusal(with("\t17\t", "\t16\t")), "t.tsv: line 2: \"she\" does not stand at character 16 of the text");
  EXPECT_EQ(refusal(with("\t17\t", "\t28\t")), "t.tsv: line 2: \"she\" does not stand at character 28 of the text");
  EXPECT_EQ(refusal(with("\tAda\t0", "\tAda\t2147483647")),
            "t.tsv: line 2: \"Ada\" does not stand at character 2147483647 of the text");
  EXPECT_EQ(refusal(with("\tAda\t0", "\t\t0")), "t.tsv: line 2: \"\" does not stand at character 0 of the text");
  for (const char* offset : {"", "x", "-1", "+1", "1.0", " 1", "99999999999999999999"}) {
    EXPECT_EQ(refusal(with("\tAda\t0", "\tAda\t" + std::string(offset))),
              "t.tsv: line 2: an offset is \"" + std::string(offset) + "\", not a number of characters");
  }
  EXPECT_EQ(refusal(with("FALSE", "no")), "t.tsv: line 2: a coref column holds \"no\", not TRUE or FALSE");
  EXPECT_EQ(refusal(with("smiled", std::string(1 << 20, 'x'))),
            "t.tsv: line 2: the text has more than the 1048576 bytes that it may have");
  EXPECT_EQ(refusal(with("Zoë,", "Zo\xEB,")), "t.tsv: line 2: not UTF-8");
}

TEST(Gap, ReadsAFile) {
  const TestDirectory directory;
  EXPECT_EQ(read_gap(directory.put("t.tsv", kHeader + kRow)), parse_gap(kHeader + kRow, "t"));
  const std::string message = error_of<BadFile>([&] { read_gap(directory / "none.tsv"); });
  EXPECT_NE(message.find("none.tsv"), message.npos);
}

}  // namespace
}  // namespace sightline::format
