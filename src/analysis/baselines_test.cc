#include "src/analysis/baselines.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "src/ops/random.h"

namespace sightline::analysis {
namespace {

std::int64_t below(ops::Random& random, std::int64_t end) {
  return static_cast<std::int64_t>(random.uniform() * static_cast<double>(end));
}

// Candidates of one to three tokens, some tokens of none between them.
Question random_question(ops::Random& random) {
  Question question;
  const std::int64_t count = 2 + below(random, 6), row = below(random, count + 1);
  std::int64_t at = below(random, 3);
  for (std::int64_t i = 0; i <= count; ++i) {
    const TokenRange range{at, at + 1 + below(random, 3)};
    at = range.end + below(random, 3);
    i == row ? void(question.row = range) : question.candidates.push_back(range);
  }
  for (std::size_t i = 0; i < question.candidates.size(); ++i) {
    if (random.uniform() < 0.3) question.right.push_back(i);
  }
  if (question.right.empty()) question.right.push_back(0);
  return question;
}

// By walking away from the row, candidate by candidate.
bool plain_answer_is_right(const Rule& rule, const Question& question) {
  std::vector<std::size_t> before, after;  // nearest first
  for (std::size_t i = 0; i < question.candidates.size(); ++i) {
    question.candidates[i].end <= question.row.begin ? void(before.insert(before.begin(), i)) : after.push_back(i);
  }
  std::vector<std::size_t> order = rule.kind == Rule::Kind::after ? after : before;
  std::size_t place = static_cast<std::size_t>(rule.n) - 1;
  if (rule.kind == Rule::Kind::nearest) {
    place = 0;
    const auto gap = [&](std::size_t i) {
      const TokenRange& candidate = question.candidates[i];
      return std::max(candidate.begin - question.row.end, question.row.begin - candidate.end);
    };
    if (before.empty() || (!after.empty() && gap(after[0]) < gap(before[0]))) order = after;
  }
  return place < order.size() && std::ranges::find(question.right, order[place]) != question.right.end();
}

TEST(Baselines, BestRuleIsTheBestOfAllByBruteForce) {
  ops::Random random(7);
  for (int turn = 0; turn < 200; ++turn) {
    std::vector<Question> questions;
    for (int i = 0; i < 12; ++i) questions.push_back(random_question(random));
    std::vector<const Question*> pointers;
    for (const Question& question : questions) pointers.push_back(&question);

    Rule best;
    std::int64_t most = -1;
    const auto offer = [&](const Rule& rule) {
      std::int64_t right = 0;
      for (const Question& question : questions) {
        right += plain_answer_is_right(rule, question);
        ASSERT_EQ(is_right(rule, question), plain_answer_is_right(rule, question)) << rule_name(rule);
      }
      if (right <= most) return;
      most = right;
      best = rule;
    };
    offer({});
    for (const Rule::Kind kind : {Rule::Kind::before, Rule::Kind::after}) {
      for (std::int64_t n = 1; n <= 8; ++n) offer({kind, n});
    }
    EXPECT_EQ(best_rule(pointers), best) << rule_name(best_rule(pointers)) << " and " << rule_name(best);
  }
}

TEST(Baselines, NamesSayWhichCandidate) {
  EXPECT_EQ(rule_name({}), "nearest");
  EXPECT_EQ(rule_name({Rule::Kind::before, 2}), "2 before");
  EXPECT_EQ(rule_name({Rule::Kind::after, 1}), "1 after");
}

TEST(Baselines, NoCandidateIsNoAnswer) {
  const Question question{{2, 3}, {{0, 1}}, {0}};
  EXPECT_EQ(answer_of({Rule::Kind::after, 1}, question), std::nullopt);
  EXPECT_EQ(answer_of({Rule::Kind::before, 2}, question), std::nullopt);
  EXPECT_EQ(answer_of({Rule::Kind::before, 1}, question), 0);
  EXPECT_EQ(answer_of({}, Question{{2, 3}, {}, {}}), std::nullopt);
}

}  // namespace
}  // namespace sightline::analysis
