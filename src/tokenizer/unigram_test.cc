#include "src/tokenizer/testing.h"

namespace sightline::tokenizer {
namespace {

using Pieces = std::vector<std::string>;

using Scored = std::vector<std::pair<std::string, double>>;

Json unigram_file(const Scored& pieces, const Json& unk_id = 0, bool byte_fallback = false) {
  Json vocab = Json::array();
  for (const auto& [piece, score] : pieces) vocab.push_back(Json::array({piece, score}));
  Json file = wordpiece_file({});
  file["model"] = {{"type", "Unigram"}, {"unk_id", unk_id}, {"vocab", vocab}, {"byte_fallback", byte_fallback}};
  return file;
}

// All ways to cut a text, each scored by adding up: what Viterbi's algorithm must agree with.
std::pair<double, Pieces> best_cut(const Scored& vocab, const std::string& text) {
  if (text.empty()) return {0, {}};
  std::pair<double, Pieces> best{-1e300, {}};
  for (const auto& [piece, piece_score] : vocab) {
    if (!text.starts_with(piece)) continue;
    auto [score, rest] = best_cut(vocab, text.substr(piece.size()));
    score += piece_score;
    if (score <= best.first) continue;
    rest.insert(rest.begin(), piece);
    best = {score, rest};
  }
  return best;
}

TEST(Unigram, FindsTheBestOfAllCuts) {
  const Scored vocab = {{"<unk>", 0},  {"a", -2.1},   {"b", -2.3},     {"ab", -3.05}, {"ba", -3.55},
                        {"aab", -4.2}, {"bb", -4.55}, {"abba", -7.13}, {"é", -1},     {"aé", -5.7}};
  const Tokenizer tokenizer = parse(unigram_file(vocab));
  for (const char* text : {"a", "ab", "abba", "aabba", "bbabab", "abbaabba", "aéaéb", "babbabaab"}) {
    EXPECT_EQ(pieces_of(tokenizer.encode(text)), best_cut(vocab, text).second) << text;
  }
}

// Of equal sums the one that reaches the place first stays: the longer piece, which begins earlier.
TEST(Unigram, OfEqualSumsTheEarlierStartStays) {
  const Tokenizer tokenizer = parse(unigram_file({{"<unk>", 0}, {"a", -1}, {"aa", -2}}));
  EXPECT_EQ(pieces_of(tokenizer.encode("aa")), Pieces{"aa"});
  EXPECT_EQ(pieces_of(tokenizer.encode("aaa")), (Pieces{"a", "aa"}));
}

TEST(Unigram, UnknownCharactersInARowAreOneTokenAsTheyStand) {
  const Tokenizer tokenizer = parse(unigram_file({{"<unk>", 0}, {"a", -1}, {"xy", -40}}));
  const Encoding encoding = tokenizer.encode("a日本a");
  EXPECT_EQ(pieces_of(encoding), (Pieces{"a", "日本", "a"}));
  EXPECT_EQ(ids_of(encoding), (std::vector<std::int32_t>{1, 0, 1}));
  EXPECT_EQ(char_offsets(encoding, "a日本a"), (Offsets{{0, 1}, {1, 3}, {3, 4}}));
  EXPECT_EQ(tokenizer.decode({1, 0, 1}, false), "a <unk> a");
  // Two unknown characters score -100 together, the piece -40; were it below, they would join to its spelling.
  EXPECT_EQ(ids_of(tokenizer.encode("xy")), std::vector<std::int32_t>{2});
  EXPECT_EQ(ids_of(parse(unigram_file({{"<unk>", 0}, {"a", -1}, {"xy", -1000}, {"x", -900}})).encode("xy")),
            std::vector<std::int32_t>{2});
}

TEST(Unigram, BytesStandInForUnknownCharactersWhereAllAreThere) {
  Scored vocab = {{"<unk>", 0}, {"a", -1}, {"<0xC3>", -5}, {"<0xA9>", -5}};
  const Encoding encoding = parse(unigram_file(vocab, 0, true)).encode("aéa");
  EXPECT_EQ(pieces_of(encoding), (Pieces{"a", "<0xC3>", "<0xA9>", "a"}));
  EXPECT_EQ(char_offsets(encoding, "aéa"), (Offsets{{0, 1}, {1, 2}, {1, 2}, {2, 3}}));
  EXPECT_EQ(pieces_of(parse(unigram_file(vocab, 0, true)).encode("aéè")), (Pieces{"a", "éè"}));
  EXPECT_EQ(pieces_of(parse(unigram_file(vocab, 0, false)).encode("aé")), (Pieces{"a", "é"}));
}

TEST(Unigram, WithoutAnUnknownTokenAnUnknownCharacterIsAnError) {
  const Tokenizer tokenizer = parse(unigram_file({{"a", -1}, {"bc", -1}}, nullptr));
  EXPECT_EQ(pieces_of(tokenizer.encode("a")), Pieces{"a"});
  EXPECT_EQ(error_of<BadArgument>([&] { tokenizer.encode("ax"); }),
            R"(the tokenizer has no piece for "x" in the text, and no unknown token)");
}

TEST(Unigram, LongWordsAreCheap) {
  Scored vocab = {{"<unk>", 0}, {"a", -1}, {"aa", -1.5}};
  EXPECT_EQ(parse(unigram_file(vocab)).encode(std::string(200'000, 'a')).tokens.size(), 100'000u);
}

TEST(Unigram, RefusesASettingThatIsMissingOrWrong) {
  EXPECT_EQ(error_of<BadFile>([] {
              parse(unigram_file({{"a", -1}}, 1));
            }),
            R"(tokenizer.json: "model.unk_id" is 1, but the vocabulary has 1 pieces)");
  EXPECT_EQ(error_of<BadFile>([] {
              parse(unigram_file({{"a", -1}}, -1));
            }),
            R"(tokenizer.json: "model.unk_id" must be a whole number not below 0, not -1)");
  EXPECT_EQ(error_of<BadFile>([] {
              Json file = unigram_file({});
              file["model"]["vocab"] = Json::object();
              parse(file);
            }),
            R"(tokenizer.json: "model.vocab" must be an array, not an object)");
  EXPECT_EQ(error_of<UnsupportedModel>([] {
              Json file = unigram_file({{"a", -1}});
              file["model"]["alpha"] = 0.1;
              parse(file);
            }),
            R"(tokenizer.json: "model.alpha" is a setting that is not supported)");
}

}  // namespace
}  // namespace sightline::tokenizer
