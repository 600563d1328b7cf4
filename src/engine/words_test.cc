#include "src/engine/words.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "sightline/tokenizer.h"
#include "src/engine/testing.h"
#include "src/format/json.h"

namespace sightline::engine {
namespace {

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> found;
  for (const auto& [begin, end] : split_words(text)) found.emplace_back(text.substr(begin, end - begin));
  return found;
}

using Strings = std::vector<std::string>;

LookToken token(std::size_t begin, std::size_t end, std::string piece = "x", bool special = false) {
  LookToken t;
  t.piece = piece;
  t.label = std::move(piece);
  t.byte_begin = begin;
  t.byte_end = end;
  t.special = special;
  return t;
}

Strings labels(const Axis& axis) {
  Strings found;
  for (const AxisItem& item : axis) found.push_back(item.label);
  return found;
}

TEST(SplitWords, KeepsWordsWholeAndSplitsPunctuationOff) {
  EXPECT_EQ(words("The animal didn't cross, because it was tired."),
            (Strings{"The", "animal", "didn't", "cross", ",", "because", "it", "was", "tired", "."}));
  EXPECT_EQ(words("a well-known Kuchen\u2019s caf\u00e9"), (Strings{"a", "well-known", "Kuchen\u2019s", "caf\u00e9"}));
  EXPECT_EQ(words("wait... what?!"), (Strings{"wait", ".", ".", ".", "what", "?", "!"}));
}

TEST(SplitWords, JoinsOnlyBetweenTwoWordCharacters) {
  EXPECT_EQ(words("'quoted' - dash--dash end-"),
            (Strings{"'", "quoted", "'", "-", "dash", "-", "-", "dash", "end", "-"}));
  EXPECT_EQ(words("rock 'n' roll"), (Strings{"rock", "'", "n", "'", "roll"}));
}

TEST(SplitWords, JoinsDigitsOverPointAndComma) {
  EXPECT_EQ(words("3.14 and 1,000.5."), (Strings{"3.14", "and", "1,000.5", "."}));
  EXPECT_EQ(words("one,two v1.b"), (Strings{"one", ",", "two", "v1", ".", "b"}));
}

TEST(SplitWords, TakesIdeographsAndKanaOneByOne) {
  EXPECT_EQ(words("\u52a8\u7269very\u7d2f\u3002"), (Strings{"\u52a8", "\u7269", "very", "\u7d2f", "\u3002"}));
  EXPECT_EQ(words("\u3042\u30a2"), (Strings{"\u3042", "\u30a2"}));
  EXPECT_EQ(words("\ud55c\uad6d\uc5b4 \ub9d0"), (Strings{"\ud55c\uad6d\uc5b4", "\ub9d0"}));  // Hangul has spaces
}

TEST(SplitWords, KeepsMarksModifiersAndJoinersWithTheirCharacter) {
  EXPECT_EQ(words("cafe\u0301 noir"), (Strings{"cafe\u0301", "noir"}));
  EXPECT_EQ(words("\U0001F44D\U0001F3FDok"), (Strings{"\U0001F44D\U0001F3FD", "ok"}));
  const std::string family = "\U0001F468\u200d\U0001F469\u200d\U0001F467";
  EXPECT_EQ(words("a " + family), (Strings{"a", family}));
  EXPECT_EQ(words("soft\u00adhyphen"), (Strings{"soft\u00adhyphen"}));
}

TEST(SplitWords, LeavesInvisibleCharactersOut) {
  EXPECT_EQ(words(" \t\n\u00a0\u3000"), Strings{});
  EXPECT_EQ(words(""), Strings{});
  EXPECT_EQ(words(std::string_view("\x01 a \u200b\u2060 b", 13)), (Strings{"a", "b"}));
}

TEST(WordsOfTokens, JoinsPiecesAndKeepsSpecialTokensApart) {
  //                          0123456789012345
  const std::string text = "It didn't stop.";
  const std::vector<LookToken> tokens = {
      token(0, 0, "[CLS]", true), token(0, 2), token(3, 7), token(7, 8), token(8, 9), token(10, 14), token(14, 15),
      token(0, 0, "[SEP]", true)};
  const Axis axis = words_of_tokens(text, tokens, false);
  EXPECT_EQ(labels(axis), (Strings{"[CLS]", "It", "didn't", "stop", ".", "[SEP]"}));
  EXPECT_EQ(axis[2].token_begin, 2);
  EXPECT_EQ(axis[2].token_end, 5);
  EXPECT_EQ(axis[2].byte_begin, 3u);
  EXPECT_EQ(axis[2].byte_end, 9u);
  EXPECT_TRUE(axis[0].special);
  EXPECT_FALSE(axis[2].special);
}

TEST(WordsOfTokens, MergesWordsThatShareAToken) {
  const std::string text = "\u52a8\u7269\u7d2f of the";
  // A token over the first two ideographs; one over "of the".
  const Axis axis = words_of_tokens(text, std::vector{token(0, 6), token(6, 9), token(10, 16)}, false);
  EXPECT_EQ(labels(axis), (Strings{"\u52a8\u7269", "\u7d2f", "of the"}));
}

TEST(WordsOfTokens, ChainsTokensThatOverlapTheSameWords) {
  const std::string text =
      "a.b.c";  // five words of a byte each; tokens a. | .b | .c where the second overlaps the first
  const Axis axis = words_of_tokens(text, std::vector{token(0, 2), token(1, 3), token(3, 5)}, false);
  EXPECT_EQ(labels(axis), (Strings{"a.b", ".c"}));
  EXPECT_EQ(axis[0].token_end, 2);
}

TEST(WordsOfTokens, CountsLeadingSpaceOfAPieceToNoWord) {
  const std::string text = "the cat";
  const Axis axis = words_of_tokens(text, std::vector{token(0, 3), token(3, 7)}, false);
  EXPECT_EQ(labels(axis), (Strings{"the", "cat"}));
  EXPECT_EQ(axis[1].byte_begin, 4u);
}

TEST(WordsOfTokens, LetsATokenOfWhiteSpaceStandAlone) {
  const Axis axis =
      words_of_tokens("a \n b", std::vector{token(0, 1), token(1, 4, "\u0120\u010a"), token(4, 5)}, false);
  EXPECT_EQ(labels(axis), (Strings{"a", "\u0120\u010a", "b"}));
}

TEST(WhiteSpace, IsNoWordToAReader) {
  for (const char* blank : {" ", "\n", " \t\r\n", "\u00a0", "\u3000", "\u2028"}) {
    EXPECT_TRUE(is_white_space(blank)) << blank;
  }
  for (const char* text : {"", "a", " a", "\u200b", "\u2581", "\xff", " \xc2"})
    EXPECT_FALSE(is_white_space(text)) << text;
  const Axis axis =
      words_of_tokens("a  \n b", std::vector{token(0, 1), token(1, 2, " "), token(2, 4, " \n"), token(4, 6)}, false);
  EXPECT_EQ(axis.size(), 4u);
  EXPECT_EQ(count_white_space(axis), 2u);
}

TEST(WordsOfTokens, KeepsTheBytesOfOneCharacterTogether) {
  const std::string text = "\U0001F600!";  // byte fallback: four tokens for one character
  const std::vector<LookToken> tokens = {token(0, 4), token(0, 4), token(0, 4), token(0, 4), token(4, 5)};
  EXPECT_EQ(labels(words_of_tokens(text, tokens, false)), (Strings{"\U0001F600", "!"}));
}

TEST(WordsOfTokens, EndsACutWordWhereItsTokensEnd) {
  const std::string text = "unhappiness stays";
  EXPECT_EQ(labels(words_of_tokens(text, std::vector{token(0, 2), token(2, 7)}, true)), Strings{"unhappi"});
  EXPECT_EQ(labels(words_of_tokens(text, std::vector{token(0, 2), token(2, 7)}, false)), Strings{"unhappiness"});
}

TEST(OccurrenceSuffix, NamesEachOfSeveral) {
  Axis axis;
  for (const char* label : {"the", "cat", "The", "the", "cat", "the", "sat"})
    axis.push_back({label, 0, 0, 0, 0, false});
  Strings names;
  for (std::size_t i = 0; i < axis.size(); ++i) {
    names.push_back(axis[i].label + occurrence_suffix(axis, i));
    if (axis[i].label != "The") {
      EXPECT_EQ(find_item(axis, names.back()), i);
    }
  }
  EXPECT_EQ(names, (Strings{"the:1", "cat:1", "The", "the:2", "cat:2", "the:3", "sat"}));
}

TEST(DroppedText, NamesWhatNoTokenCovers) {
  const std::string text = "a \ue000\u200b b";  // private use and zero-width space: both removed by BERT's cleaning
  const auto dropped = dropped_text(text, std::vector{token(0, 1), token(9, 10)}, false);
  ASSERT_EQ(dropped.size(), 1u);
  EXPECT_EQ(dropped[0].byte_begin, 2u);
  EXPECT_EQ(dropped[0].byte_end, 8u);
}

TEST(DroppedText, IgnoresWhiteSpaceAndWhatWasCut) {
  EXPECT_TRUE(dropped_text("a \t b", std::vector{token(0, 1), token(4, 5)}, false).empty());
  EXPECT_TRUE(dropped_text("a b c", std::vector{token(0, 1)}, true).empty());
  EXPECT_EQ(dropped_text("a b c", std::vector{token(0, 1)}, false).size(), 2u);
}

// Four hundred texts in many scripts, with controls, emoji and accents: whatever they hold, tokens are dealt out to
// words.
class RealTexts : public ::testing::Test {
 protected:
  struct Case {
    std::string text;
    std::vector<LookToken> tokens;
  };
  RealTexts() {
    const auto folder = testing::source_path("tests/data/conformance/tokenizers/wordpiece_minilm");
    const auto tokenizer = tokenizer::Tokenizer::load(folder / "tokenizer.json");
    std::ifstream file(folder / "cases.jsonl");
    for (std::string line; std::getline(file, line);) {
      Case& one = cases_.emplace_back();
      one.text = format::parse_json(line, "cases.jsonl")["text"].get<std::string>();
      for (const tokenizer::Token& t : tokenizer.encode(one.text).tokens) {
        one.tokens.push_back(token(t.begin, t.end, t.piece, t.special));
      }
    }
  }
  std::vector<Case> cases_;
};

TEST_F(RealTexts, GiveEveryTokenToOneWord) {
  ASSERT_EQ(cases_.size(), 400u);
  for (const auto& [text, tokens] : cases_) {
    std::int64_t next = 0;
    std::size_t byte = 0;
    for (const AxisItem& word : words_of_tokens(text, tokens, false)) {
      EXPECT_EQ(word.token_begin, next) << text;
      EXPECT_GT(word.token_end, next) << text;
      next = word.token_end;
      if (word.special) continue;
      EXPECT_GE(word.byte_begin, byte) << text;
      EXPECT_EQ(word.label, text.substr(word.byte_begin, word.byte_end - word.byte_begin)) << text;
      byte = word.byte_end;
    }
    EXPECT_EQ(next, static_cast<std::int64_t>(tokens.size())) << text;
  }
}

TEST_F(RealTexts, SplitIntoWordsInOrderWithoutWhiteSpace) {
  for (const auto& [text, tokens] : cases_) {
    std::size_t byte = 0;
    for (const auto& [begin, end] : split_words(text)) {
      EXPECT_GE(begin, byte) << text;
      EXPECT_GT(end, begin) << text;
      EXPECT_EQ(text.substr(begin, end - begin).find_first_of(" \t\n\r"), std::string::npos) << text;
      byte = end;
    }
  }
}

TEST_F(RealTexts, LoseNothingUnnoticed) {
  // A visible word is either touched by a token or named as dropped.
  for (const auto& [text, tokens] : cases_) {
    const auto dropped = dropped_text(text, tokens, false);
    for (const TextSpan& word : split_words(text)) {
      const auto meets = [&](std::size_t begin, std::size_t end) { return begin < word.end && word.begin < end; };
      const bool kept = std::ranges::any_of(tokens, [&](const auto& t) { return meets(t.byte_begin, t.byte_end); });
      const bool named = std::ranges::any_of(dropped, [&](const auto& d) { return meets(d.byte_begin, d.byte_end); });
      EXPECT_TRUE(kept || named) << text;
    }
  }
}

}  // namespace
}  // namespace sightline::engine
