#include "src/tokenizer/normalized_string.h"

#include "src/tokenizer/normal_forms.h"
#include "src/tokenizer/testing.h"

namespace sightline::tokenizer {
namespace {

std::string text_of(const NormalizedString& text) { return to_utf8(text.chars()); }
Offsets places_of(const NormalizedString& text) { return tokenizer::places_of(text.chars()); }

TEST(NormalizedString, KeepsThePlaceOfEveryCharacter) {
  const NormalizedString text("aé字");
  EXPECT_EQ(text_of(text), "aé字");
  EXPECT_EQ(places_of(text), (Offsets{{0, 1}, {1, 3}, {3, 6}}));
}

TEST(NormalizedString, InsertedCharactersStandForTheOneBefore) {
  NormalizedString text("abcd");
  text.transform(std::vector<Change>{{U'A', 0}, {U'x', 1}, {U'B', -1}, {U'y', 1}, {U'D', 0}, {U'z', 1}});
  EXPECT_EQ(text_of(text), "AxByDz");
  EXPECT_EQ(places_of(text), (Offsets{{0, 1}, {0, 1}, {1, 2}, {2, 3}, {3, 4}, {3, 4}}));
}

TEST(NormalizedString, ReplacesFromTheLeft) {
  NormalizedString text("aaab");
  text.replace(U"aa", U"xyz");
  EXPECT_EQ(text_of(text), "xyzab");
  EXPECT_EQ(places_of(text), (Offsets{{1, 2}, {1, 2}, {1, 2}, {2, 3}, {3, 4}}));
  text.replace(U"b", U"");
  EXPECT_EQ(text_of(text), "xyza");
  text.replace(U"longer than the text", U"");
  EXPECT_EQ(text_of(text), "xyza");
}

TEST(NormalizedString, PrependsToTextAlone) {
  NormalizedString text("éa");
  text.prepend(U"<>");
  EXPECT_EQ(text_of(text), "<>éa");
  EXPECT_EQ(places_of(text), (Offsets{{0, 2}, {0, 2}, {0, 2}, {2, 3}}));
  NormalizedString empty("");
  empty.prepend(U"<>");
  EXPECT_TRUE(empty.empty());
}

TEST(NormalizedString, Strips) {
  const auto stripped = [](const char* source, bool left, bool right) {
    NormalizedString text(source);
    text.strip(left, right);
    return text_of(text);
  };
  EXPECT_EQ(stripped(" \u00a0a b\u3000\n", true, true), "a b");
  EXPECT_EQ(stripped(" a ", true, false), "a ");
  EXPECT_EQ(stripped(" a ", false, true), " a");
  EXPECT_EQ(stripped(" \t ", true, true), "");
  EXPECT_EQ(stripped("", true, true), "");
}

std::string in_form(const char* source, NormalForm form) {
  NormalizedString text(source);
  apply_normal_form(text, form);
  return text_of(text);
}

TEST(NormalForms, ComposeAndDecompose) {
  EXPECT_EQ(in_form("e\u0301", NormalForm::nfc), "é");
  EXPECT_EQ(in_form("é", NormalForm::nfd), "e\u0301");
  EXPECT_EQ(in_form("\u212b", NormalForm::nfc), "\u00c5");  // Angstrom sign
  EXPECT_EQ(in_form("\ufb01", NormalForm::nfc), "\ufb01");  // ligature fi
  EXPECT_EQ(in_form("\ufb01", NormalForm::nfkc), "fi");
  EXPECT_EQ(in_form("\u1e9b\u0323", NormalForm::nfc), "\u1e9b\u0323");
  EXPECT_EQ(in_form("\u1e9b\u0323", NormalForm::nfd), "\u017f\u0323\u0307");
  EXPECT_EQ(in_form("\u1e9b\u0323", NormalForm::nfkc), "\u1e69");
  EXPECT_EQ(in_form("\u1e9b\u0323", NormalForm::nfkd), "s\u0323\u0307");
  EXPECT_EQ(in_form("\u1112\u1161\u11ab", NormalForm::nfc), "\ud55c");  // Hangul
  EXPECT_EQ(in_form("\ud55c", NormalForm::nfd), "\u1112\u1161\u11ab");
  EXPECT_EQ(in_form("\u0344", NormalForm::nfc), "\u0308\u0301");         // excluded from composition
  EXPECT_EQ(in_form("a\u0307\u0323", NormalForm::nfc), "\u1ea1\u0307");  // marks in their order, one blocked
  EXPECT_EQ(in_form("\u0301e", NormalForm::nfc), "\u0301e");             // a mark without a base
  EXPECT_EQ(in_form("", NormalForm::nfc), "");
}

TEST(NormalForms, CompositesStandForTheirBaseAndPartsForTheirWhole) {
  NormalizedString composed("e\u0301x");
  apply_normal_form(composed, NormalForm::nfc);
  EXPECT_EQ(places_of(composed), (Offsets{{0, 1}, {3, 4}}));
  NormalizedString decomposed("éx");
  apply_normal_form(decomposed, NormalForm::nfd);
  EXPECT_EQ(places_of(decomposed), (Offsets{{0, 2}, {0, 2}, {2, 3}}));
}

}  // namespace
}  // namespace sightline::tokenizer
