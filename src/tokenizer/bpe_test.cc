#include "src/tokenizer/bpe.h"

#include "sightline/error.h"
#include "src/tokenizer/testing.h"

namespace sightline::tokenizer {
namespace {

using Pieces = std::vector<std::string>;

// BPE over these pieces, with ids in their order, and these merges; `settings` are added to the model's.
Json bpe_file(const Pieces& pieces, const Json& merges, const Json& settings = Json::object()) {
  Json vocab = Json::object();
  for (std::size_t i = 0; i < pieces.size(); ++i) vocab[pieces[i]] = i;
  Json file = wordpiece_file({});
  file["model"] = {{"type", "BPE"}, {"vocab", vocab}, {"merges", merges}};
  file["model"].update(settings);
  return file;
}

// Braces alone would be taken for an object.
Json pairs(const std::vector<Pieces>& merges) { return merges; }

struct Found {
  Pieces pieces;
  Offsets offsets;
  bool operator==(const Found&) const = default;
};
void PrintTo(const Found& found, std::ostream* out) { *out << Json(found.pieces) << " " << Json(found.offsets); }

Found found(const Json& file, std::string_view text) {
  const Encoding encoding = parse(file).encode(text);
  return {pieces_of(encoding), char_offsets(encoding, text)};
}

// Expected values of this file are those of the Hugging Face library (tokenizers 0.23.3), unless another reason stands
// beside them.
TEST(Bpe, UnknownCharacters) {
  const Pieces vocab = {"<unk>", "a", "b", "ab"};
  Json file = bpe_file(vocab, pairs({{"a", "b"}}), {{"unk_token", "<unk>"}, {"fuse_unk", false}});
  EXPECT_EQ(found(file, "abzzab"), (Found{{"ab", "<unk>", "<unk>", "ab"}, {{0, 2}, {2, 3}, {3, 4}, {4, 6}}}));
  file["model"]["fuse_unk"] = true;
  EXPECT_EQ(found(file, "abzzab"), (Found{{"ab", "<unk>", "ab"}, {{0, 2}, {2, 4}, {4, 6}}}));
  EXPECT_EQ(found(file, "zz"), (Found{{"<unk>"}, {{0, 2}}}));
  // Without an unknown token they vanish. The reference then moves what follows to the left; here it stays in place.
  file["model"].erase("unk_token");
  EXPECT_EQ(found(file, "abzab"), (Found{{"ab", "ab"}, {{0, 2}, {3, 5}}}));
  EXPECT_EQ(found(file, "zz"), Found{});
  file["model"]["unk_token"] = "[nope]";
  EXPECT_EQ(found(file, "ab"), (Found{{"ab"}, {{0, 2}}}));
  EXPECT_NE(error_of<BadFile>([&] { found(file, "z"); }).find("\"model.unk_token\" is \"[nope]\""), std::string::npos);
}

TEST(Bpe, PrefixOfWhatContinuesAWord) {
  const Json file = bpe_file({"a", "##b", "##c", "ab", "abc"}, pairs({{"a", "##b"}, {"ab", "##c"}}),
                             {{"continuing_subword_prefix", "##"}});
  EXPECT_EQ(found(file, "abc"), (Found{{"abc"}, {{0, 3}}}));
  EXPECT_EQ(found(file, "a"), (Found{{"a"}, {{0, 1}}}));
}

TEST(Bpe, SuffixOfTheLastCharacter) {
  const Json file = bpe_file({"a", "b", "b</w>", "a</w>", "ab</w>", "ab"}, pairs({{"a", "b</w>"}, {"a", "b"}}),
                             {{"end_of_word_suffix", "</w>"}});
  EXPECT_EQ(found(file, "aab"), (Found{{"a", "ab</w>"}, {{0, 1}, {1, 3}}}));
  EXPECT_EQ(found(file, "a"), (Found{{"a</w>"}, {{0, 1}}}));
  EXPECT_EQ(found(file, "abab"), (Found{{"ab", "ab</w>"}, {{0, 2}, {2, 4}}}));
}

TEST(Bpe, ByteFallback) {
  const Json file = bpe_file({"<unk>", "a", "<0xC3>", "<0xA9>", "<0x7A>"}, Json::array(),
                             {{"unk_token", "<unk>"}, {"byte_fallback", true}, {"fuse_unk", true}});
  EXPECT_EQ(found(file, "a\u00e9z"), (Found{{"a", "<0xC3>", "<0xA9>", "<0x7A>"}, {{0, 1}, {1, 2}, {1, 2}, {2, 3}}}));
  EXPECT_EQ(found(file, "\u00e8\u00e8"), (Found{{"<unk>"}, {{0, 2}}}));  // one of its bytes is not there
  EXPECT_EQ(pieces_of(parse(file).encode("\u00e8\u00e9a")), (Pieces{"<0xC3>", "<0xA9>", "<unk>", "a"}));
}

TEST(Bpe, WordsOfTheVocabularyMayBeTakenWhole) {
  Json file = bpe_file({"a", "b", "c", "abc", "ab"}, pairs({{"a", "b"}}), {{"ignore_merges", true}});
  EXPECT_EQ(found(file, "abc"), (Found{{"abc"}, {{0, 3}}}));
  EXPECT_EQ(found(file, "abcc"), (Found{{"ab", "c", "c"}, {{0, 2}, {2, 3}, {3, 4}}}));
  file["model"]["ignore_merges"] = false;
  EXPECT_EQ(found(file, "abc"), (Found{{"ab", "c"}, {{0, 2}, {2, 3}}}));
}

TEST(Bpe, MergesHaveTwoSpellings) {
  const Pieces vocab = {"a", "b", "c", "bc", "abc"};
  const Found whole = {{"abc"}, {{0, 3}}};
  EXPECT_EQ(found(bpe_file(vocab, pairs({{"b", "c"}, {"a", "bc"}})), "abc"), whole);
  EXPECT_EQ(found(bpe_file(vocab, {"b c", "a bc"}), "abc"), whole);
  EXPECT_EQ(found(bpe_file(vocab, {"#version: 0.2", "b c", "a bc"}), "abc"), whole);
  EXPECT_EQ(found(bpe_file({"a", " ", "a "}, pairs({{"a", " "}})), "a "), (Found{{"a "}, {{0, 2}}}));
}

TEST(Bpe, FilesWithoutATypeAreKnownByTheirMerges) {
  Json file = bpe_file({"a"}, Json::array());
  file["model"].erase("type");
  EXPECT_EQ(parse(file).kind(), "BPE");
}

TEST(Bpe, RefusesByName) {
  const auto refusal = [](const Json& merges, const Json& settings = Json::object()) {
    return error_of<Error>([&] { parse(bpe_file({"a", "b", "ab"}, merges, settings)); });
  };
  const auto begins = [](const std::string& message, const std::string& what) {
    EXPECT_EQ(message.substr(0, what.size()), what);
  };
  begins(refusal(pairs({{"a", "c"}})), R"(tokenizer.json: "model.merges" uses "c", which is not in the vocabulary)");
  begins(refusal(pairs({{"b", "a"}})), R"(tokenizer.json: "model.merges" uses "ba")");
  begins(refusal({"a b c"}), R"(tokenizer.json: "model.merges" holds "a b c", which is not two pieces)");
  begins(refusal({"ab"}), R"(tokenizer.json: "model.merges" holds "ab")");
  begins(refusal({{"a", "b", "c"}}), R"(tokenizer.json: "model.merges": byte )");
  begins(refusal({1}), R"(tokenizer.json: "model.merges": byte )");
  begins(refusal(Json::array(), {{"dropout", 0.1}}), R"(tokenizer.json: "model.dropout" is not 0)");
  begins(refusal(Json::array(), {{"fancy", 1}}), R"(tokenizer.json: "model.fancy" is a setting)");
  EXPECT_EQ(parse(bpe_file({"a"}, Json::array(), {{"dropout", 0.0}})).kind(), "BPE");
  EXPECT_THROW(parse(bpe_file({"a"}, Json::array(), {{"vocab", {{"a", -1.0}}}})), BadFile);
}

// All of these end at one piece after as many merges as there are characters; the square of their number would take
// minutes.
TEST(Bpe, LongWords) {
  Pieces pieces = {"a", "b"};
  Json merges = Json::array();
  for (std::string piece = "a"; piece.size() < 1 << 12; piece += piece) {
    pieces.push_back(piece + piece);
    merges.push_back({piece, piece});
  }
  const Tokenizer tokenizer = parse(bpe_file(pieces, merges));
  const std::string text(1 << 20, 'a');
  EXPECT_EQ(tokenizer.encode(text).tokens.size(), 256u);
  EXPECT_EQ(tokenizer.encode("b" + text + "b").tokens.size(), 258u);
}

// The order of merges by a plain loop: at each step the pair of lowest rank, the leftmost of these.
Pieces merge_plainly(const std::string& word, const std::vector<Pieces>& merges) {
  Pieces pieces;
  for (const char c : word) pieces.emplace_back(1, c);
  for (;;) {
    std::size_t best = merges.size(), at = 0;
    for (std::size_t i = 0; i + 1 < pieces.size(); ++i) {
      const auto rank = static_cast<std::size_t>(
          std::find(merges.begin(), merges.end(), Pieces{pieces[i], pieces[i + 1]}) - merges.begin());
      if (rank < best) best = rank, at = i;
    }
    if (best == merges.size()) return pieces;
    pieces[at] += pieces[at + 1];
    pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  }
}

TEST(Bpe, MergesInTheOrderOfAPlainLoop) {
  std::uint32_t state = 1;
  const auto random = [&](std::size_t below) {
    state = state * 1664525 + 1013904223;
    return static_cast<std::size_t>(state >> 16) % below;
  };
  for (int round = 0; round < 50; ++round) {
    Pieces pieces = {"a", "b", "c"};
    std::vector<Pieces> merges;
    for (int i = 0; i < 12; ++i) {
      const Pieces pair = {pieces[random(pieces.size())], pieces[random(pieces.size())]};
      if (std::find(merges.begin(), merges.end(), pair) != merges.end()) continue;
      merges.push_back(pair);
      const std::string both = pair[0] + pair[1];
      if (std::find(pieces.begin(), pieces.end(), both) == pieces.end()) pieces.push_back(both);
    }
    const Tokenizer tokenizer = parse(bpe_file(pieces, merges));
    for (int i = 0; i < 20; ++i) {
      std::string word;
      for (std::size_t length = 1 + random(60); word.size() < length;) word += static_cast<char>('a' + random(3));
      EXPECT_EQ(pieces_of(tokenizer.encode(word)), merge_plainly(word, merges)) << word;
    }
  }
}

}  // namespace
}  // namespace sightline::tokenizer
