#include "src/tokenizer/tokenizer.h"

#include <cstdlib>
#include <filesystem>

#include "src/tokenizer/testing.h"

namespace sightline::tokenizer {
namespace {

using Pieces = std::vector<std::string>;

std::filesystem::path minilm_file() {
  return std::filesystem::path(SIGHTLINE_SOURCE_DIR) /
         "tests/data/conformance/tokenizers/wordpiece_minilm/tokenizer.json";
}

// What the Hugging Face library (tokenizers 0.23.3) makes of texts where normalisation moves characters about.
struct Case {
  const char* text;
  Pieces pieces;
  Offsets offsets;
};

class Tricky : public testing::TestWithParam<Case> {};

TEST_P(Tricky, EqualsTheReference) {
  static const Tokenizer tokenizer = Tokenizer::load(minilm_file());
  const Encoding encoding = tokenizer.encode(GetParam().text, {.add_special = false, .parse_special = true});
  EXPECT_EQ(pieces_of(encoding), GetParam().pieces);
  EXPECT_EQ(char_offsets(encoding, GetParam().text), GetParam().offsets);
}

INSTANTIATE_TEST_SUITE_P(
    Texts, Tricky,
    testing::Values(Case{"cafe\u0301 na\u00efve", {"cafe", "naive"}, {{0, 4}, {6, 11}}},
                    Case{"\u0344x\u0323\u0307y", {"x", "##y"}, {{1, 2}, {4, 5}}},
                    Case{"a\u0307\u0323b", {"ab"}, {{0, 4}}},
                    Case{"\ud55c\uad6d",
                         {"\u1112", "##\u1161", "##\u11ab", "##\u1100", "##\u116e", "##\u11a8"},
                         {{0, 1}, {0, 1}, {0, 1}, {1, 2}, {1, 2}, {1, 2}}},
                    Case{"\u1112\u1161\u11ab", {"\u1112", "##\u1161", "##\u11ab"}, {{0, 1}, {1, 2}, {2, 3}}},
                    Case{"\u0130stanbul", {"istanbul"}, {{0, 8}}},
                    Case{"\U0001f469\u200d\U0001f4bb ok", {"[UNK]", "ok"}, {{0, 3}, {4, 6}}},
                    Case{"x\u5b57y\u4e00", {"x", "[UNK]", "y", "\u4e00"}, {{0, 1}, {1, 2}, {2, 3}, {3, 4}}},
                    Case{"\u05e9\u05b8\u05dc\u05d5\u05b9\u05dd",
                         {"\u05e9", "##\u05dc", "##\u05d5", "##\u05dd"},
                         {{0, 1}, {2, 3}, {3, 4}, {5, 6}}},
                    Case{"\u1734a\u1885", {"[UNK]"}, {{1, 3}}},
                    Case{"\u202eabc\u00ad\u200bdef", {"abc", "##de", "##f"}, {{1, 4}, {6, 8}, {8, 9}}},
                    Case{"[CLS]\u00e9[MASK]", {"[CLS]", "e", "[MASK]"}, {{0, 5}, {5, 6}, {6, 12}}},
                    Case{"\ufb01ne \u2126", {"\ufb01", "##ne", "\u03c9"}, {{0, 1}, {1, 3}, {4, 5}}},
                    Case{"\u09cb\u0c48", {"\u09c7", "##\u09be"}, {{0, 1}, {0, 1}}},
                    Case{"eee\u0301\u0301\u0301\u0301", {"ee", "##e"}, {{0, 2}, {2, 3}}}));

TEST(Tokenizer, SaysWhatItIs) {
  const Tokenizer tokenizer = Tokenizer::load(minilm_file());
  EXPECT_EQ(tokenizer.kind(), "WordPiece");
  EXPECT_EQ(tokenizer.vocabulary_size(), 30522u);
  EXPECT_EQ(tokenizer.id_of("[MASK]"), 103);
  EXPECT_EQ(tokenizer.id_of("##ing"), 2075);
  EXPECT_FALSE(tokenizer.id_of("no such piece"));
  EXPECT_FALSE(tokenizer.file_padding());
  EXPECT_FALSE(tokenizer.file_truncation());
}

TEST(Tokenizer, ReportsPaddingAndTruncationOfTheFile) {
  Json file = wordpiece_file({});
  file["padding"] = {{"strategy", {{"Fixed", 128}}}, {"direction", "Right"}};
  file["truncation"] = {{"max_length", 64}, {"strategy", "LongestFirst"}, {"stride", 0}};
  EXPECT_EQ(parse(file).file_padding(), 128u);
  EXPECT_EQ(parse(file).file_truncation(), 64u);
  file["padding"]["strategy"] = "BatchLongest";
  EXPECT_FALSE(parse(file).file_padding());
}

TEST(Tokenizer, PaddingOfMiniLmDoesNotAct) {
  const char* named = std::getenv("SIGHTLINE_MINILM");
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  const std::filesystem::path caches = cache != nullptr ? cache : std::string(home != nullptr ? home : "") + "/.cache";
  const std::filesystem::path folder = named != nullptr ? named : caches / "sightline/all-MiniLM-L6-v2";
  if (!std::filesystem::exists(folder / "tokenizer.json")) {
    GTEST_SKIP() << "no tokenizer.json in " << folder << "; SIGHTLINE_MINILM can name another folder";
  }
  const Tokenizer tokenizer = Tokenizer::load(folder / "tokenizer.json");
  EXPECT_EQ(tokenizer.file_padding(), 128u);
  EXPECT_EQ(tokenizer.file_truncation(), 128u);
  EXPECT_EQ(ids_of(tokenizer.encode("hello world")), (std::vector<std::int32_t>{101, 7592, 2088, 102}));
  std::string long_text;
  for (int i = 0; i < 200; ++i) long_text += "hello ";
  EXPECT_EQ(tokenizer.encode(long_text).tokens.size(), 202u);
}

TEST(Tokenizer, WordsArePreTokens) {
  Json file = wordpiece_file({"didn", "'", "t", "##n", "did"});
  file["pre_tokenizer"] = {{"type", "BertPreTokenizer"}};
  const Encoding encoding = parse(file).encode("didn't did");
  ASSERT_EQ(encoding.tokens.size(), 4u);
  for (std::int32_t i = 0; i < 4; ++i) EXPECT_EQ(encoding.tokens[static_cast<std::size_t>(i)].word, i);
}

TEST(Tokenizer, CountsBytesOfTheOriginalText) {
  Json file = wordpiece_file({"e", "字"});
  file["normalizer"] = {
      {"type", "BertNormalizer"}, {"clean_text", true}, {"handle_chinese_chars", true}, {"lowercase", true}};
  file["pre_tokenizer"] = {{"type", "BertPreTokenizer"}};
  const Encoding encoding = parse(file).encode("É\u200d字");
  ASSERT_EQ(encoding.tokens.size(), 2u);
  EXPECT_EQ(encoding.tokens[0].begin, 0u);
  EXPECT_EQ(encoding.tokens[0].end, 2u);
  EXPECT_EQ(encoding.tokens[1].begin, 5u);
  EXPECT_EQ(encoding.tokens[1].end, 8u);
}

TEST(Tokenizer, TakesEveryCharacterNulIncluded) {
  const Tokenizer tokenizer = parse(wordpiece_file({"a"}));
  EXPECT_EQ(ids_of(tokenizer.encode(std::string_view("\0a", 2))), std::vector<std::int32_t>{0});
  std::string all;
  for (char32_t c = 0; c <= 0x10FFFF; c += 17) {
    if (c < 0xD800 || c > 0xDFFF) append_utf8(c, all);
  }
  EXPECT_EQ(tokenizer.encode(all).tokens.size(), 1u);
  EXPECT_EQ(tokenizer.encode(all).tokens[0].end, all.size());
}

TEST(Tokenizer, RefusesTextThatIsNotUtf8AndSaysWhere) {
  const Tokenizer tokenizer = parse(wordpiece_file({"a"}));
  EXPECT_EQ(error_of<BadArgument>([&] { tokenizer.encode("ab\xff"); }),
            "the text is not UTF-8: no character starts at byte 2");
  EXPECT_EQ(error_of<BadArgument>([&] { tokenizer.encode("é\xed\xa0\x80"); }),
            "the text is not UTF-8: no character starts at byte 2");
  EXPECT_EQ(error_of<BadArgument>([&] { tokenizer.encode("a", "\xe5\xad", {}); }),
            "the text is not UTF-8: no character starts at byte 0");
}

TEST(Tokenizer, RefusesToDecodeWhatIsNotAnId) {
  const Tokenizer tokenizer = parse(wordpiece_file({"a"}));
  EXPECT_EQ(error_of<BadArgument>([&] {
              tokenizer.decode({3, 4}, false);
            }),
            "token id 4 is not in the tokenizer's vocabulary");
  EXPECT_EQ(error_of<BadArgument>([&] { tokenizer.decode({-1}, true); }),
            "token id -1 is not in the tokenizer's vocabulary");
}

TEST(Tokenizer, RefusesModelsAndVersionsThatItDoesNotKnow) {
  const auto refusal = [](const char* pointer, const Json& value) {
    Json file = wordpiece_file({});
    file[Json::json_pointer(pointer)] = value;
    return error_of<UnsupportedModel>([&] { parse(file); });
  };
  EXPECT_EQ(refusal("/model/type", "WordLevel"),
            R"(tokenizer.json: "model.type" is "WordLevel", which is not supported)");
  EXPECT_EQ(refusal("/model/dropout", 0.1), R"(tokenizer.json: "model.dropout" is a setting that is not supported)");
  EXPECT_EQ(refusal("/version", "2.0"), R"(tokenizer.json: "version" is "2.0", which is not supported; "1.0" is)");
  EXPECT_EQ(refusal("/filter", true), R"(tokenizer.json: "filter" is a setting that is not supported)");
}

TEST(Tokenizer, ReadsAModelWithoutAType) {
  Json file = wordpiece_file({"a"});
  file["model"].erase("type");
  EXPECT_EQ(parse(file).kind(), "WordPiece");
}

TEST(Tokenizer, ReadsAVocabularyWhoseNameIsEscaped) {
  std::string text = wordpiece_file({"a", "b"}).dump();
  text.replace(text.find("\"vocab\""), 7, "\"voca\\u0062\"");
  EXPECT_EQ(ids_of(Tokenizer::parse(text, "tokenizer.json").encode("b")), std::vector<std::int32_t>{4});
}

TEST(Tokenizer, RefusesFilesThatAreMissingCutOrNotJson) {
  const format::TestDirectory directory;
  const std::string missing = error_of<BadFile>([&] { Tokenizer::load(directory / "tokenizer.json"); });
  EXPECT_NE(missing.find((directory / "tokenizer.json").string()), std::string::npos) << missing;

  const std::string whole = wordpiece_file({"a", "##b"}).dump();
  for (std::size_t length = 0; length < whole.size(); ++length) {
    error_of<BadFile>([&] { Tokenizer::parse(whole.substr(0, length), "tokenizer.json"); });
  }
  const auto refusal = [](std::string_view text) {
    return error_of<BadFile>([&] { Tokenizer::parse(text, "tokenizer.json"); });
  };
  EXPECT_EQ(refusal("[]"), "tokenizer.json: the file must be an object, not an array");
  EXPECT_EQ(refusal("{}"), R"(tokenizer.json: "model" is missing)");
  EXPECT_EQ(refusal(R"({"model": 1})"), R"(tokenizer.json: "model" must be an object, not 1)");
  EXPECT_EQ(refusal(R"({"model": {}})"), R"(tokenizer.json: "model.vocab" is missing)");
}

// An array nested a million deep neither overflows the stack nor passes.
TEST(Tokenizer, RefusesDeepNesting) {
  std::string deep;
  for (int i = 0; i < 1'000'000; ++i) deep += R"({"type":"Sequence","normalizers":[)";
  error_of<BadFile>([&] { Tokenizer::parse(R"({"normalizer":)" + deep, "tokenizer.json"); });
}

}  // namespace
}  // namespace sightline::tokenizer
