#include "src/analysis/generated_probes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "src/format/testing.h"

namespace sightline::analysis {
namespace {

tokenizer::Tokenizer tiny() {
  return tokenizer::Tokenizer::open(std::filesystem::path(SIGHTLINE_SOURCE_DIR) / "tests/data/tiny-decoder");
}

TEST(GeneratedProbes, BlocksRepeatAndHoldEachTokenOnce) {
  const tokenizer::Tokenizer tokenizer = tiny();
  const std::vector<RepeatedText> texts = repeated_texts(tokenizer, {.length = 128, .seed = 4});
  ASSERT_EQ(std::ssize(texts), text_count(128));
  std::set<std::int64_t> periods;
  for (const RepeatedText& text : texts) {
    ASSERT_EQ(text.tokens(), 128);
    ASSERT_EQ(text.block_end - text.block_begin + std::ssize(text.special), 128);
    periods.insert(text.period);
    std::set<std::int32_t> block;
    for (std::int64_t i = text.block_begin; i < text.block_end; ++i) {
      const std::int32_t id = text.ids[static_cast<std::size_t>(i)];
      EXPECT_FALSE(tokenizer.is_special(id));
      if (i < text.block_begin + text.period) block.insert(id);
      if (i >= text.block_begin + text.period) {
        EXPECT_EQ(id, text.ids[static_cast<std::size_t>(i - text.period)]);
      }
    }
    EXPECT_EQ(std::ssize(block), text.period);
    EXPECT_LE(2 * text.period, text.block_end - text.block_begin);
  }
  EXPECT_GT(periods.size(), 1U);
}

TEST(GeneratedProbes, TheSeedDecides) {
  const tokenizer::Tokenizer tokenizer = tiny();
  const auto ids = [&](std::uint64_t seed) {
    std::vector<std::int32_t> all;
    for (const RepeatedText& text : repeated_texts(tokenizer, {.length = 64, .seed = seed})) {
      all.insert(all.end(), text.ids.begin(), text.ids.end());
    }
    return all;
  };
  EXPECT_EQ(ids(1), ids(1));
  EXPECT_NE(ids(1), ids(2));
  EXPECT_EQ(nested_code(20, 1), nested_code(20, 1));
  EXPECT_NE(nested_code(20, 1), nested_code(20, 2));
}

// Partners by counting nestings from the closing bracket back, a way that keeps no stack.
TEST(GeneratedProbes, ClosingBracketsAreAskedForTheirPartners) {
  const tokenizer::Tokenizer tokenizer = tiny();
  const Probe probe = bracket_probe(tokenizer, {.length = 200, .seed = 9});
  std::size_t questions = 0;
  for (const ProbeText& text : probe.texts) {
    const auto bracket = [&](std::int64_t token) {
      const std::string word = tokenizer.decode({text.ids[static_cast<std::size_t>(token)]}, false);
      const std::size_t at = word.find_first_of("([{)]}");
      return at == std::string::npos ? ' ' : word[at];
    };
    for (const Question& question : text.questions) {
      ++questions;
      int nesting = 0;
      std::int64_t token = question.row.begin;
      do {
        const char c = bracket(token);
        nesting +=
            std::string("([{").find(c) != std::string::npos ? -1 : std::string(")]}").find(c) != std::string::npos;
        --token;
      } while (nesting > 0);
      ASSERT_EQ(question.right.size(), 1U);
      EXPECT_EQ(question.candidates[question.right[0]].begin, token + 1);
      EXPECT_GE(question.candidates.size(), 2U);
      EXPECT_TRUE(std::ranges::all_of(question.candidates,
                                      [&](const TokenRange& range) { return range.end <= question.row.begin; }));
    }
  }
  EXPECT_GT(questions, 20U);
}

TEST(GeneratedProbes, ParagraphsAreTexts) {
  const std::vector<RepeatedText> texts = paragraph_texts(tiny(), "One two.\nThree.\n\n \n\nFour five six.\n", 64);
  ASSERT_EQ(texts.size(), 2U);
  EXPECT_EQ(texts[0].period, 0);
  EXPECT_EQ(paragraph_texts(tiny(), " \n\n", 64).size(), 0U);
  EXPECT_EQ(paragraph_texts(tiny(), english_text(), 10).front().tokens(), 10);
}

TEST(GeneratedProbes, TooShortTextsAreRefused) {
  EXPECT_NE(format::error_of<BadArgument>([] { repeated_texts(tiny(), {.length = 10}); }).find("too short"),
            std::string::npos);
}

}  // namespace
}  // namespace sightline::analysis
