#include "src/engine/segments.h"

#include <gtest/gtest.h>

#include "sightline/error.h"
#include "src/engine/name_segments.h"
#include "src/format/testing.h"

namespace sightline::engine {
namespace {

using format::error_of;
using Segment = TextSegment;
using List = std::vector<TextSegment>;
using Numbers = std::vector<std::int32_t>;

LookToken token(std::size_t begin, std::size_t end, bool special = false) {
  LookToken at;
  at.byte_begin = begin;
  at.byte_end = end;
  at.special = special;
  return at;
}

TEST(Segments, ATokenBelongsToTheRangeThatHoldsMostOfIt) {
  const List named = {{"a", 2, 6}, {"b", 6, 10}, {"a", 12, 13}};
  const std::vector<LookToken> tokens = {token(0, 2),  token(1, 4),   token(1, 3),   token(4, 9),
                                         token(5, 7),  token(9, 12),  token(9, 11),  token(10, 12),
                                         token(0, 20), token(11, 14), token(12, 13), token(2, 4, true)};
  const Segments segments = segments_of(tokens, false, named);
  EXPECT_EQ(segments.names, (std::vector<std::string>{"special", "text", "first", "a", "b"}));
  // Ties go to what comes first; [0, 20) lies mostly behind all ranges.
  EXPECT_EQ(segments.of_token, (Numbers{1, 3, 1, 4, 3, 1, 4, 1, 1, 1, 3, 0}));
}

TEST(Segments, ATokenWithoutBytesStandsForTheOneBeforeIt) {
  const List named = {{"a", 0, 3}, {"b", 3, 5}};
  const std::vector<LookToken> tokens = {token(0, 0), token(3, 3), token(4, 4), token(5, 5)};
  EXPECT_EQ(segments_of(tokens, false, named).of_token, (Numbers{3, 3, 4, 4}));
}

TEST(Segments, TheFirstTokenOfACausalTextIsSetAsideWhateverItsName) {
  const List named = {{"a", 0, 9}};
  const std::vector<LookToken> tokens = {token(0, 3), token(3, 6)};
  EXPECT_EQ(segments_of(tokens, true, named).of_token, (Numbers{kSegmentFirst, 3}));
  EXPECT_EQ(segments_of(tokens, false, named).of_token, (Numbers{3, 3}));
  EXPECT_EQ(segments_of(std::span(tokens).first(1), true, named).of_token, (Numbers{3}));
}

TEST(Segments, RefusesRangesAndNamesThatCannotBe) {
  const auto refusal = [](const List& named) { return error_of<BadArgument>([&] { require_segments(named, 10); }); };
  require_segments(List{{"a", 0, 3}, {"a", 3, 3}, {"b", 3, 10}}, 10);
  EXPECT_NE(refusal({{"a", 0, 3}, {"b", 2, 4}}).find("\"b\", bytes 2 to 4 of 10"), std::string::npos);
  EXPECT_NE(refusal({{"a", 4, 11}}).find("leaves the text"), std::string::npos);
  EXPECT_NE(refusal({{"", 4, 5}}).find("no name"), std::string::npos);
  for (const char* name : {"special", "text", "first", "generated"}) {
    EXPECT_NE(refusal({{name, 0, 1}}).find("every text has one"), std::string::npos);
  }
}

Prompt marked(std::string text, List segments = {}) {
  Prompt prompt(std::move(text));
  prompt.segments = std::move(segments);
  take_markers(prompt);
  return prompt;
}

TEST(Markers, AreTakenOutAndLeaveSegments) {
  const Prompt prompt = marked("ab[[doc]]cdé[[/doc]]f[[q]]g[[/q]][[doc]]h[[/doc]]");
  EXPECT_EQ(prompt.text, "abcdéfgh");
  EXPECT_EQ(prompt.segments, (List{{"doc", 2, 6}, {"q", 7, 8}, {"doc", 8, 9}}));
  const Prompt nested = marked("[[a]]12[[b]]34[[/b]]5[[/a]]");
  EXPECT_EQ(nested.text, "12345");
  EXPECT_EQ(nested.segments, (List{{"a", 0, 2}, {"b", 2, 4}, {"a", 4, 5}}));
  for (const char* text : {"[[1, 2], [3]]", "if [[ -f x ]]; then", "[[]] [[a] [[/]]", "[[a"}) {
    EXPECT_EQ(marked(text).text, text);
    EXPECT_EQ(marked(text).segments, List{});
  }
}

TEST(Markers, MoveWhatIsToldOfTheText) {
  Prompt prompt("<u>x[[d]]yz[[/d]]w</u>");
  prompt.plain = {{3, 18}};
  prompt.segments = {{"t", 0, 3}, {"user", 3, 18}, {"t", 18, 22}};
  prompt.answers = {{"user", 3, 18}};
  take_markers(prompt);
  EXPECT_EQ(prompt.text, "<u>xyzw</u>");
  EXPECT_EQ(prompt.segments, (List{{"t", 0, 3}, {"user", 3, 4}, {"d", 4, 6}, {"user", 6, 7}, {"t", 7, 11}}));
  EXPECT_EQ(prompt.answers, (List{{"user", 3, 7}}));
  ASSERT_EQ(prompt.plain.size(), 1U);
  EXPECT_EQ(prompt.plain[0].begin, 3U);
  EXPECT_EQ(prompt.plain[0].end, 7U);
}

TEST(Markers, SayWhereTheyAreWrong) {
  const auto refusal = [](const char* text, const List& segments = {}) {
    return error_of<BadArgument>([&] { marked(text, segments); });
  };
  EXPECT_EQ(refusal("é\né [[a]]x"), "line 2, column 3: [[a]] is not closed: write [[/a]]");
  EXPECT_EQ(refusal("x[[/a]]"), "line 1, column 2: [[/a]] closes what was not opened");
  EXPECT_EQ(refusal("[[a]][[b]][[/a]]"), "line 1, column 11: [[/a]] stands where [[/b]] should");
  EXPECT_EQ(refusal("[[a]]b[[/a]]", {{"a", 0, 1}}), "line 1, column 1: [[a]] is the name of another segment, too");
  EXPECT_NE(refusal("[[text]]b[[/text]]").find("cannot be named \"text\""), std::string::npos);
}

TEST(NamedTexts, AreFoundWhereverTheyStand) {
  Prompt prompt("the cat, the cat and the dog");
  prompt.segments = {{"user", 2, 20}};
  const std::vector<NamedText> texts = {{"dog", "the dog"}, {"cat", "the cat"}};
  name_texts(prompt, texts);
  EXPECT_EQ(prompt.segments, (List{{"cat", 0, 7}, {"user", 7, 9}, {"cat", 9, 16}, {"user", 16, 20}, {"dog", 21, 28}}));
}

TEST(NamedTexts, AreRefusedWhereTheyDoNotFit) {
  const auto refusal = [](const std::vector<NamedText>& texts) {
    Prompt prompt("the cat sat");
    prompt.segments = {{"user", 0, 3}};
    return error_of<BadArgument>([&] { name_texts(prompt, texts); });
  };
  EXPECT_EQ(
      refusal({{"a", "dog"}}),
      "the text of segment \"a\" does not stand in the prompt: it has to be there byte for byte, white space included");
  EXPECT_EQ(refusal({{"a", ""}}), "the text of segment \"a\" is empty");
  EXPECT_EQ(refusal({{"user", "cat"}}), "there are two segments named \"user\": name one otherwise");
  EXPECT_EQ(refusal({{"a", "cat"}, {"a", "sat"}}), "there are two segments named \"a\": name one otherwise");
  EXPECT_EQ(refusal({{"a", "the cat"}, {"b", "cat"}}), "segments \"a\" and \"b\" overlap: a token can be in one alone");
  EXPECT_NE(refusal({{"generated", "cat"}}).find("cannot be named"), std::string::npos);
}

}  // namespace
}  // namespace sightline::engine
