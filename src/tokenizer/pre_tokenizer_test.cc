#include "src/tokenizer/pre_tokenizer.h"

#include "sightline/error.h"
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
              make({{"type", "Sideways"}});
            }),
            R"(tokenizer.json: "pre_tokenizer.type" is "Sideways", which is not supported)");
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

// What the Hugging Face library (tokenizers 0.23.3) makes of every behaviour.
struct SplitCase {
  const char* pattern;
  const char* behavior;
  bool invert;
  const char* text;
  Parts parts;
};

class SplitStage : public testing::TestWithParam<SplitCase> {};

TEST_P(SplitStage, CutsAsTheReference) {
  const Json json = {{"type", "Split"},
                     {"pattern", Json::parse(GetParam().pattern)},
                     {"behavior", GetParam().behavior},
                     {"invert", GetParam().invert}};
  EXPECT_EQ(parts_of(json, GetParam().text), GetParam().parts) << json.dump();
}

INSTANTIATE_TEST_SUITE_P(
    Behaviors, SplitStage,
    testing::Values(
        SplitCase{R"({"String": "--"})", "Removed", false, "a--b----c", {"a", "b", "c"}},
        SplitCase{R"({"String": "--"})", "Removed", true, "a--b----c", {"--", "--", "--"}},
        SplitCase{R"({"String": "--"})", "Isolated", false, "a--b----c", {"a", "--", "b", "--", "--", "c"}},
        SplitCase{R"({"String": "--"})", "Isolated", true, "a--b----c", {"a", "--", "b", "--", "--", "c"}},
        SplitCase{R"({"String": "--"})", "MergedWithPrevious", false, "a--b----c", {"a--", "b--", "--", "c"}},
        SplitCase{R"({"String": "--"})", "MergedWithPrevious", true, "a--b----c", {"a", "--b", "--", "--c"}},
        SplitCase{R"({"String": "--"})", "MergedWithNext", false, "a--b----c", {"a", "--b", "--", "--c"}},
        SplitCase{R"({"String": "--"})", "MergedWithNext", true, "a--b----c", {"a--", "b--", "--", "c"}},
        SplitCase{R"({"String": "--"})", "Contiguous", false, "a--b----c", {"a", "--", "b", "----", "c"}},
        SplitCase{R"({"String": "--"})", "Contiguous", true, "a--b----c", {"a", "--", "b", "----", "c"}},
        SplitCase{R"({"String": "."})", "Removed", false, ".a.b..", {"a", "b"}},
        SplitCase{R"({"String": "."})", "Removed", true, ".a.b..", {".", ".", ".", "."}},
        SplitCase{R"({"String": "."})", "Isolated", false, ".a.b..", {".", "a", ".", "b", ".", "."}},
        SplitCase{R"({"String": "."})", "Isolated", true, ".a.b..", {".", "a", ".", "b", ".", "."}},
        SplitCase{R"({"String": "."})", "MergedWithPrevious", false, ".a.b..", {".", "a.", "b.", "."}},
        SplitCase{R"({"String": "."})", "MergedWithPrevious", true, ".a.b..", {".a", ".b", ".", "."}},
        SplitCase{R"({"String": "."})", "MergedWithNext", false, ".a.b..", {".a", ".b", ".", "."}},
        SplitCase{R"({"String": "."})", "MergedWithNext", true, ".a.b..", {".", "a.", "b.", "."}},
        SplitCase{R"({"String": "."})", "Contiguous", false, ".a.b..", {".", "a", ".", "b", ".."}},
        SplitCase{R"({"String": "."})", "Contiguous", true, ".a.b..", {".", "a", ".", "b", ".."}},
        SplitCase{R"({"Regex": "\\d"})", "Removed", false, "12a3bb", {"a", "bb"}},
        SplitCase{R"({"Regex": "\\d"})", "Removed", true, "12a3bb", {"1", "2", "3"}},
        SplitCase{R"({"Regex": "\\d"})", "Isolated", false, "12a3bb", {"1", "2", "a", "3", "bb"}},
        SplitCase{R"({"Regex": "\\d"})", "Isolated", true, "12a3bb", {"1", "2", "a", "3", "bb"}},
        SplitCase{R"({"Regex": "\\d"})", "MergedWithPrevious", false, "12a3bb", {"1", "2", "a3", "bb"}},
        SplitCase{R"({"Regex": "\\d"})", "MergedWithPrevious", true, "12a3bb", {"1", "2a", "3bb"}},
        SplitCase{R"({"Regex": "\\d"})", "MergedWithNext", false, "12a3bb", {"1", "2a", "3bb"}},
        SplitCase{R"({"Regex": "\\d"})", "MergedWithNext", true, "12a3bb", {"1", "2", "a3", "bb"}},
        SplitCase{R"({"Regex": "\\d"})", "Contiguous", false, "12a3bb", {"12", "a", "3", "bb"}},
        SplitCase{R"({"Regex": "\\d"})", "Contiguous", true, "12a3bb", {"12", "a", "3", "bb"}},
        SplitCase{R"({"Regex": "x*"})", "Removed", false, "axxb", {"a", "b"}},
        SplitCase{R"({"Regex": "x*"})", "Removed", true, "axxb", {"xx"}},
        SplitCase{R"({"Regex": "x*"})", "Isolated", false, "axxb", {"a", "xx", "b"}},
        SplitCase{R"({"Regex": "x*"})", "Isolated", true, "axxb", {"a", "xx", "b"}},
        SplitCase{R"({"Regex": "x*"})", "MergedWithPrevious", false, "axxb", {"axx", "b"}},
        SplitCase{R"({"Regex": "x*"})", "MergedWithPrevious", true, "axxb", {"a", "xxb"}},
        SplitCase{R"({"Regex": "x*"})", "MergedWithNext", false, "axxb", {"a", "xxb"}},
        SplitCase{R"({"Regex": "x*"})", "MergedWithNext", true, "axxb", {"axx", "b"}},
        SplitCase{R"({"Regex": "x*"})", "Contiguous", false, "axxb", {"a", "xx", "b"}},
        SplitCase{R"({"Regex": "x*"})", "Contiguous", true, "axxb", {"a", "xx", "b"}}));

