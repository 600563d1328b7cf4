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

// The Hugging Face library's own examples.
TEST(Decoder, ByteFallbackJoinsBytesToText) {
  const Json json = {{"type", "ByteFallback"}};
  EXPECT_EQ(decoded(json, {"Hey", "<0x61>", "friend"}), "Heyafriend");
  EXPECT_EQ(decoded(json, {"<0xE5>"}), "\uFFFD");
  EXPECT_EQ(decoded(json, {"<0xE5>", "<0x8f>"}), "\uFFFD\uFFFD");
  EXPECT_EQ(decoded(json, {"<0xE5>", "<0x8f>", "<0xab>", "a"}), "叫a");
  EXPECT_EQ(decoded(json, {"<0xE5>", "<0x8f>", "a", "<0x62>"}), "\uFFFD\uFFFDab");
  EXPECT_EQ(decoded(json, {"<0xGG>", "<0x6>", "<0x6->"}), "<0xGG><0x6><0x6->");
}

TEST(Decoder, StripTakesACharacterOffBothEnds) {
  const auto strip = [](const char* content, int start, int stop) {
    return Json{{"type", "Strip"}, {"content", content}, {"start", start}, {"stop", stop}};
  };
  EXPECT_EQ(decoded(strip("H", 1, 0), {"Hey", " friend!", "HHH"}), "ey friend!HH");
  EXPECT_EQ(decoded(strip("y", 0, 1), {"Hey", " friend!"}), "He friend!");
  EXPECT_EQ(decoded(strip("é", 2, 2), {"ééé", "éaé"}), "a");
}

TEST(Decoder, FuseMakesOnePiece) {
  std::vector<std::string> pieces = {"a", "", "b"};
  const Json json = {{"type", "Fuse"}};
  make_decoder(JsonObject(json, "tokenizer.json", "decoder"))(pieces);
  EXPECT_EQ(pieces, std::vector<std::string>{"ab"});
}

TEST(Decoder, ReplaceActsOnEachPiece) {
  const Json json = {{"type", "Replace"}, {"pattern", {{"String", "__"}}}, {"content", "_"}};
  EXPECT_EQ(decoded(json, {"a__b", "_", "_c____"}), "a_b__c__");
}

TEST(Decoder, BpeDecoderTurnsSuffixesIntoSpaces) {
  const Json json = {{"type", "BPEDecoder"}, {"suffix", "</w>"}};
  EXPECT_EQ(decoded(json, {"he", "llo</w>", "you</w>"}), "hello you");
}

// As Llama 2 has it.
TEST(Decoder, SequenceOfSentencePiece) {
  const Json json = {{"type", "Sequence"},
                     {"decoders",
                      {{{"type", "Replace"}, {"pattern", {{"String", "▁"}}}, {"content", " "}},
                       {{"type", "ByteFallback"}},
                       {{"type", "Fuse"}},
                       {{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}}}}};
  EXPECT_EQ(decoded(json, {"▁Hi", "▁", "<0xF0>", "<0x9F>", "<0xA6>", "<0x99>"}), "Hi 🦙");
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
              decoded({{"type", "Sideways"}}, {});
            }),
            R"(tokenizer.json: "decoder.type" is "Sideways", which is not supported)");
  EXPECT_EQ(error_of<BadFile>([] {
              decoded({{"type", "WordPiece"}, {"prefix", "##"}}, {});
            }),
            R"(tokenizer.json: "decoder.cleanup" is missing)");
}

}  // namespace
}  // namespace sightline::tokenizer
