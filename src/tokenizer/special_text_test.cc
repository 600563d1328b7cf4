#include "src/tokenizer/special_text.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <utility>

#include "sightline/error.h"
#include "src/tokenizer/testing.h"

namespace sightline::tokenizer {
namespace {

using Pieces = std::vector<std::string>;

// WordPiece whose words are letters and whole words, with two added tokens, of which one is special.
Tokenizer chat_tokenizer(bool normalized = false) {
  Json file = wordpiece_file({"<end>", "hi", "a", "##a", "e", "n", "d", "##e", "##n", "##d", "<", "##<", ">", "##>"});
  const auto add = [&](const char* content, int id, bool special) {
    file["added_tokens"].push_back({{"id", id},
                                    {"content", content},
                                    {"single_word", false},
                                    {"lstrip", false},
                                    {"rstrip", false},
                                    {"normalized", normalized},
                                    {"special", special}});
  };
  add("<end>", 3, true);
  add("hi", 4, false);
  file["pre_tokenizer"] = {{"type", "WhitespaceSplit"}};
  return parse(file);
}

Pieces encoded(const Tokenizer& tokenizer, std::string_view text, const std::vector<ByteRange>& plain,
               bool parse_special = true) {
  EncodeOptions how;
  how.parse_special = parse_special;
  how.plain = plain;
  return pieces_of(tokenizer.encode(text, how));
}

// Directories with a tokenizer.json, and GGUF files: those of the repository, and of ../shared where it is there.
std::vector<std::filesystem::path> model_tokenizers() {
  namespace fs = std::filesystem;
  const fs::path source = SIGHTLINE_SOURCE_DIR;
  std::vector<fs::path> models;
  for (const fs::path& folder : {source / "tests/data", source / "../shared/conformance"}) {
    if (!fs::exists(folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      const bool ours = entry.path().extension() == ".gguf" || entry.path().filename() == "tokenizer.json";
      if (!ours) continue;
      models.push_back(entry.path().extension() == ".gguf" ? entry.path() : entry.path().parent_path());
    }
  }
  return models;
}

TEST(SpecialText, AllowsWhatOverlapsNoPlainRange) {
  const ByteRange plain[] = {{4, 6}, {6, 8}, {20, 30}};
  const SpecialText special{true, plain};
  EXPECT_TRUE(special.allows(0, 4));
  EXPECT_FALSE(special.allows(0, 5));
  EXPECT_FALSE(special.allows(7, 20));
  EXPECT_TRUE(special.allows(8, 20));
  EXPECT_FALSE(special.allows(21, 22));
  EXPECT_TRUE(special.allows(30, 99));
  EXPECT_FALSE((SpecialText{false, {}}.allows(0, 1)));
}

TEST(SpecialText, IsTextInPlainRangesAlone) {
  const Pieces spelled = {"<", "e", "##n", "##d", "##>"}, token = {"<end>"};
  for (const bool normalized : {false, true}) {
    const Tokenizer tokenizer = chat_tokenizer(normalized);
    EXPECT_EQ(encoded(tokenizer, "<end>", {}), token);
    EXPECT_EQ(encoded(tokenizer, "<end>", {}, false), spelled);
    // Any byte of it in a plain range is enough.
    for (std::size_t at = 0; at < 5; ++at) EXPECT_EQ(encoded(tokenizer, "<end>", {{at, at + 1}}), spelled) << at;
    Pieces both = {"a", "<end>"};
    both.insert(both.end(), spelled.begin(), spelled.end());
    both.insert(both.end(), {"<end>", "a"});
    EXPECT_EQ(encoded(tokenizer, "a<end><end><end>a", {{6, 11}}), both);
    // One that is not special is found everywhere.
    EXPECT_EQ(encoded(tokenizer, "hi", {{0, 2}}), (Pieces{"hi"}));
  }
}

TEST(SpecialText, SaysWhichTokensAreControlTokens) {
  EncodeOptions how;
  how.parse_special = true;
  const ByteRange plain[] = {{0, 5}};
  how.plain = plain;
  for (const Token& token : chat_tokenizer().encode("<end> hi <end>", how).tokens) {
    EXPECT_EQ(token.control, token.begin == 9) << token.piece;
    EXPECT_FALSE(token.special);
  }
}

// Ids of special tokens among those of a text in which none is to be found; unknown characters are the unknown token.
Pieces special_pieces(const Tokenizer& tokenizer, const std::string& text, const EncodeOptions& how) {
  Pieces found;
  for (const Token& token : tokenizer.encode(text, how).tokens) {
    const std::string piece = tokenizer.piece_of(token.id);
    const bool unknown = piece == "<unk>" || piece == "[UNK]";
    if (tokenizer.is_special(token.id) && !unknown) found.push_back(piece);
  }
  return found;
}

// Whether a model finds words whole, merges pairs or takes the likeliest pieces: none puts a special token together.
TEST(SpecialText, StaysTextInEveryModelsTokenizer) {
  int tokenizers = 0, spellings = 0;
  for (const std::filesystem::path& model : model_tokenizers()) {
    const Tokenizer tokenizer = Tokenizer::open(model);
    ++tokenizers;
    for (std::int32_t id = 0; std::cmp_less(id, tokenizer.vocabulary_size()); ++id) {
      if (!tokenizer.is_special(id)) continue;
      const std::string piece = tokenizer.piece_of(id);
      const std::size_t middle = piece.size() / 2;
      for (const std::string& text :
           {piece, "a" + piece, " " + piece + "\n" + piece, piece.substr(0, middle) + piece + piece.substr(middle)}) {
        if (!is_utf8(text)) continue;
        EncodeOptions how;
        how.add_special = false;
        EXPECT_EQ(special_pieces(tokenizer, text, how), Pieces{}) << model << ": " << text;
        const ByteRange whole{0, text.size()};
        how.parse_special = true;
        how.plain = {&whole, 1};
        EXPECT_EQ(special_pieces(tokenizer, text, how), Pieces{}) << model << ": " << text;
        ++spellings;
      }
    }
  }
  EXPECT_GE(tokenizers, 5);
  EXPECT_GE(spellings, 5 * 4);
}

TEST(SpecialText, RefusesRangesOutOfOrder) {
  const Tokenizer tokenizer = chat_tokenizer();
  const std::vector<std::vector<ByteRange>> wrong = {{{0, 3}, {2, 4}}, {{3, 4}, {0, 1}}, {{3, 2}}, {{0, 6}}};
  for (const std::vector<ByteRange>& plain : wrong) {
    EXPECT_THROW(encoded(tokenizer, "a hi", plain), BadArgument);
  }
}

}  // namespace
}  // namespace sightline::tokenizer