TEST(PreTokenizer, SplitRefusesWhatItLacks) {
  const Json split = {{"type", "Split"}, {"pattern", {{"String", ""}}}, {"behavior", "Isolated"}};
  EXPECT_THROW(make(split), UnsupportedModel);
  Json other = split;
  other["pattern"] = {{"Regex", "\\K"}};
  EXPECT_NE(error_of<UnsupportedModel>([&] { make(other); }).find("\"pre_tokenizer.pattern.Regex\""),
            std::string::npos);
  other["pattern"] = {{"Regex", "a"}};
  other["behavior"] = "Sideways";
  EXPECT_THROW(make(other), UnsupportedModel);
  other.erase("behavior");
  EXPECT_THROW(make(other), BadFile);
}

TEST(PreTokenizer, ByteLevel) {
  Json json = {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", true}};
  EXPECT_EQ(parts_of(json, "Hi there's  \u00e9\n 1x"),
            (Parts{"Hi", "\u0120there", "'s", "\u0120", "\u0120\u00c3\u00a9", "\u010a", "\u01201", "x"}));
  EXPECT_EQ(parts_of(json, ""), Parts{});
  json["add_prefix_space"] = true;
  EXPECT_EQ(parts_of(json, "Hi"), Parts{"\u0120Hi"});
  EXPECT_EQ(parts_of(json, " Hi"), Parts{"\u0120Hi"});
  json["use_regex"] = false;
  EXPECT_EQ(parts_of(json, "Hi there"), Parts{"\u0120Hi\u0120there"});
}

}  // namespace
}  // namespace sightline::tokenizer
