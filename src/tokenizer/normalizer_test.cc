#include "src/tokenizer/normalizer.h"

#include "src/tokenizer/testing.h"

namespace sightline::tokenizer {
namespace {

Normalizer make(const Json& json) { return make_normalizer(JsonObject(json, "tokenizer.json", "normalizer")); }

NormalizedString normalized(const Json& json, std::string_view source) {
  NormalizedString text(source);
  make(json)(text);
  return text;
}

std::string text_of(const Json& json, std::string_view source) { return to_utf8(normalized(json, source).chars()); }

Json bert(bool clean, bool chinese, const Json& strip_accents, bool lowercase) {
  return {{"type", "BertNormalizer"},
          {"clean_text", clean},
          {"handle_chinese_chars", chinese},
          {"strip_accents", strip_accents},
          {"lowercase", lowercase}};
}

TEST(Normalizer, BertCleansText) {
  const Json clean = bert(true, false, false, false);
  EXPECT_EQ(text_of(clean, std::string_view("a\0b\u200d\ufffd\u00ad\x7f"
                                            "c",
                                            14)),
            "abc");
  EXPECT_EQ(text_of(clean, "a\tb\nc\rd\u00a0e\u3000f\u2028g"), "a b c d e f g");
  EXPECT_EQ(text_of(clean, "a\ue000b\U000f0000c"), "abc");  // private use
  EXPECT_EQ(text_of(clean, "a\u0378b"), "a\u0378b");        // not assigned: stays
  EXPECT_EQ(text_of(bert(false, false, false, false), "a\tb\u200d"), "a\tb\u200d");
}

TEST(Normalizer, BertSetsIdeographsApart) {
  const Json chinese = bert(false, true, false, false);
  const NormalizedString text = normalized(chinese, "a字b");
  EXPECT_EQ(to_utf8(text.chars()), "a 字 b");
  EXPECT_EQ(places_of(text.chars()), (Offsets{{0, 1}, {1, 4}, {1, 4}, {1, 4}, {4, 5}}));
  EXPECT_EQ(text_of(chinese, "ひカ한"), "ひカ한");  // kana and Hangul are words
  EXPECT_EQ(text_of(bert(false, false, false, false), "字"), "字");
}

TEST(Normalizer, BertStripsAccentsAsLowercaseSaysUnlessTold) {
  EXPECT_EQ(text_of(bert(true, true, nullptr, true), "ÉÇ\u01dc"), "ecu");
  EXPECT_EQ(text_of(bert(true, true, nullptr, false), "É"), "É");
  EXPECT_EQ(text_of(bert(true, true, false, true), "É"), "é");
  EXPECT_EQ(text_of(bert(true, true, true, false), "É"), "E");
  Json without = bert(true, true, nullptr, true);
  without.erase("strip_accents");
  EXPECT_EQ(text_of(without, "É"), "e");
}

TEST(Normalizer, EachOfTheSimpleTypes) {
  EXPECT_EQ(text_of({{"type", "NFC"}}, "e\u0301\ufb01"), "é\ufb01");
  EXPECT_EQ(text_of({{"type", "NFD"}}, "é\ufb01"), "e\u0301\ufb01");
  EXPECT_EQ(text_of({{"type", "NFKC"}}, "e\u0301\ufb01"), "éfi");
  EXPECT_EQ(text_of({{"type", "NFKD"}}, "é\ufb01"), "e\u0301fi");
  EXPECT_EQ(text_of({{"type", "Lowercase"}}, "AÉ\u0130ΑΣ"), "aéi\u0307ασ");
  EXPECT_EQ(text_of({{"type", "StripAccents"}}, "e\u0301é\u0903"), "eé");  // spacing marks too, but no decomposition
  EXPECT_EQ(text_of({{"type", "Strip"}, {"strip_left", true}, {"strip_right", false}}, " a "), "a ");
  EXPECT_EQ(text_of({{"type", "Prepend"}, {"prepend", "_"}}, "a"), "_a");
  EXPECT_EQ(text_of({{"type", "Replace"}, {"pattern", {{"String", "x.y"}}}, {"content", "é"}}, "x.yxzy"), "éxzy");
}

TEST(Normalizer, SequenceRunsInOrder) {
  const Json replace = {{"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", "B"}};
  const Json lower = {{"type", "Lowercase"}};
  EXPECT_EQ(text_of({{"type", "Sequence"}, {"normalizers", {lower, replace}}}, "A"), "B");
  EXPECT_EQ(text_of({{"type", "Sequence"}, {"normalizers", {replace, lower}}}, "Aa"), "ab");
  EXPECT_EQ(text_of({{"type", "Sequence"}, {"normalizers", Json::array()}}, "Aa"), "Aa");
}

TEST(Normalizer, RefusesToGrowWithoutEnd) {
  const Json twice = {{"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", "aa"}};
  const Json forty = {{"type", "Sequence"}, {"normalizers", std::vector<Json>(40, twice)}};
  const std::string message = error_of<BadFile>([&] { normalized(forty, "aa"); });
  EXPECT_EQ(message, "the tokenizer's normalizer makes a text of 2 characters longer than 1152");
  EXPECT_EQ(normalized({{"type", "Sequence"}, {"normalizers", std::vector<Json>(6, twice)}}, "a").chars().size(), 64u);
}

TEST(Normalizer, RefusesWhatItCannotDo) {
  const auto refusal = [](const Json& json) { return error_of<UnsupportedModel>([&] { make(json); }); };
  EXPECT_EQ(refusal({{"type", "Append"}, {"append", ""}}),
            R"(tokenizer.json: "normalizer.type" is "Append", which is not supported)");
  EXPECT_EQ(refusal({{"type", "NFC"}, {"twice", true}}),
            R"(tokenizer.json: "normalizer.twice" is a setting that is not supported)");
  EXPECT_EQ(refusal({{"type", "Sequence"}, {"normalizers", {{{"type", "NFC"}}, {{"type", "Append"}}}}}),
            R"(tokenizer.json: "normalizers[1].type" is "Append", which is not supported)");
  EXPECT_EQ(refusal({{"type", "Replace"}, {"pattern", {{"Regex", "(a)"}}}, {"content", "$1"}}),
            R"(tokenizer.json: "normalizer.content" is "$1": groups of a Regex are not supported)");
  EXPECT_EQ(refusal({{"type", "Replace"}, {"pattern", {{"String", ""}}}, {"content", ""}}),
            R"(tokenizer.json: "normalizer.pattern.String" is empty, which is not supported)");
}

TEST(Normalizer, RefusesMalformedSettings) {
  const auto refusal = [](const Json& json) { return error_of<BadFile>([&] { make(json); }); };
  EXPECT_EQ(refusal(Json::object()), R"(tokenizer.json: "normalizer.type" is missing)");
  EXPECT_EQ(refusal({{"type", 1}}), R"(tokenizer.json: "normalizer.type" must be a string, not 1)");
  EXPECT_EQ(refusal({{"type", "BertNormalizer"}}), R"(tokenizer.json: "normalizer.clean_text" is missing)");
  EXPECT_EQ(refusal({{"type", "Strip"}, {"strip_left", 1}}),
            R"(tokenizer.json: "normalizer.strip_left" must be true or false, not 1)");
  EXPECT_EQ(refusal({{"type", "Sequence"}, {"normalizers", {1}}}),
            R"(tokenizer.json: "normalizers[0]" must be an object, not 1)");
  EXPECT_EQ(refusal({{"type", "Replace"}, {"pattern", "a"}, {"content", ""}}),
            R"(tokenizer.json: "normalizer.pattern" must be an object, not "a")");
}

}  // namespace
}  // namespace sightline::tokenizer
