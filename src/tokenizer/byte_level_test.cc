#include "src/tokenizer/byte_level.h"

#include "src/tokenizer/testing.h"

namespace sightline::tokenizer {
namespace {

using Pieces = std::vector<std::string>;

std::string decoded(Pieces pieces) {
  decode_bytes(pieces);
  return pieces.at(0);
}

// Values of the Hugging Face library (tokenizers 0.23.3).
TEST(ByteLevel, DecodesAsTheReference) {
  EXPECT_EQ(decoded({"\u0120h", "i"}), " hi");
  EXPECT_EQ(decoded({"\u00c3", "\u00a9"}), "\u00e9");
  EXPECT_EQ(decoded({"\u00c3", "x"}), "\ufffdx");
  EXPECT_EQ(decoded({"\u00e9", "\u0120\u0120"}), "\ufffd  ");
  EXPECT_EQ(decoded({"\u5b57"}), "\u5b57");
  EXPECT_EQ(decoded({"\u00e2", "\u0124"}), "\ufffd");
  EXPECT_EQ(decoded({"\u00f0\u0141", "a"}), "\ufffda");
  EXPECT_EQ(decoded({"\u00ff", "\u00ff"}), "\ufffd\ufffd");
  EXPECT_EQ(decoded({}), "");
}

TEST(ByteLevel, SpellsEveryByteAndBack) {
  std::string all;
  for (char32_t c = 0; c < 0x800; ++c) append_utf8(c, all);
  append_utf8(0x5B57, all);
  append_utf8(0x1F999, all);
  PreTokenizedString text{NormalizedString(all).chars(), {{0, 0x802, {}}}};
  spell_bytes(text);
  EXPECT_EQ(text.chars.size(), all.size());
  EXPECT_EQ(decoded({to_utf8(text.chars)}), all);
}

TEST(ByteLevel, BytesStandForTheWholeCharacter) {
  PreTokenizedString text{NormalizedString("a\u5b57").chars(), {{0, 1, {}}, {1, 2, {}}}};
  spell_bytes(text);
  EXPECT_EQ(places_of(text.chars), (Offsets{{0, 1}, {1, 4}, {1, 4}, {1, 4}}));
  EXPECT_EQ(text.splits[1].begin, 1u);
  EXPECT_EQ(text.splits[1].end, 4u);
}

TEST(ByteLevel, LeavesAddedTokensAlone) {
  PreTokenizedString text{NormalizedString("\u00e9x").chars(), {{0, 1, 7}, {1, 2, {}}}};
  prepend_spaces(text);
  spell_bytes(text);
  EXPECT_EQ(to_utf8(text.chars), "\u00e9\u0120x");
}

Offsets trimmed(const Pieces& pieces, bool prepends_space) {
  std::vector<Token> tokens;
  std::size_t at = 0;
  for (const std::string& piece : pieces) {
    Token token;
    token.piece = piece;
    token.begin = at;
    token.end = at += to_chars(piece).size();
    tokens.push_back(token);
  }
  trim_ranges(tokens, prepends_space);
  Offsets ranges;
  for (const Token& token : tokens) ranges.emplace_back(token.begin, token.end);
  return ranges;
}

// Of texts that begin with the spaces of the first piece.
TEST(ByteLevel, TrimsRangesAsTheReference) {
  EXPECT_EQ(trimmed({"\u0120a"}, false), (Offsets{{1, 2}}));
  EXPECT_EQ(trimmed({"\u0120a"}, true), (Offsets{{0, 2}}));
  EXPECT_EQ(trimmed({"\u0120\u0120a"}, true), (Offsets{{2, 3}}));
  EXPECT_EQ(trimmed({"\u0120"}, false), (Offsets{{1, 1}}));
  EXPECT_EQ(trimmed({"\u0120"}, true), (Offsets{{0, 0}}));
  EXPECT_EQ(trimmed({"\u0120\u0120"}, true), (Offsets{{2, 2}}));
  EXPECT_EQ(trimmed({"a\u0120"}, false), (Offsets{{0, 1}}));
  EXPECT_EQ(trimmed({"a", "\u0120\u0120"}, true), (Offsets{{0, 1}, {3, 3}}));
}

}  // namespace
}  // namespace sightline::tokenizer
