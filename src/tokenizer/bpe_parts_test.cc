#include <fstream>
#include <map>
#include <random>

#include "sightline/error.h"
#include "src/tokenizer/testing.h"
#include "src/tokenizer/unicode.h"

// Long words are tokenized in parts; the tokens must be those of the plain loop over the whole word.
namespace sightline::tokenizer {
namespace {

using Pieces = std::vector<std::string>;

std::string utf8(char32_t c) {
  std::string text;
  append_utf8(c, text);
  return text;
}

// BPE as it is defined: at each step the pair of lowest rank is merged, the leftmost of these.
class PlainBpe {
 public:
  explicit PlainBpe(const Json& model) : vocabulary_(model["vocab"]), unknown_(model.value("unk_token", Json())) {
    fuses_ = model.value("fuse_unk", false);
    falls_back_ = model.value("byte_fallback", false);
    int rank = 0;
    for (const Json& merge : model["merges"]) {
      const std::string line = merge.is_string() ? merge.get<std::string>() : "";
      const std::size_t space = line.find(' ');
      ranks_[merge.is_string() ? std::pair(line.substr(0, space), line.substr(space + 1))
                               : std::pair(merge[0].get<std::string>(), merge[1].get<std::string>())] = rank++;
    }
  }

  Pieces cut(std::string_view word) const {
    Pieces pieces = symbols_of(word);
    for (;;) {
      int best = INT32_MAX;
      std::size_t at = 0;
      for (std::size_t i = 0; i + 1 < pieces.size(); ++i) {
        const auto found = ranks_.find({pieces[i], pieces[i + 1]});
        if (found != ranks_.end() && found->second < best) best = found->second, at = i;
      }
      if (best == INT32_MAX) return pieces;
      pieces[at] += pieces[at + 1];
      pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(at) + 1);
    }
  }

 private:
  Pieces symbols_of(std::string_view word) const {
    Pieces pieces;
    bool after_unknown = false;
    for (const char32_t c : to_chars(word)) {
      const std::string piece = utf8(c);
      const bool known = vocabulary_.contains(piece);
      if (known) {
        pieces.push_back(piece);
      } else if (falls_back_) {
        for (const char byte : piece) {
          char name[8];
          std::snprintf(name, sizeof name, "<0x%02X>", static_cast<unsigned>(static_cast<unsigned char>(byte)));
          pieces.emplace_back(name);
        }
      } else if (!unknown_.is_null() && !(after_unknown && fuses_)) {
        pieces.push_back(unknown_);
      }
      after_unknown = !known && !falls_back_;
    }
    return pieces;
  }

  Json vocabulary_, unknown_;
  bool fuses_ = false, falls_back_ = false;
  std::map<std::pair<std::string, std::string>, int> ranks_;
};

class BpeParts : public testing::TestWithParam<std::string> {};

// Texts of pieces of the vocabulary, which meet as merges never would, with characters that are no pieces between them.
TEST_P(BpeParts, OfLongTexts) {
  const Json file = Json::parse(std::ifstream(std::string(SIGHTLINE_SOURCE_DIR) +
                                              "/tests/data/conformance/tokenizers/" + GetParam() + "/tokenizer.json"));
  const PlainBpe plain(file["model"]);
  const Tokenizer tokenizer = parse(file);
  const bool prepends = file["normalizer"].dump().find("Prepend") != std::string::npos;
  const Pieces others = {" ", "  ", "\u00e9", "\U0001F600", "\u4e2d", "\n", "e", "<", ">", "\u0301"};
  Pieces pieces;
  for (const auto& [piece, id] : file["model"]["vocab"].items()) {
    bool added = false;  // added tokens cut the text
    for (const Json& token : file["added_tokens"]) added |= piece.find(token["content"]) != std::string::npos;
    if (!added && !piece.starts_with("<0x")) pieces.push_back(piece);
  }
  std::mt19937 random(7);
  std::size_t tested = 0;
  for (int round = 0; round < 400; ++round) {
    std::string text;
    while (text.size() < 200) {
      const Pieces& source = random() % 4 == 0 ? others : pieces;
      text += source[random() % source.size()];
    }
    bool holds_added = false;
    for (const Json& token : file["added_tokens"]) holds_added |= text.find(token["content"]) != std::string::npos;
    if (holds_added) continue;
    ++tested;
    std::string normal = prepends ? "\u2581" : "";
    for (const char c : text) normal += c == ' ' ? "\u2581" : std::string(1, c);
    ASSERT_EQ(pieces_of(tokenizer.encode(text, {.add_special = false})), plain.cut(normal)) << Json(text);
  }
  EXPECT_GT(tested, 100u);
}
INSTANTIATE_TEST_SUITE_P(SentencePiece, BpeParts, testing::Values("spbpe_llama2", "spbpe_gemma"));

// Made-up merges, of bytes and unknown tokens too, under each rule for characters that are no pieces.
TEST(BpePartsMadeUp, UnderEachRuleForUnknownCharacters) {
  std::mt19937 random(11);
  for (int round = 0; round < 120; ++round) {
    Pieces pieces = {"a", "b", "c", "d", "<0x7A>", "<", ">", "?"};
    Json merges = Json::array();
    for (int i = 0; i < 10; ++i) {
      const std::string left = pieces[random() % pieces.size()], right = pieces[random() % pieces.size()];
      if (std::find(merges.begin(), merges.end(), Json{left, right}) != merges.end()) continue;
      if (std::find(pieces.begin(), pieces.end(), left + right) == pieces.end()) pieces.push_back(left + right);
      merges.push_back({left, right});
    }
    Json file = wordpiece_file({});
    Json vocabulary = Json::object();
    for (const std::string& piece : pieces) vocabulary[piece] = vocabulary.size();
    file["model"] = {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", merges}};
    if (round % 4 == 1) file["model"]["byte_fallback"] = true;
    if (round % 4 >= 2) file["model"].update({{"unk_token", "?"}, {"fuse_unk", round % 4 == 3}});
    const PlainBpe plain(file["model"]);
    const Tokenizer tokenizer = parse(file);
    for (int i = 0; i < 20; ++i) {
      std::string word;
      while (word.size() < 120) word += "abcdz<>"[random() % 7];
      ASSERT_EQ(pieces_of(tokenizer.encode(word)), plain.cut(word)) << word << " " << merges;
    }
  }
}

}  // namespace
}  // namespace sightline::tokenizer
