#include "src/tokenizer/testing.h"

namespace sightline::tokenizer {
namespace {

using Pieces = std::vector<std::string>;

Tokenizer with(const std::vector<std::string>& pieces, int max_chars = 100, const char* prefix = "##") {
  Json file = wordpiece_file(pieces);
  file["model"]["max_input_chars_per_word"] = max_chars;
  file["model"]["continuing_subword_prefix"] = prefix;
  file["pre_tokenizer"] = {{"type", "WhitespaceSplit"}};
  return parse(file);
}

TEST(WordPiece, TakesTheLongestPieceFromTheLeft) {
  const Tokenizer tokenizer = with({"u", "un", "##want", "##wanted", "##ed", "wanted"});
  const Encoding encoding = tokenizer.encode("unwanted un");
  EXPECT_EQ(pieces_of(encoding), (Pieces{"un", "##wanted", "un"}));
  EXPECT_EQ(char_offsets(encoding, "unwanted un"), (Offsets{{0, 2}, {2, 8}, {9, 11}}));
  EXPECT_EQ(encoding.tokens[1].word, 0);
  EXPECT_EQ(encoding.tokens[2].word, 1);
}

TEST(WordPiece, AWordIsUnknownAsAWhole) {
  const Tokenizer tokenizer = with({"un", "##want"});
  const Encoding encoding = tokenizer.encode("unwantX un");
  EXPECT_EQ(pieces_of(encoding), (Pieces{"[UNK]", "un"}));
  EXPECT_EQ(char_offsets(encoding, "unwantX un"), (Offsets{{0, 7}, {8, 10}}));
  EXPECT_EQ(encoding.tokens[0].id, 0);
}

// "ab" then nothing for "c", though "a" "##bc" would fit: it never goes back.
TEST(WordPiece, IsGreedy) { EXPECT_EQ(pieces_of(with({"a", "ab", "##bc"}).encode("abc")), Pieces{"[UNK]"}); }

TEST(WordPiece, CountsCharactersNotBytesForTheLimit) {
  const Tokenizer tokenizer = with({"é", "##é"}, 3);
  EXPECT_EQ(pieces_of(tokenizer.encode("ééé")), (Pieces{"é", "##é", "##é"}));
  EXPECT_EQ(pieces_of(tokenizer.encode("éééé")), Pieces{"[UNK]"});
  EXPECT_EQ(pieces_of(with({"a"}, 0).encode("a")), Pieces{"[UNK]"});
}

TEST(WordPiece, ThePrefixMayBeAnythingOrNothing) {
  EXPECT_EQ(pieces_of(with({"a", "b"}, 100, "").encode("abba")), (Pieces{"a", "b", "b", "a"}));
  EXPECT_EQ(pieces_of(with({"a", "é+b"}, 100, "é+").encode("abb")), (Pieces{"a", "é+b", "é+b"}));
}

// A word of 100,000 characters takes time in proportion: pieces are short, whatever the limit says.
TEST(WordPiece, LongWordsAreCheap) {
  const Tokenizer tokenizer = with({"a", "##a"}, 1'000'000);
  EXPECT_EQ(tokenizer.encode(std::string(100'000, 'a')).tokens.size(), 100'000u);
}

TEST(WordPiece, RefusesASettingThatIsMissingOrWrong) {
  const auto refusal = [](const char* key, const Json& value) {
    Json file = wordpiece_file({});
    file["model"][key] = value;
    return error_of<BadFile>([&] { parse(file); });
  };
  EXPECT_EQ(refusal("unk_token", "<unk>"),
            R"(tokenizer.json: "model.unk_token" is "<unk>", which is not in the vocabulary)");
  EXPECT_EQ(refusal("unk_token", nullptr), R"(tokenizer.json: "model.unk_token" must not be null)");
  EXPECT_EQ(refusal("max_input_chars_per_word", -1),
            R"(tokenizer.json: "model.max_input_chars_per_word" must be a whole number not below 0, not -1)");
  EXPECT_EQ(refusal("continuing_subword_prefix", 2),
            R"(tokenizer.json: "model.continuing_subword_prefix" must be a string, not 2)");
  EXPECT_EQ(refusal("vocab", nullptr), R"(tokenizer.json: "model.vocab" must not be null)");
  EXPECT_EQ(refusal("vocab", Json::array()), R"(tokenizer.json: "model.vocab" must be an object, not an array)");
}

}  // namespace
}  // namespace sightline::tokenizer
