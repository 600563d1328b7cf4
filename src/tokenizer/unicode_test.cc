#include "src/tokenizer/unicode.h"

#include <gtest/gtest.h>

#include <functional>
#include <utility>

namespace sightline::tokenizer {
namespace {

using Set = std::function<bool(char32_t)>;

template <typename Visit>
void for_all_chars(Visit visit) {
  for (char32_t c = 0; c <= 0x10FFFF; ++c) {
    if (c < 0xD800 || c > 0xDFFF) visit(c);
  }
}

// How many characters are in a set, and the sum of them: enough to notice any difference.
std::pair<std::uint64_t, std::uint64_t> census(const Set& contains) {
  std::pair<std::uint64_t, std::uint64_t> result;
  for_all_chars([&](char32_t c) {
    if (contains(c)) ++result.first, result.second += c;
  });
  return result;
}

std::u32string decomposed(char32_t c, Decomposition kind) {
  std::u32string out;
  decompose(c, kind, out);
  return out;
}

// The numbers come from the Hugging Face library (tokenizers 0.23.3), which was asked about each of the 1,112,064
// characters.
TEST(Unicode, SetsAreThoseOfTheReference) {
  using P = std::pair<std::uint64_t, std::uint64_t>;
  EXPECT_EQ(census(is_whitespace), P(25, 141586));
  EXPECT_EQ(census(is_other), P(137683, 137913019292));
  EXPECT_EQ(census(is_punctuation), P(726, 20675981));
  EXPECT_EQ(census(is_mark), P(2097, 286880651));
  EXPECT_EQ(census(is_numeric), P(1924, 111666371));
  EXPECT_EQ(census(is_word_char), P(144667, 15621645388));
  EXPECT_EQ(census(is_chinese), P(81264, 9171601864));
  const auto lone_mark = [](char32_t c) {
    return is_nonspacing_mark(c) && decomposed(c, Decomposition::canonical) == std::u32string(1, c);
  };
  EXPECT_EQ(census(lone_mark), P(1549, 262364136));
}

TEST(Unicode, LowerCaseIsThatOfTheReference) {
  std::uint64_t changed = 0, sum = 0;
  for_all_chars([&](char32_t c) {
    const LowerCase lower = to_lower(c);
    if (lower.first == c && lower.second == 0) return;
    ++changed;
    sum += lower.first + lower.second;
  });
  EXPECT_EQ(changed, 1488u);
  EXPECT_EQ(sum, 39003168u);
}

TEST(Unicode, LowersOneCharacterAtATime) {
  EXPECT_EQ(to_lower(U'A').first, U'a');
  EXPECT_EQ(to_lower(0x3A3).first, char32_t{0x3C3});  // sigma, not its final form
  EXPECT_EQ(to_lower(0x130).first, U'i');             // I with dot: i and a dot above
  EXPECT_EQ(to_lower(0x130).second, char32_t{0x307});
  EXPECT_EQ(to_lower(0x1E9E).first, char32_t{0xDF});
  EXPECT_EQ(to_lower(U'1').first, U'1');
}

TEST(Unicode, DecompositionsAreThoseOfTheReference) {
  const auto total = [](Decomposition kind) {
    std::pair<std::uint64_t, std::uint64_t> result;
    for_all_chars([&](char32_t c) {
      const std::u32string parts = decomposed(c, kind);
      if (parts == std::u32string(1, c)) return;
      ++result.first;
      for (std::size_t i = 0; i < parts.size(); ++i) result.second += (i + 1) * parts[i];
    });
    return result;
  };
  EXPECT_EQ(total(Decomposition::canonical), (std::pair<std::uint64_t, std::uint64_t>(13232, 353274000)));
  EXPECT_EQ(total(Decomposition::compatibility), (std::pair<std::uint64_t, std::uint64_t>(16894, 392231763)));
}

TEST(Unicode, Composes) {
  EXPECT_EQ(compose(U'e', 0x301), char32_t{0xE9});
  EXPECT_EQ(compose(0x1100, 0x1161), char32_t{0xAC00});  // Hangul
  EXPECT_EQ(compose(0xAC00, 0x11A8), char32_t{0xAC01});
  EXPECT_EQ(compose(0xAC00, 0x11A7), char32_t{0});  // not a final consonant
  EXPECT_EQ(compose(0x915, 0x93C), char32_t{0});    // excluded from composition
  EXPECT_EQ(compose(U'e', U'e'), char32_t{0});
}

TEST(Utf8, ReadsWhatIsWellFormed) {
  const auto expect = [](std::string_view text, char32_t code) {
    const DecodedChar c = decode_char(text, 0);
    EXPECT_EQ(c.code, code);
    EXPECT_EQ(c.length, text.size());
    std::string written;
    append_utf8(code, written);
    EXPECT_EQ(written, text);
  };
  expect(std::string_view("\0", 1), 0);
  expect("\x7F", 0x7F);
  expect("\xC2\x80", 0x80);
  expect("\xDF\xBF", 0x7FF);
  expect("\xE0\xA0\x80", 0x800);
  expect("\xED\x9F\xBF", 0xD7FF);
  expect("\xEE\x80\x80", 0xE000);
  expect("\xEF\xBF\xBF", 0xFFFF);
  expect("\xF0\x90\x80\x80", 0x10000);
  expect("\xF4\x8F\xBF\xBF", 0x10FFFF);
}

// Table 3-7 of the Unicode Standard, from the other side.
TEST(Utf8, RefusesWhatIsNot) {
  for (const char* text : {"\x80", "\xBF", "\xC0\x80", "\xC1\xBF", "\xC2", "\xC2\x41", "\xE0\x9F\xBF", "\xE1\x80",
                           "\xE1\x80\xC0", "\xED\xA0\x80", "\xED\xBF\xBF", "\xF0\x8F\xBF\xBF", "\xF0\x90\x80",
                           "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFE", "\xFF"}) {
    EXPECT_EQ(decode_char(text, 0).length, 0u) << testing::PrintToString(text);
  }
}

}  // namespace
}  // namespace sightline::tokenizer
