#include "src/tokenizer/added_tokens.h"

#include "sightline/error.h"
#include "src/tokenizer/testing.h"

namespace sightline::tokenizer {
namespace {

using Pieces = std::vector<std::string>;

struct Flags {
  bool single_word = false, lstrip = false, rstrip = false, normalized = false, special = false;
};

Json added(int id, const std::string& content, const Flags& flags = {}) {
  return {{"id", id},
          {"content", content},
          {"single_word", flags.single_word},
          {"lstrip", flags.lstrip},
          {"rstrip", flags.rstrip},
          {"normalized", flags.normalized},
          {"special", flags.special}};
}

// Pieces: [UNK], [CLS], [SEP], a, b, ##a, ##b, so that the next free id is 7; words are split at white space.
Json file_with(const std::vector<Json>& added_tokens) {
  Json file = wordpiece_file({"a", "b", "##a", "##b"});
  file["pre_tokenizer"] = {{"type", "WhitespaceSplit"}};
  file["added_tokens"] = added_tokens;
  return file;
}

Pieces pieces(const std::vector<Json>& added_tokens, std::string_view text) {
  return pieces_of(parse(file_with(added_tokens)).encode(text, {.parse_special = true}));
}

TEST(AddedTokens, AreFoundLeftmostAndLongest) {
  const std::vector<Json> tokens = {added(7, "<x>"), added(8, "<x><x>"), added(9, "x><")};
  EXPECT_EQ(pieces(tokens, "a<x><x><x>b"), (Pieces{"a", "<x><x>", "<x>", "b"}));
  EXPECT_EQ(pieces(tokens, "<x"), Pieces{"[UNK]"});
  EXPECT_EQ(pieces(tokens, "x><x>"), (Pieces{"x><", "[UNK]"}));
}

TEST(AddedTokens, HaveOffsetsAndWordsAndAreNotOfTheTemplate) {
  const std::string text = "é[CLS]a b";
  const Encoding encoding =
      parse(file_with({added(1, "[CLS]", {.special = true})})).encode(text, {.parse_special = true});
  EXPECT_EQ(pieces_of(encoding), (Pieces{"[UNK]", "[CLS]", "a", "b"}));
  EXPECT_EQ(char_offsets(encoding, text), (Offsets{{0, 1}, {1, 6}, {6, 7}, {8, 9}}));
  EXPECT_EQ(encoding.tokens[1].id, 1);
  EXPECT_EQ(encoding.tokens[1].word, 1);
  EXPECT_EQ(encoding.tokens[1].sequence, 0);
  EXPECT_FALSE(encoding.tokens[1].special);
}

TEST(AddedTokens, StripWhiteSpaceBesideThem) {
  EXPECT_EQ(pieces({added(7, "<x>", {.lstrip = true, .rstrip = true})}, "a \u3000<x>\n b"),
            (Pieces{"a", " \u3000<x>\n ", "b"}));
  EXPECT_EQ(pieces({added(7, "<x>", {.lstrip = true})}, "<x>  <x> b"), (Pieces{"<x>", "  <x>", "b"}));
  EXPECT_EQ(pieces({added(7, "<x>", {.lstrip = true, .rstrip = true})}, "<x>  <x>"), (Pieces{"<x>  ", "<x>"}));
}

TEST(AddedTokens, SingleWordsNeedBorders) {
  const std::vector<Json> tokens = {added(7, "cat", {.single_word = true})};
  EXPECT_EQ(pieces(tokens, "cat concat cat"), (Pieces{"cat", "[UNK]", "cat"}));
  EXPECT_EQ(pieces(tokens, "cat! cat_ écat"), (Pieces{"cat", "[UNK]", "[UNK]", "[UNK]"}));
}

TEST(AddedTokens, NormalizedOnesMatchInNormalizedText) {
  Json file = file_with({added(7, "Über", {.normalized = true}), added(8, "RAW")});
  file["normalizer"] = {{"type", "Lowercase"}};
  const Tokenizer tokenizer = parse(file);
  EXPECT_EQ(pieces_of(tokenizer.encode("a ÜBER über RAW")), (Pieces{"a", "über", "über", "RAW"}));
  EXPECT_EQ(pieces_of(tokenizer.encode("raw")), Pieces{"[UNK]"});
  EXPECT_EQ(ids_of(tokenizer.encode("ÜBER RAW")), (std::vector<std::int32_t>{7, 8}));
  EXPECT_EQ(tokenizer.decode({7, 8}, false), "über RAW");
  EXPECT_EQ(tokenizer.id_of("Über"), 7);
}

TEST(AddedTokens, CountInTheVocabulary) {
  const Tokenizer tokenizer = parse(file_with({added(1, "[CLS]"), added(7, "<x>"), added(8, "<y>")}));
  EXPECT_EQ(tokenizer.vocabulary_size(), 9u);
  EXPECT_EQ(tokenizer.id_of("<y>"), 8);
  EXPECT_EQ(tokenizer.id_of("##b"), 6);
  EXPECT_FALSE(tokenizer.id_of("<z>"));
}

TEST(AddedTokens, SpecialOnesMayBeLeftOutOfDecodedText) {
  const Tokenizer tokenizer = parse(file_with({added(7, "<x>", {.special = true}), added(8, "<y>")}));
  EXPECT_EQ(tokenizer.decode({3, 7, 8}, false), "a <x> <y>");
  EXPECT_EQ(tokenizer.decode({3, 7, 8}, true), "a <y>");
}

TEST(AddedTokens, RefusesIdsThatContradictTheVocabulary) {
  const auto refusal = [](const std::vector<Json>& tokens) {
    return error_of<BadFile>([&] { parse(file_with(tokens)); });
  };
  EXPECT_EQ(refusal({added(5, "[CLS]")}),
            R"(tokenizer.json: "added_tokens[0].id" of "[CLS]" is 5, but the vocabulary says 1)");
  EXPECT_EQ(refusal({added(7, "<x>"), added(9, "<y>")}),
            R"(tokenizer.json: "added_tokens[1].id" of "<y>" is 9, but the next free id is 8)");
  Json gap = file_with({added(7, "<x>")});
  gap["model"]["vocab"]["##b"] = 7;
  EXPECT_EQ(error_of<BadFile>([&] { parse(gap); }),
            R"(tokenizer.json: "added_tokens[0].id" of "<x>" is 7, which is the vocabulary's "##b")");
}

TEST(AddedTokens, RefusesWhatCannotMatchOrMatchesTwice) {
  const auto refusal = [](const std::vector<Json>& tokens) {
    Json file = file_with(tokens);
    file["normalizer"] = {{"type", "Strip"}, {"strip_left", true}, {"strip_right", true}};
    return error_of<BadFile>([&] { parse(file); });
  };
  EXPECT_EQ(refusal({added(7, "")}), R"(tokenizer.json: "added_tokens[0].content" must not be empty)");
  EXPECT_EQ(refusal({added(7, " ", {.normalized = true})}),
            R"(tokenizer.json: "added_tokens[0].content" is empty once it is normalised)");
  EXPECT_EQ(refusal({added(7, "x"), added(7, "x")}),
            R"(tokenizer.json: "added_tokens[1].id" of "x" is 7, but the next free id is 8)");
  EXPECT_EQ(refusal({added(3, "a"), added(3, "a")}),
            R"(tokenizer.json: "added_tokens[1].content" is "a", as another added token's)");
  EXPECT_EQ(refusal({added(7, "x", {.normalized = true}), added(8, " x", {.normalized = true})}),
            R"(tokenizer.json: "added_tokens[1].content" is " x", as another added token's)");
}

// The square of the number of spellings would take minutes.
TEST(AddedTokens, ManySpellingsOfASpecialTokenInOneWord) {
  Json file = file_with({added(4, "<s>", {.special = true})});
  file["model"] = {
      {"type", "BPE"}, {"vocab", {{"<", 0}, {"s", 1}, {">", 2}, {"<s", 3}, {"<s>", 4}}}, {"merges", {"< s", "<s >"}}};
  file["pre_tokenizer"] = nullptr;
  const Tokenizer tokenizer = parse(file);
  constexpr std::size_t kSpellings = 200000;
  std::string text;
  for (std::size_t i = 0; i < kSpellings; ++i) text += "<s>";
  const Encoding encoding = tokenizer.encode(text);
  ASSERT_EQ(encoding.tokens.size(), 3 * kSpellings);
  for (std::size_t i = 0; i < encoding.tokens.size(); ++i) {
    ASSERT_EQ(encoding.tokens[i].id, static_cast<std::int32_t>(i % 3));
    ASSERT_EQ(encoding.tokens[i].begin, i);
  }
}

TEST(AddedTokens, RefusesLongOnes) {
  EXPECT_TRUE(parse(file_with({added(7, std::string(1024, 'x'))})).id_of(std::string(1024, 'x')));
  EXPECT_EQ(
      error_of<UnsupportedModel>([&] { parse(file_with({added(7, std::string(1025, 'x'))})); }),
      R"(tokenizer.json: "added_tokens[0].content" has 1025 bytes once it is normalised; an added token may have )"
      "1024");
}

TEST(AddedTokens, RefusesMalformedOnes) {
  Json token = added(7, "x");
  token["kind"] = 1;
  EXPECT_EQ(error_of<UnsupportedModel>([&] { parse(file_with({token})); }),
            R"(tokenizer.json: "added_tokens[0].kind" is a setting that is not supported)");
  EXPECT_EQ(error_of<BadFile>([&] { parse(file_with({added(-1, "x")})); }),
            R"(tokenizer.json: "added_tokens[0].id" must be a whole number from 0 to 2147483647, not -1)");
  EXPECT_EQ(error_of<BadFile>([&] {
              parse(file_with({Json{{"id", 7}, {"content", "x"}}}));
            }),
            R"(tokenizer.json: "added_tokens[0].single_word" is missing)");
  Json object = file_with({});
  object["added_tokens"] = Json::object();
  EXPECT_EQ(error_of<BadFile>([&] { parse(object); }),
            R"(tokenizer.json: "added_tokens" must be an array, not an object)");
}

TEST(AddedTokens, SpecialOnesInTheTextAreTextUnlessAskedFor) {
  const Tokenizer tokenizer = parse(file_with({added(7, "<s>", {.special = true}), added(8, "<s>x"), added(9, "<u>")}));
  const std::string text = "a<s>b<u><s>x";
  EXPECT_EQ(pieces_of(tokenizer.encode(text, {.parse_special = true})), (Pieces{"a", "<s>", "b", "<u>", "<s>x"}));
  EXPECT_EQ(pieces_of(tokenizer.encode(text)), (Pieces{"[UNK]", "<u>", "<s>x"}));
}

// The model has them in its vocabulary: a word that spells one is cut, so that it is not found.
TEST(AddedTokens, NoModelMakesASpecialOneOfText) {
  const Tokenizer tokenizer = parse(file_with(
      {added(1, "[CLS]", {.special = true}), added(3, "a", {.special = true}), added(0, "[UNK]", {.special = true})}));
  const auto ids = [&](const char* text) { return ids_of(tokenizer.encode(text)); };
  EXPECT_EQ(ids("[CLS] b"), (std::vector<std::int32_t>{0, 0, 4}));  // "[" and "CLS]", both unknown
  EXPECT_EQ(ids("[UNK]"), (std::vector<std::int32_t>{0, 0}));
  EXPECT_EQ(ids("ba"), (std::vector<std::int32_t>{4, 5}));
  EXPECT_EQ(ids_of(tokenizer.encode("[CLS] b", {.parse_special = true})), (std::vector<std::int32_t>{1, 4}));
}

}  // namespace
}  // namespace sightline::tokenizer
