#include "src/tokenizer/decoder.h"

#include "src/tokenizer/testing.h"

namespace sightline::tokenizer {
namespace {

std::string decoded(const Json& json, std::vector<std::string> pieces) {
  make_decoder(JsonObject(json, "tokenizer.json", "decoder"))(pieces);
  std::string text;
  for (const std::string& piece : pieces) text += piece;
  return text;
}

Json wordpiece(bool cleanup) { return {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", cleanup}}; }

TEST(Decoder, WordPieceJoinsPieces) {
  EXPECT_EQ(decoded(wordpiece(false), {"##uelo", "Ara", "##új", "##o", "No", "##guera"}), "##uelo Araújo Noguera");
  EXPECT_EQ(decoded(wordpiece(false), {"a", ".", "b", "!"}), "a . b !");
  EXPECT_EQ(decoded(wordpiece(false), {}), "");
}

TEST(Decoder, CleanupTakesTheSpaceBeforePunctuation) {
  EXPECT_EQ(decoded(wordpiece(true), {"so", ",", "we", "'", "re", "here", "!"}), "so, we ' re here!");
  EXPECT_EQ(decoded(wordpiece(true), {"i", "'m", "we", "'re", "do", "n't", "it", "'s", "'ve", "?"}),
            "i'm we're don't it's've?");
  EXPECT_EQ(decoded(wordpiece(true), {"x", "a ' b", "do not"}), "x a'b don't");  // within one piece alone
}

TEST(Decoder, SequenceRunsInOrder) {
  const Json twice = {{"type", "Sequence"}, {"decoders", {wordpiece(false), wordpiece(true)}}};
  EXPECT_EQ(decoded(twice, {"a", "##b", "."}), "a b .");
}

TEST(Decoder, NoneJoinsWithSpaces) {
  EXPECT_EQ(parse(wordpiece_file({"a", "##b"})).decode({3, 4, 3}, false), "a ##b a");
}

TEST(Decoder, RefusesWhatItCannotDo) {
  EXPECT_EQ(error_of<UnsupportedModel>([] {
              decoded({{"type", "ByteLevel"}}, {});
            }),
            R"(tokenizer.json: "decoder.type" is "ByteLevel", which is not supported)");
  EXPECT_EQ(error_of<BadFile>([] {
              decoded({{"type", "WordPiece"}, {"prefix", "##"}}, {});
            }),
            R"(tokenizer.json: "decoder.cleanup" is missing)");
}

}  // namespace
}  // namespace sightline::tokenizer
