#include "src/tokenizer/display.h"

#include <fstream>

#include "src/tokenizer/testing.h"

namespace sightline::tokenizer {
namespace {

using Texts = std::vector<std::string>;

const Spelling kGpt2 = {true, false, "", ""};
const Spelling kLlama = {false, true, "▁", ""};
const Spelling kBert = {false, false, "", "##"};

// R10-03: what a piece reads as, where there is no text that it came from.
TEST(Display, R10_03_PiecesReadAsText) {
  std::ifstream file(SIGHTLINE_SOURCE_DIR "/tests/data/cases/reports.jsonl");
  Json report = {{"id", ""}};
  for (std::string line; report["id"] != "R10-03" && std::getline(file, line);) report = Json::parse(line);
  ASSERT_EQ(report["id"], "R10-03");
  const auto read = [&](const char* kind, const Spelling& spelling) {
    Texts texts;
    for (const std::string piece : report["case"][kind]) texts.push_back(bytes_of(piece, spelling));
    return texts;
  };
  EXPECT_EQ(Json(read("byte_level_tokens", kGpt2)), report["expected"]["byte_level_text"]);
  EXPECT_EQ(read("sentencepiece_tokens", kLlama), (Texts{" Hi", " ", "\xF0"}));
  EXPECT_EQ(read("wordpiece_tokens", kBert), (Texts{"bank", "a", "[SEP]"}));
}

Token token(const std::string& piece, std::size_t begin, std::size_t end) {
  Token token;
  token.piece = piece;
  token.begin = begin;
  token.end = end;
  token.sequence = 0;
  return token;
}

TEST(Display, ATokenReadsAsTheTextThatItCameFrom) {
  const TokenText cased = text_of(token("##ünk", 2, 6), "TrÜnk", kBert);
  EXPECT_EQ(cased.text, "Ünk");
  EXPECT_TRUE(cased.whole);
  EXPECT_TRUE(cased.continues);
  EXPECT_EQ(text_of(token("▁a", 0, 1), "A b", kLlama).text, "A");
  EXPECT_EQ(text_of(token("Ġ", 1, 1), "a b", kGpt2).text, " ");  // its range was trimmed away
  EXPECT_EQ(text_of(token("▁", 0, 2), "éa", kLlama).text, " ");  // put before the text
  EXPECT_EQ(text_of(token("▁", 1, 2), "a\nb", kLlama).text, "\n");
  EXPECT_FALSE(text_of(token("##", 0, 2), "##", kBert).continues);
}

TEST(Display, PartsOfACharacterAreBytes) {
  const TokenText part = text_of(token("Ã", 0, 2), "é", kGpt2);
  EXPECT_EQ(part.text, "\xC3");
  EXPECT_FALSE(part.whole);
  EXPECT_EQ(text_of(token("<0xA9>", 0, 2), "é", kLlama).text, "\xA9");
  // The same letters in the text are no byte.
  EXPECT_EQ(text_of(token("<0xA9>", 0, 6), "<0xA9>", kLlama).text, "<0xA9>");
}

TEST(Display, ATokenOfTheTemplateIsItsPiece) {
  Token special = token("[SEP]", 0, 0);
  special.sequence = -1;
  EXPECT_EQ(text_of(special, "a", kBert).text, "[SEP]");
}

TEST(Display, TheDecoderSaysHowPiecesAreSpelled) {
  const auto read = [](const Json& json) { return read_spelling(JsonObject(json, "tokenizer.json", "decoder")); };
  EXPECT_TRUE(read({{"type", "ByteLevel"}}).byte_level);
  EXPECT_EQ(read({{"type", "WordPiece"}, {"prefix", "@@"}}).continuing, "@@");
  EXPECT_EQ(read({{"type", "Metaspace"}, {"replacement", "_"}}).space, "_");
  const Spelling llama = read({{"type", "Sequence"},
                               {"decoders",
                                {{{"type", "Replace"}, {"pattern", {{"String", "▁"}}}, {"content", " "}},
                                 {{"type", "ByteFallback"}},
                                 {{"type", "Fuse"}}}}});
  EXPECT_EQ(llama.space, "▁");
  EXPECT_TRUE(llama.byte_pieces);
  EXPECT_FALSE(llama.byte_level);
}

}  // namespace
}  // namespace sightline::tokenizer
