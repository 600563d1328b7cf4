#include "src/engine/text_breaks.h"

#include <gtest/gtest.h>

#include <string>

namespace sightline::engine {
namespace {

std::vector<std::string> sentences(const std::string& text) {
  std::vector<std::string> parts;
  for (const auto& [begin, end] : split_sentences(text)) parts.push_back(text.substr(begin, end - begin));
  return parts;
}

TEST(SplitSentences, CutsWhereUnicodeSaysThatTheyEnd) {
  using Parts = std::vector<std::string>;
  EXPECT_EQ(sentences("It is 3.14 e.g. so. Is it? \"Yes!\" 他来了。好。"),
            (Parts{"It is 3.14 e.g. so. ", "Is it? ", "\"Yes!\" ", "他来了。", "好。"}));
  EXPECT_EQ(sentences("no end"), Parts{"no end"});
  EXPECT_EQ(sentences(""), Parts{});
  EXPECT_EQ(sentences(" \n "), Parts{" \n "});
  // A line's end is one too; white space alone goes with what is beside it.
  EXPECT_EQ(sentences("\n\na\n\n b. \n\n\n"), (Parts{"\n\na\n\n", " b. \n\n\n"}));
}

TEST(SpanWithMost, TakesTheFirstOfEquals) {
  const std::vector<TextSpan> spans = {{0, 2}, {2, 6}, {6, 9}};
  EXPECT_EQ(span_with_most(spans, 0, 1), 0U);
  EXPECT_EQ(span_with_most(spans, 1, 3), 0U);
  EXPECT_EQ(span_with_most(spans, 1, 4), 1U);
  EXPECT_EQ(span_with_most(spans, 0, 9), 1U);
  EXPECT_EQ(span_with_most(spans, 2, 2), 1U);
  EXPECT_EQ(span_with_most(spans, 9, 9), 2U);
}

}  // namespace
}  // namespace sightline::engine
