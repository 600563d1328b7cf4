#include "src/analysis/tally.h"

#include <gtest/gtest.h>

#include <vector>

#include "src/ops/random.h"

namespace sightline::analysis {
namespace {

// Texts with so many questions each; whether an answer is right comes from `right(text)`, and the rule is right in
// every second one.
template <class Right>
Tally tally_of(int texts, int questions, const Right& right) {
  Tally all;
  for (int text = 0; text < texts; ++text) {
    Tally one;
    const bool is_right = right(text);
    for (int question = 0; question < questions; ++question) {
      one.add({.right = is_right, .weight = 1, .baseline = question % 2 == 0 ? 1.0 : 0.0});
    }
    all.add_text(one);
  }
  return all;
}

TEST(Tally, TheQuantilesAreThoseOfTables) {
  EXPECT_NEAR(needed_errors(1), 1.6449, 1e-4);
  EXPECT_NEAR(needed_errors(2), 1.9600, 1e-4);
  EXPECT_NEAR(needed_errors(10), 2.5758, 1e-4);
  EXPECT_NEAR(needed_errors(50), 3.0902, 1e-4);
  // Student's t, 95 % and 99.5 % of one side.
  EXPECT_NEAR(needed_errors(1, 2), 6.3138, 1e-4);
  EXPECT_NEAR(needed_errors(1, 3), 2.9200, 1e-4);
  EXPECT_NEAR(needed_errors(1, 8), 1.8946, 1e-4);
  EXPECT_NEAR(needed_errors(10, 6), 4.0321, 1e-4);
  EXPECT_NEAR(needed_errors(10, 31), 2.7500, 1e-4);
  EXPECT_NEAR(needed_errors(72, 100'000), needed_errors(72), 1e-9);
  EXPECT_NEAR(needed_errors(72, 2000), needed_errors(72), 0.01);
}

// All questions of a text are right or wrong together, by a fair coin: no better than the rule. As single questions
// they would look far better than it in every few series.
TEST(Tally, QuestionsOfATextAreNotIndependent) {
  constexpr int kSeries = 400;
  ops::Random random(7);
  for (const int texts : {4, 8, 40}) {
    int found = 0;
    for (int series = 0; series < kSeries; ++series) {
      found += beats_baseline(tally_of(texts, 40, [&](int) { return random.uniform() < 0.5; }), 1) ? 1 : 0;
    }
    EXPECT_LE(found, kSeries * 0.05 + 3 * 4.4) << texts;  // the level, and three standard errors of the count
  }
}

TEST(Tally, WhatIsBetterInAllTextsIsFound) {
  const auto in_nine_of_ten = [](int text) { return text % 10 != 9; };
  EXPECT_TRUE(beats_baseline(tally_of(40, 10, in_nine_of_ten), 72));
  EXPECT_TRUE(beats_baseline(tally_of(1, 400, [](int) { return true; }), 72));
  EXPECT_FALSE(beats_baseline(tally_of(1, 2, [](int) { return true; }), 72));
  EXPECT_FALSE(beats_baseline({}, 72));
}

// However many questions there are: a lead of a hair is no role.
TEST(Tally, AHairIsNoRole) {
  for (const auto& [right_of_thousand, beats] : {std::pair(510, false), std::pair(545, false), std::pair(560, true)}) {
    Tally all;
    for (int text = 0; text < 1000; ++text) {
      Tally one;
      for (int question = 0; question < 1000; ++question) {
        one.add({.right = question < right_of_thousand, .weight = 1, .baseline = question < 500 ? 1.0 : 0.0});
      }
      all.add_text(one);
    }
    EXPECT_EQ(beats_baseline(all, 72), beats) << right_of_thousand;
  }
}

// An offset that was chosen on other texts may be right nowhere here: an even look is the baseline then.
TEST(Tally, TheBetterOfRuleAndEvenLookIsTheBaseline) {
  Tally all;
  for (int text = 0; text < 20; ++text) {
    Tally one;
    for (int question = 0; question < 100; ++question) {
      one.add({.right = question < 30, .weight = 1, .baseline = 0, .even_weight = 0.25});
    }
    all.add_text(one);
  }
  EXPECT_DOUBLE_EQ(all.baseline(), 0.25);
  EXPECT_DOUBLE_EQ(all.score(), 0.3);
  EXPECT_FALSE(beats_baseline(all, 1));  // 0.05 of 0.75
}

TEST(Tally, PartsAddUp) {
  Tally whole, parts;
  for (int text = 0; text < 6; ++text) {
    Tally one;
    for (int question = 0; question <= text; ++question) {
      one.add({.right = (text + question) % 3 == 0, .weight = 0.5, .baseline = 0.25, .even_weight = 0.125});
    }
    whole.add_text(one);
    Tally part;
    part.add_text(one);
    parts.add(part);
  }
  EXPECT_EQ(whole.texts, 6);
  EXPECT_EQ(whole.questions, 21);
  EXPECT_EQ(whole.text_squares, 91);
  EXPECT_EQ(parts.text_squares, whole.text_squares);
  EXPECT_EQ(parts.over_rule.text_squares, whole.over_rule.text_squares);
  EXPECT_EQ(parts.over_even.text_products, whole.over_even.text_products);
  EXPECT_EQ(parts.excess.squares, whole.excess.squares);
}

}  // namespace
}  // namespace sightline::analysis
