#include "src/tokenizer/charsmap.h"

#include <cstdlib>
#include <fstream>

#include "src/format/base64.h"
#include "src/tokenizer/grapheme.h"
#include "src/tokenizer/testing.h"

namespace sightline::tokenizer {
namespace {

std::vector<std::string> graphemes_of(const std::string& text) {
  const NormalizedString chars(text);
  std::vector<std::string> graphemes;
  for (std::size_t at = 0; at < chars.chars().size();) {
    const std::size_t end = grapheme_end(chars.chars(), at);
    graphemes.push_back(to_utf8(CharSpan(chars.chars()).subspan(at, end - at)));
    at = end;
  }
  return graphemes;
}

// The examples of Unicode Standard Annex 29, and of its rules.
TEST(Grapheme, ClustersAreThoseOfAnnex29) {
  using Clusters = std::vector<std::string>;
  EXPECT_EQ(graphemes_of("ab\r\n\n\tc"), (Clusters{"a", "b", "\r\n", "\n", "\t", "c"}));
  EXPECT_EQ(graphemes_of("g̈각நிะkำ"), (Clusters{"g̈", "각", "நி", "ะ", "kำ"}));
  EXPECT_EQ(graphemes_of("각ᄀ각"), (Clusters{"각", "ᄀ각"}));
  EXPECT_EQ(graphemes_of("🇩🇪🇫🇷🇩"), (Clusters{"🇩🇪", "🇫🇷", "🇩"}));
  EXPECT_EQ(graphemes_of("👩🏽‍🚒👍a‍🚒"), (Clusters{"👩🏽‍🚒", "👍", "a‍", "🚒"}));
  EXPECT_EQ(graphemes_of("क्षकक्‌ष"), (Clusters{"क्ष", "क", "क्‌", "ष"}));
  EXPECT_EQ(graphemes_of("\u0600ab\u0897"), (Clusters{"\u0600a", "b\u0897"}));  // a mark that Unicode 16 added
}

Json read_cases() {
  const char* other = std::getenv("SIGHTLINE_CHARSMAP_CASES");  // a larger set of the same form
  std::ifstream file(other != nullptr ? other : SIGHTLINE_SOURCE_DIR "/tests/data/tokenizer/charsmap.json");
  return Json::parse(file);
}

// What the Hugging Face library makes of random texts, and where it says that each character comes from.
TEST(Precompiled, EqualsTheReference) {
  const Json file = read_cases();
  const Json json = {{"type", "Precompiled"}, {"precompiled_charsmap", file["precompiled_charsmap"]}};
  const Normalizer normalizer = make_normalizer(JsonObject(json, "tokenizer.json", "normalizer"));
  ASSERT_GE(file["cases"].size(), 200u);
  for (const Json& expected : file["cases"]) {
    const std::string source = expected["text"];
    NormalizedString text(source);
    normalizer(text);
    EXPECT_EQ(expected["normalized"], to_utf8(text.chars())) << expected;
    Offsets offsets;
    for (const Char& c : text.chars()) {
      offsets.emplace_back(to_chars(source.substr(0, c.begin)).size(), to_chars(source.substr(0, c.end)).size());
    }
    EXPECT_EQ(expected["offsets"], Json(offsets)) << expected;
  }
}

// One node, 'a', whose value is `place`.
std::string charsmap_of_a(std::uint32_t place, const std::string& forms) {
  std::vector<std::uint32_t> units(256, 0);
  units[0] = 1u << 10;                        // its children are at 1 xor their byte
  units[1 ^ 'a'] = 2u << 10 | 1u << 8 | 'a';  // it ends a key; its value is at (1 xor 'a') xor 2
  units[1 ^ 'a' ^ 2] = place | 1u << 31;
  const std::uint32_t size = 4 * 256;
  std::string bytes(reinterpret_cast<const char*>(&size), 4);
  return bytes.append(reinterpret_cast<const char*>(units.data()), size) + forms;
}

TEST(Charsmap, FindsFormsByKey) {
  const Charsmap map(charsmap_of_a(2, std::string("x\0yz\0", 5)), "f");
  EXPECT_EQ(map.find("a"), "yz");
  EXPECT_EQ(map.find("ab"), "yz");
  EXPECT_FALSE(map.find("b"));
  EXPECT_FALSE(map.find(std::string_view("\0a", 2)));
  EXPECT_FALSE(map.find(""));
}

TEST(Charsmap, RefusesWhatIsNone) {
  const auto refusal = [](const std::string& bytes) {
    return error_of<BadFile>([&] { Charsmap(bytes, "f").find("a"); });
  };
  EXPECT_EQ(refusal(""), "f is too short to be a table of characters");
  const std::string sizes = "; 4 are there, and a trie has whole units of 4";
  EXPECT_EQ(refusal(std::string("\x08\0\0\0\0\0\0\0", 8)), "f says that its trie has 8 bytes" + sizes);
  EXPECT_EQ(refusal(std::string("\0\0\0\0\0\0\0\0", 8)), "f says that its trie has 0 bytes" + sizes);
  EXPECT_EQ(refusal(std::string("\x02\0\0\0\0\0\0\0", 8)), "f says that its trie has 2 bytes" + sizes);
  EXPECT_EQ(refusal(charsmap_of_a(0, "\xff")), "f holds new forms that are not UTF-8");
  EXPECT_EQ(refusal(charsmap_of_a(9, "x")), "f names a new form at byte 9, where none begins");
  EXPECT_EQ(refusal(charsmap_of_a(1, "é")), "f names a new form at byte 1, where none begins");
}

TEST(Charsmap, BoundsHowFarATextGrows) {
  const Charsmap map(charsmap_of_a(0, std::string(600, 'b')), "f");
  NormalizedString one(std::string("a"));
  map.apply(one);
  EXPECT_EQ(one.chars().size(), 600u);
  NormalizedString ten(std::string(10, 'a'));
  EXPECT_EQ(error_of<BadFile>([&] { map.apply(ten); }),
            "the tokenizer's normalizer makes a text of 10 characters longer than 1664");
}

TEST(Precompiled, RefusesWhatIsNotBase64) {
  for (const char* text : {"A", "AAA", "AA=A", "A===", "AA*A", "AAB=", "AAAA\n", "===="}) {
    const Json json = {{"type", "Precompiled"}, {"precompiled_charsmap", text}};
    EXPECT_EQ(error_of<BadFile>([&] { make_precompiled(JsonObject(json, "tokenizer.json", "normalizer")); }),
              R"(tokenizer.json: "normalizer.precompiled_charsmap" is not base64)")
        << text;
  }
}

TEST(Base64, ComesBack) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) {
    EXPECT_EQ(format::from_base64(format::base64(std::as_bytes(std::span(bytes)))), bytes);
    bytes += static_cast<char>(i * 37);
  }
}

}  // namespace
}  // namespace sightline::tokenizer
