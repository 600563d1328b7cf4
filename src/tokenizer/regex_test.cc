#include "src/tokenizer/regex.h"

#include <optional>

#include "sightline/error.h"
#include "src/tokenizer/regex_pattern.h"
#include "src/tokenizer/testing.h"

namespace sightline::tokenizer {
namespace {

using Texts = std::vector<std::string>;

Regex regex(std::string_view pattern) { return {pattern, "tokenizer.json: \"pattern\""}; }

// The text cut at the matches; both what matched and what stands between is kept.
Texts pieces(const char* pattern, std::string_view text) {
  const NormalizedString normalized(text);
  const CharSpan chars = normalized.chars();
  Texts result;
  std::size_t done = 0;
  const auto add = [&](std::size_t begin, std::size_t end) {
    if (begin < end) result.push_back(to_utf8(chars.subspan(begin, end - begin)));
  };
  regex(pattern).for_each_match(chars, [&](std::size_t begin, std::size_t end) {
    add(done, begin);
    add(begin, end);
    done = end;
  });
  add(done, chars.size());
  return result;
}

// What the reference library (tokenizers 0.23.3) makes of a pattern: Split with the behaviour Isolated.
struct Case {
  const char* pattern;
  const char* text;
  Texts pieces;
};

class Reference : public testing::TestWithParam<Case> {};

TEST_P(Reference, CutsTheSame) { EXPECT_EQ(pieces(GetParam().pattern, GetParam().text), GetParam().pieces); }

INSTANTIATE_TEST_SUITE_P(
    Syntax, Reference,
    testing::Values(Case{"^b", "ab\nb\nb", {"ab\n", "b", "\n", "b"}},
                    Case{"b$", "ab\nb\n", {"a", "b", "\n", "b", "\n"}}, Case{"x*", "aabxx", {"a", "a", "b", "xx"}},
                    Case{"", "ab", {"a", "b"}}, Case{"a{,2}", "aaaaa", {"aa", "aa", "a"}},
                    Case{"\\bfoo\\b", "fo\u00f3 foo\u0301 foo", {"fo\u00f3 foo\u0301 ", "foo"}},
                    Case{"\\h", "fz 9", {"f", "z ", "9"}}, Case{"[a-]", "-ab", {"-", "a", "b"}},
                    Case{"[\\w-]+", "a-b c", {"a-b", " ", "c"}}, Case{"[a-z&&[^b]]+", "abca", {"a", "b", "ca"}},
                    Case{"[^a-z&&b-d]", "abcdez", {"a", "bcd", "e", "z"}},
                    Case{"[a-c-e]", "a-de", {"a", "-", "d", "e"}},
                    Case{"\\p{han}|\\p{letter}", "\u5b57a1", {"\u5b57", "a", "1"}},
                    Case{"[[:punct:]]+", "$+<a!", {"$+<", "a", "!"}}, Case{"\\x{41}|\\u0042", "ABC", {"A", "B", "C"}},
                    Case{"[\\b]\\e", "a\b\x1b", {"a", "\b\x1b"}}, Case{"(?<=a|bc)d", "ad bcd", {"a", "d", " bc", "d"}},
                    Case{".", "\n\r\u2028a", {"\n", "\r", "\u2028", "a"}}, Case{"(?m:.)", "\na", {"\n", "a"}},
                    Case{"a{x}", "a{x}", {"a{x}"}}, Case{"]|\\}", "a]}", {"a", "]", "}"}},
                    Case{"\\p{Lu}|\\P{^Lt}", "A\u01c5a", {"A", "\u01c5", "a"}},
                    Case{"[^\\S\\r\\n]+", "a \n b", {"a", " ", "\n", " ", "b"}},
                    Case{"\u00e9", "e\u0301\u00e9", {"e\u0301", "\u00e9"}}, Case{"a++b", "aab", {"aab"}},
                    Case{"\\b", "a\u00b2-", {"a\u00b2", "-"}}, Case{"[\\w]+", "a\u00b2-", {"a", "\u00b2-"}},
                    Case{"b\\Z", "b\nb\n", {"b\n", "b", "\n"}}, Case{"\\w+?(?=b)", "aab", {"aa", "b"}}));

INSTANTIATE_TEST_SUITE_P(WithoutCase, Reference,
                         testing::Values(Case{"(?i:'s)", "a'\u017fb", {"a", "'\u017f", "b"}},
                                         Case{"(?i:[a-k])", "\u212a\u017f", {"\u212a", "\u017f"}},
                                         Case{"(?i:[^k])", "\u212akx", {"\u212ak", "x"}},
                                         Case{"(?i)abc", "aBC", {"aBC"}}, Case{"(?i:\\p{Lu})+", "aA", {"a", "A"}},
                                         Case{"(?i:[\\p{Lu}])+", "-aA1", {"-", "aA", "1"}},
                                         Case{"(?i:[^\\P{Lu}])", "a-A1", {"a-A1"}},
                                         Case{"(?i:[^[^a]])", "aAbB", {"aAbB"}},
                                         Case{"(?i)a(?-i:b)", "aBAb", {"aB", "Ab"}}));

// How many characters a pattern of one character matches, and FNV-1a over the ends of their ranges, each as four bytes
// with the lowest first: what the reference library (tokenizers 0.23.3) matched of all characters.
struct ClassCase {
  const char* pattern;
  std::size_t count;
  std::uint64_t hash;
};

class CharacterClass : public testing::TestWithParam<ClassCase> {};

TEST_P(CharacterClass, HoldsWhatTheReferenceMatches) {
  std::vector<Char> all;
  for (char32_t c = 0; c <= 0x10FFFF; ++c) {
    if (c < 0xD800 || c > 0xDFFF) all.push_back({c, 0, 0});
  }
  std::vector<std::pair<char32_t, char32_t>> ranges;
  std::size_t count = 0;
  regex(GetParam().pattern).for_each_match(all, [&](std::size_t begin, std::size_t end) {
    ASSERT_EQ(end, begin + 1);
    const char32_t c = all[begin].code;
    if (!ranges.empty() && ranges.back().second + 1 == c) {
      ranges.back().second = c;
    } else {
      ranges.emplace_back(c, c);
    }
    ++count;
  });
  std::uint64_t hash = 0xCBF29CE484222325u;
  const auto add = [&](char32_t c) {
    for (int shift = 0; shift < 32; shift += 8) hash = (hash ^ (c >> shift & 0xFF)) * 0x100000001B3u;
  };
  for (const auto& [first, last] : ranges) {
    add(first);
    add(last);
  }
  EXPECT_EQ(count, GetParam().count) << GetParam().pattern;
  EXPECT_EQ(hash, GetParam().hash) << GetParam().pattern;
}

INSTANTIATE_TEST_SUITE_P(
    AllCharacters, CharacterClass,
    testing::Values(
        ClassCase{R"re(\s)re", 25, 0xBEC8A15D104AD47A}, ClassCase{R"re(\d)re", 760, 0xE4E15E7266F87464},
        ClassCase{R"re(\w)re", 144671, 0xD39DFEA11B098C4A}, ClassCase{R"re(\p{L})re", 141028, 0x25136AF87720B39D},
        ClassCase{R"re(\p{N})re", 1911, 0x79B35B3D13EAD146}, ClassCase{R"re(\p{M})re", 2501, 0x617507FA0EA04E34},
        ClassCase{R"re(\p{P})re", 855, 0x2FCD12107F1187EE}, ClassCase{R"re(\p{S})re", 8514, 0x0DAD282D455BF6B0},
        ClassCase{R"re(\p{Z})re", 19, 0x187B81E121D24D1E}, ClassCase{R"re(\p{C})re", 957236, 0xEE783C35E61307F7},
        ClassCase{R"re(\p{Lu})re", 1858, 0x382884FC40799E9B}, ClassCase{R"re(\p{Ll})re", 2258, 0xA239197DCDD7E209},
        ClassCase{R"re(\p{Lt})re", 31, 0x99E9F5E58A36CAA6}, ClassCase{R"re(\p{Lm})re", 404, 0x049F1E5CF8335CB8},
        ClassCase{R"re(\p{Lo})re", 136477, 0x19DDEA7EB5B758C6}, ClassCase{R"re(\p{Mn})re", 2020, 0xCE951FF0320B7B8F},
        ClassCase{R"re(\p{Mc})re", 468, 0xE727548CCD1F2BE3}, ClassCase{R"re(\p{Me})re", 13, 0xB6BBDBCF098CABDD},
        ClassCase{R"re(\p{Nd})re", 760, 0xE4E15E7266F87464}, ClassCase{R"re(\p{Nl})re", 236, 0x27AB0B2D8FA58DC1},
        ClassCase{R"re(\p{No})re", 915, 0x96EEECEF0C0871D8}, ClassCase{R"re(\p{Pc})re", 10, 0x2EF29BDC80E27E77},
        ClassCase{R"re(\p{Pd})re", 27, 0x877402894BB3B3CA}, ClassCase{R"re(\p{Ps})re", 79, 0x04955BB6C6F78AAD},
        ClassCase{R"re(\p{Pe})re", 77, 0x226E1F95FD520370}, ClassCase{R"re(\p{Pi})re", 12, 0x28399D9551C2A6A6},
        ClassCase{R"re(\p{Pf})re", 10, 0xA93266C92A8E5961}, ClassCase{R"re(\p{Po})re", 640, 0x387E132AB6AFB00C},
        ClassCase{R"re(\p{Sm})re", 950, 0x8D517E9569E076CC}, ClassCase{R"re(\p{Sc})re", 63, 0xB4CBA0E7F01D1AA9},
        ClassCase{R"re(\p{Sk})re", 125, 0x43C843C2A9F36CD5}, ClassCase{R"re(\p{So})re", 7376, 0xFA2D046D51012161},
        ClassCase{R"re(\p{Zs})re", 17, 0xE3EB3EA3038D0F2F}, ClassCase{R"re(\p{Cc})re", 65, 0x1344C12103B11FFA},
        ClassCase{R"re(\p{Cf})re", 170, 0x1C5D1300349E7350}, ClassCase{R"re(\p{Co})re", 137468, 0x112821A18E2542AE},
        ClassCase{R"re(\p{Cn})re", 819533, 0x9A15A9D3660C98DA}, ClassCase{R"re(\p{Han})re", 99030, 0x98F16FD256035A42},
        ClassCase{R"re((?i:s))re", 3, 0x9B1D74F158C002C5}, ClassCase{R"re((?i:k))re", 3, 0xA11866822B701129},
        ClassCase{R"re(.)re", 1112063, 0x4E8BBF295191D4AB}, ClassCase{R"re([[:alpha:]])re", 142759, 0x5970626DBA7D0B63},
        ClassCase{R"re([[:alnum:]])re", 143519, 0x03E4F3780EAF014B},
        ClassCase{R"re([[:digit:]])re", 760, 0xE4E15E7266F87464},
        ClassCase{R"re([[:lower:]])re", 2569, 0xD9FBF5B4D165B959},
        ClassCase{R"re([[:upper:]])re", 1978, 0xA83A2A49084FBCFC},
        ClassCase{R"re([[:punct:]])re", 9369, 0xE30E324BF3F5EC58},
        ClassCase{R"re([[:space:]])re", 25, 0xBEC8A15D104AD47A},
        ClassCase{R"re([[:xdigit:]])re", 22, 0x55A83156A555D2BC},
        ClassCase{R"re([[:ascii:]])re", 128, 0xCB0210B61FA4692A},
        ClassCase{R"re(\p{Alpha})re", 142759, 0x5970626DBA7D0B63},
        ClassCase{R"re(\p{Latin})re", 1487, 0x25487B43B7CE9049},
        ClassCase{R"re(\p{Cyrillic})re", 508, 0xD082747DCD08ACC0},
        ClassCase{R"re(\p{Greek})re", 518, 0x10EE9AD0CD2C35B7},
        ClassCase{R"re(\p{Hiragana})re", 381, 0x560EF9351943581B},
        ClassCase{R"re(\p{Katakana})re", 321, 0x061C1C921991CB48},
        ClassCase{R"re(\p{Hangul})re", 11739, 0xA36E8C600B7D26C9},
        ClassCase{R"re(\p{Arabic})re", 1373, 0x2D0B19EB663FCF8F},
        ClassCase{R"re(\p{Hebrew})re", 134, 0xE56984A0140FB9EA}, ClassCase{R"re(\p{Thai})re", 86, 0x83E51474EF7825A9},
        ClassCase{R"re(\p{Devanagari})re", 164, 0x6CAA7A686B8AC69C},
        ClassCase{R"re(\p{Bengali})re", 96, 0x35A72AB52233062D}, ClassCase{R"re(\h)re", 22, 0x55A83156A555D2BC},
        ClassCase{R"re(\p{LC})re", 4147, 0x3656BBF0D572E94D}, ClassCase{R"re((?i:\p{Lu}))re", 1858, 0x382884FC40799E9B},
        ClassCase{R"re((?i:[\p{Lu}]))re", 3266, 0x8DEE8A7F7F940026},
        ClassCase{R"re((?i:[a-z]))re", 54, 0x507BC704E77C3789},
        ClassCase{R"re((?i:\p{Greek}))re", 518, 0x10EE9AD0CD2C35B7}, ClassCase{R"re(\W)re", 967393, 0x92A200017A05A6EC},
        ClassCase{R"re(\S)re", 1112039, 0x681BFF0B08005448}, ClassCase{R"re(\D)re", 1111304, 0x843E85AE9EE88DB2}));

TEST(Regex, WhiteSpaceIsUnicodes) { EXPECT_EQ(pieces("\\s", "a\u180eb\u0085c"), (Texts{"a\u180eb", "\u0085", "c"})); }

std::string refusal(const std::string& pattern) {
  return error_of<UnsupportedModel>([&] { regex(pattern); });
}

TEST(Regex, RefusesByNameWhatItLacks) {
  const std::pair<const char*, const char*> cases[] = {{"(?x) a", "(?x"},
                                                       {"(a)\\1", "\\\\1"},
                                                       {"\\Ka", "\\\\K"},
                                                       {"a\\R", "\\\\R"},
                                                       {"\\X", "\\\\X"},
                                                       {"\\p{Nope}", "Nope"},
                                                       {"(?<name>a)", "(?<n"},
                                                       {"a(?i)b", "(?i)"},
                                                       {"a**", "*"},
                                                       {"a{1,2}+", "+"},
                                                       {"a{2}?", "?"},
                                                       {"(?i:stra\u00dfe)", "\\u00df"},
                                                       {"(?i:ss)", "ss"},
                                                       {"(?~a)", "(?~"},
                                                       {"\\G", "\\\\G"},
                                                       {"[\\d-z]", "\\\\d"},
                                                       {"\\p{Common}", "Common"},
                                                       {"\\xE9", "\\\\xE9"}};
  for (const auto& [pattern, spelling] : cases) {
    const std::string message = refusal(pattern);
    EXPECT_NE(message.find(spelling), message.npos) << pattern << ": " << message;
    EXPECT_EQ(message.find("tokenizer.json: \"pattern\": character "), 0u) << message;
  }
}

TEST(Regex, RefusesMalformedPatterns) {
  for (const char* pattern : {"a)", "(a", "[a", "a|*", "+", "a{3,2}", "[z-a]", "\\", "\\u00", "[]", "a{70000}",
                              "\\x{110000}", "[[:alpha:", "(?"}) {
    EXPECT_THROW(regex(pattern), Error) << pattern;
  }
  EXPECT_THROW(regex(std::string(20000, 'a')), BadFile);
  EXPECT_THROW(regex(std::string(5000, '(') + std::string(5000, ')')), BadFile);
}

TEST(Regex, TellsManyCharactersApart) {
  std::string alternatives, text;
  for (char32_t c = 0x4E00; c < 0x4E00 + 255; ++c) {
    if (!alternatives.empty()) alternatives += '|';
    append_utf8(c, alternatives);
    append_utf8(c, text);
  }
  EXPECT_EQ(pieces(alternatives.c_str(), text).size(), 255u);
  append_utf8(0x5000, alternatives += '|');
  append_utf8(0x5001, alternatives += '|');
  EXPECT_NE(refusal(alternatives).find("more than 256"), std::string::npos);
}

TEST(Regex, StopsPatternsThatRunAway) {
  const NormalizedString letters(std::string(200'000, 'a') + "!");
  const auto run = [&](const char* pattern) { regex(pattern).for_each_match(letters.chars(), [](auto, auto) {}); };
  for (const char* pattern : {"(a+)+$", "(?:a|a)*(?=b)", "(?:a*)*(?=b)", "(?:\\w*\\s?)*(?=b)"}) {
    const std::string message = error_of<BadFile>([&] { run(pattern); });
    EXPECT_NE(message.find("tokenizer.json: \"pattern\""), message.npos) << pattern << ": " << message;
  }
}

// One attempt at each place reads all that follows: the square of the text's length in all.
TEST(Regex, StopsPatternsThatTakeTooLong) {
  const NormalizedString letters(std::string(250'000, 'a'));
  const auto run = [&] { regex("(?:a[bc]?)*+(?=[bd])|bb").for_each_match(letters.chars(), [](auto, auto) {}); };
  EXPECT_NE(error_of<BadFile>(run).find("too long"), std::string::npos);
}

TEST(Regex, LongMatchesDoNotRunAway) {
  const std::string text(1 << 20, ' ');
  EXPECT_EQ(pieces("\\s+(?!\\S)|\\s+", text), Texts{text});
  EXPECT_EQ(pieces("(?: |\\n)+", text), Texts{text});
}

}  // namespace
}  // namespace sightline::tokenizer
