#include "src/tokenizer/pre_tokenizer.h"

#include "src/tokenizer/testing.h"

namespace sightline::tokenizer {
namespace {

using Parts = std::vector<std::string>;

PreTokenizer make(const Json& json) { return make_pre_tokenizer(JsonObject(json, "tokenizer.json", "pre_tokenizer")); }

Parts parts_of(const Json& json, std::string_view source) {
  PreTokenizedString text{NormalizedString(source).chars(), {}};
  if (!text.chars.empty()) text.splits.push_back({0, text.chars.size(), {}});
  make(json)(text);
  Parts parts;
  for (const Split& split : text.splits) {
    EXPECT_LT(split.begin, split.end);
    parts.push_back(to_utf8(CharSpan(text.chars).subspan(split.begin, split.end - split.begin)));
  }
  return parts;
}

TEST(PreTokenizer, Bert) {
  const Json bert = {{"type", "BertPreTokenizer"}};
  EXPECT_EQ(parts_of(bert, "Hey friend!     How are you?!?"),
            (Parts{"Hey", "friend", "!", "How", "are", "you", "?", "!", "?"}));
  EXPECT_EQ(parts_of(bert, "didn't—stop"), (Parts{"didn", "'", "t", "—", "stop"}));
  EXPECT_EQ(parts_of(bert, "a\u3000b\u0085c"), (Parts{"a", "b", "c"}));
  EXPECT_EQ(parts_of(bert, "1+1=2$"), (Parts{"1", "+", "1", "=", "2", "$"}));  // ASCII symbols count as punctuation
  EXPECT_EQ(parts_of(bert, "1×2€"), (Parts{"1×2€"}));                          // others do not
  EXPECT_EQ(parts_of(bert, " \n"), Parts{});
  EXPECT_EQ(parts_of(bert, ""), Parts{});
}

TEST(PreTokenizer, WhitespaceSplitsWordsFromTheRest) {
  const Json whitespace = {{"type", "Whitespace"}};
  EXPECT_EQ(parts_of(whitespace, "Hey man!"), (Parts{"Hey", "man", "!"}));
  EXPECT_EQ(parts_of(whitespace, "How are you doing?!  e\u0301_1"),
            (Parts{"How", "are", "you", "doing", "?!", "e\u0301_1"}));
  EXPECT_EQ(parts_of(whitespace, "--a\u200db"), (Parts{"--", "a\u200db"}));  // a joiner is a word character
}

TEST(PreTokenizer, WhitespaceSplit) {
  EXPECT_EQ(parts_of({{"type", "WhitespaceSplit"}}, " Hey, man,\u2003Good?"), (Parts{"Hey,", "man,", "Good?"}));
}

TEST(PreTokenizer, PunctuationByBehavior) {
  const auto parts = [](const Json& behavior) {
    return parts_of({{"type", "Punctuation"}, {"behavior", behavior}}, "the-final--countdown");
  };
  EXPECT_EQ(parts("Removed"), (Parts{"the", "final", "countdown"}));
  EXPECT_EQ(parts("Isolated"), (Parts{"the", "-", "final", "-", "-", "countdown"}));
  EXPECT_EQ(parts("MergedWithPrevious"), (Parts{"the-", "final-", "-", "countdown"}));
  EXPECT_EQ(parts("MergedWithNext"), (Parts{"the", "-final", "-", "-countdown"}));
  EXPECT_EQ(parts("Contiguous"), (Parts{"the", "-", "final", "--", "countdown"}));
  EXPECT_EQ(parts(nullptr), parts("Isolated"));
  EXPECT_EQ(parts_of({{"type", "Punctuation"}, {"behavior", "MergedWithPrevious"}}, "--a-"), (Parts{"-", "-", "a-"}));
  EXPECT_EQ(parts_of({{"type", "Punctuation"}, {"behavior", "MergedWithNext"}}, "a--"), (Parts{"a", "-", "-"}));
}

TEST(PreTokenizer, Digits) {
  const Json together = {{"type", "Digits"}, {"individual_digits", false}};
  const Json alone = {{"type", "Digits"}, {"individual_digits", true}};
  EXPECT_EQ(parts_of(together, "Hey 123 friend!"), (Parts{"Hey ", "123", " friend!"}));
  EXPECT_EQ(parts_of(alone, "Hey 123 friend!"), (Parts{"Hey ", "1", "2", "3", " friend!"}));
  EXPECT_EQ(parts_of(alone, "x²½४"), (Parts{"x", "²", "½", "४"}));
}

TEST(PreTokenizer, SequenceSplitsWhatWasSplit) {
  const Json sequence = {{"type", "Sequence"},
                         {"pretokenizers", {{{"type", "WhitespaceSplit"}}, {{"type", "Punctuation"}}}}};
  EXPECT_EQ(parts_of(sequence, "Hey, man"), (Parts{"Hey", ",", "man"}));
}

TEST(PreTokenizer, LeavesAddedTokensAlone) {
  PreTokenizedString text{NormalizedString("a b c d").chars(), {{0, 3, {}}, {3, 7, 5}}};
  make({{"type", "WhitespaceSplit"}})(text);
  ASSERT_EQ(text.splits.size(), 3u);
  EXPECT_EQ(text.splits[2].begin, 3u);
  EXPECT_EQ(text.splits[2].end, 7u);
  EXPECT_EQ(text.splits[2].added_token, 5);
}

TEST(PreTokenizer, RefusesWhatItCannotDo) {
  EXPECT_EQ(error_of<UnsupportedModel>([] {
              make({{"type", "ByteLevel"}});
            }),
            R"(tokenizer.json: "pre_tokenizer.type" is "ByteLevel", which is not supported)");
  EXPECT_EQ(error_of<UnsupportedModel>([] {
              make({{"type", "Punctuation"}, {"behavior", "Joined"}});
            }),
            R"(tokenizer.json: "pre_tokenizer.behavior" is "Joined", which is not supported)");
  EXPECT_EQ(error_of<UnsupportedModel>([] {
              make({{"type", "Digits"}, {"individual_digits", true}, {"base", 8}});
            }),
            R"(tokenizer.json: "pre_tokenizer.base" is a setting that is not supported)");
  EXPECT_EQ(error_of<BadFile>([] {
              make({{"type", "Digits"}});
            }),
            R"(tokenizer.json: "pre_tokenizer.individual_digits" is missing)");
}

}  // namespace
}  // namespace sightline::tokenizer
