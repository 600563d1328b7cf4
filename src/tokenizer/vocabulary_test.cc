#include "src/tokenizer/vocabulary.h"

#include "src/tokenizer/testing.h"

namespace sightline::tokenizer {
namespace {

Vocabulary read(const std::string& object) { return Vocabulary(JsonText{object, "tokenizer.json", 100}); }
std::string refusal(const std::string& object) {
  return error_of<BadFile>([&] { read(object); });
}

TEST(Vocabulary, FindsBothWays) {
  const Vocabulary vocabulary = read("{ \"the\" : 7,\n\"##s\":0 , \"\": 2147483647, \"字\":3}");
  EXPECT_EQ(vocabulary.size(), 4u);
  EXPECT_EQ(vocabulary.longest_piece(), 3u);
  ASSERT_TRUE(vocabulary.find("the"));
  EXPECT_EQ(vocabulary.find("the")->id, 7);
  EXPECT_EQ(vocabulary.find("the")->piece, "the");
  EXPECT_EQ(vocabulary.find("")->id, 2147483647);
  EXPECT_EQ(vocabulary.find("字")->id, 3);
  EXPECT_FALSE(vocabulary.find("th"));
  EXPECT_EQ(vocabulary.piece_of(0), "##s");
  EXPECT_EQ(vocabulary.piece_of(2147483647), "");
  EXPECT_FALSE(vocabulary.piece_of(1));
  EXPECT_FALSE(vocabulary.piece_of(-1));
}

TEST(Vocabulary, MayBeEmpty) {
  const Vocabulary vocabulary = read("{ }");
  EXPECT_EQ(vocabulary.size(), 0u);
  EXPECT_FALSE(vocabulary.find(""));
  EXPECT_FALSE(vocabulary.piece_of(0));
}

TEST(Vocabulary, HoldsManyPieces) {
  Json pieces = Json::object();
  for (int i = 0; i < 20000; ++i) pieces[std::to_string(i * 7919)] = i;
  const Vocabulary vocabulary = read(pieces.dump());
  for (int i = 0; i < 20000; ++i) {
    const std::string piece = std::to_string(i * 7919);
    ASSERT_TRUE(vocabulary.find(piece)) << piece;
    ASSERT_EQ(vocabulary.find(piece)->id, i);
    ASSERT_EQ(vocabulary.piece_of(i), piece);
  }
  EXPECT_FALSE(vocabulary.find("1"));
}

TEST(Vocabulary, ReadsEscapes) {
  const Vocabulary vocabulary = read(R"({"\"\\\/\b\f\n\r\t":0, "\u00e9\ud83d\ude00":1, "\u0000":2})");
  EXPECT_EQ(vocabulary.piece_of(0), "\"\\/\b\f\n\r\t");
  EXPECT_EQ(vocabulary.piece_of(1), "é😀");
  EXPECT_EQ(vocabulary.piece_of(2), std::string_view("\0", 1));
}

TEST(Vocabulary, RefusesPiecesAndIdsThatAreNotUnique) {
  EXPECT_EQ(refusal(R"({"a":0,"a":1})"), R"(tokenizer.json: "model.vocab" holds "a" twice)");
  EXPECT_EQ(refusal(R"({"a":0,"\u0061":1})"), R"(tokenizer.json: "model.vocab" holds "a" twice)");
  EXPECT_EQ(refusal(R"({"a":5,"b":5})"), R"(tokenizer.json: "model.vocab" gives the id 5 to "a" and to "b")");
}

TEST(Vocabulary, RefusesWhatIsNotAVocabularyAndSaysWhere) {
  const std::string bad_id = ": an id must be a whole number from 0 to 2147483647";
  for (const char* id : {"-1", "-0", "01", "1.5", "1e2", "2147483648", "99999999999999999999", "\"1\"", "null", "{}"}) {
    EXPECT_EQ(refusal("{\"a\":" + std::string(id) + "}"), "tokenizer.json: \"model.vocab\": byte 105" + bad_id) << id;
  }
  const auto at = [](int byte, const std::string& what) {
    return "tokenizer.json: \"model.vocab\": byte " + std::to_string(byte) + ": " + what;
  };
  EXPECT_EQ(refusal("7"), at(100, "'{' is missing"));
  EXPECT_EQ(refusal("{a:1}"), at(101, "a string is missing"));
  EXPECT_EQ(refusal("{\"a\" 1}"), at(105, "':' is missing"));
  EXPECT_EQ(refusal("{\"a\":1 \"b\":2}"), at(107, "',' is missing"));
  EXPECT_EQ(refusal("{\"a\":1,}"), at(107, "a string is missing"));
  EXPECT_EQ(refusal("{,\"a\":1}"), at(101, "a string is missing"));
  EXPECT_EQ(refusal("{\"a\":1"), at(105, "an id must be a whole number from 0 to 2147483647"));
  EXPECT_EQ(refusal("{\"a\":1 "), at(107, "the value does not end"));
  EXPECT_EQ(refusal("{\"a"), at(101, "a string does not end"));
  EXPECT_EQ(refusal("{\"a\tb\":1}"), at(103, "not valid JSON: a character that a string may not hold"));
  EXPECT_EQ(refusal("{\"a\xff\":1}"), at(103, "not valid JSON: a character that a string may not hold"));
  EXPECT_EQ(refusal(R"({"\x":1})"), at(101, "not valid JSON: a string with a wrong escape"));
  EXPECT_EQ(refusal(R"({"\ud800":1})"), at(101, "not valid JSON: a string with a wrong escape"));
}

TEST(Vocabulary, ReadsPairsOfPieceAndScore) {
  const Vocabulary vocabulary({R"([ ["<unk>", 0], ["\u00e9", -1.5e1 ],["b",-0.25]])", "tokenizer.json", 0});
  EXPECT_EQ(vocabulary.size(), 3u);
  EXPECT_EQ(vocabulary.find("é")->id, 1);
  EXPECT_EQ(vocabulary.piece_of(2), "b");
  EXPECT_EQ(vocabulary.scores(), (std::vector<double>{0, -15, -0.25}));
  EXPECT_TRUE(Vocabulary({"[]", "tokenizer.json", 0}).scores().empty());
}

TEST(Vocabulary, RefusesPairsThatAreNone) {
  const auto at = [](int byte, const std::string& what) {
    return "tokenizer.json: \"model.vocab\": byte " + std::to_string(byte) + ": " + what;
  };
  const std::string bad_score = "a score must be a number";
  EXPECT_EQ(refusal("[1]"), at(101, "'[' is missing"));
  EXPECT_EQ(refusal("[[1,\"a\"]]"), at(102, "a string is missing"));
  EXPECT_EQ(refusal("[[\"a\"]]"), at(105, "',' is missing"));
  for (const char* score : {"\"1\"", "null", "+1", "1e999", "nan", "inf", "0x1", ""}) {
    EXPECT_EQ(refusal("[[\"a\"," + std::string(score) + "]]"), at(106, bad_score)) << score;
  }
  EXPECT_EQ(refusal("[[\"a\",1,2]]"), at(106, bad_score));
  EXPECT_EQ(refusal("[[\"a\",1] [\"b\",1]]"), at(109, "',' is missing"));
  EXPECT_EQ(refusal("[[\"a\",1],]"), at(109, "'[' is missing"));
  EXPECT_EQ(refusal("[[\"a\",1]"), at(108, "the value does not end"));
  EXPECT_EQ(refusal("[[\"a\",0],[\"a\",1]]"), R"(tokenizer.json: "model.vocab" holds "a" twice)");
}

TEST(JsonText, IsTakenOutOfTheFile) {
  std::string json = R"({"x": [{"vocab": {"no": 1}}], "y": "\"model\": {", "model": {"m": [], "vocab": {"a}\"": 1}}})";
  const std::string before = json;
  const auto text = take_from_model(json, "f", "vocab");
  ASSERT_TRUE(text);
  EXPECT_EQ(text->value, R"({"a}\"": 1})");
  EXPECT_EQ(text->position, before.find(text->value));
  EXPECT_EQ(json, R"({"x": [{"vocab": {"no": 1}}], "y": "\"model\": {", "model": {"m": [], "vocab": {         }}})");
}

TEST(JsonText, IsLeftWhereThereIsNone) {
  for (const char* source : {"", " ", "[]", "{}", R"({"model": 1})", R"({"model": []})", R"({"model": {"vocab": 1}})",
                             R"({"vocab": {"a": 1}})", R"({"model": {"vocab": {"a": 1)", R"({"model": {"vocab": {"a)",
                             R"({"model")", R"({"model":)", R"({model: {"vocab": {}}})", "{\"a}", "{", "{\"a\":1]"}) {
    std::string json = source;
    EXPECT_FALSE(take_from_model(json, "f", "vocab")) << source;
    EXPECT_EQ(json, source);
  }
}

}  // namespace
}  // namespace sightline::tokenizer
