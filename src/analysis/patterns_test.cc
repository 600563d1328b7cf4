// What patterns show, against rules written out pair by pair, and what they lose, against weights in fp64.
#include "src/analysis/patterns.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "src/analysis/lost_mass.h"
#include "src/analysis/normal_numbers.h"

namespace sightline::analysis {
namespace {

// As docs/study.md describes the patterns.
bool shown(PatternKind kind, std::int64_t row, std::int64_t key, std::int64_t n, const PatternSizes& sizes) {
  const bool near = key > row - sizes.window && key < row + sizes.window;
  const std::int64_t blocks = (n + 63) / 64;
  const std::int64_t stride = std::max<std::int64_t>(1, std::llround(std::sqrt(static_cast<double>(blocks))));
  const std::int64_t apart = std::abs(row / 64 - key / 64);
  switch (kind) {
    case PatternKind::full:
      return true;
    case PatternKind::window:
      return near;
    case PatternKind::sinks_window:
      return near || key < sizes.sinks;
    case PatternKind::strided_blocks:
      return apart < stride || apart % stride == 0;
  }
  return false;
}

struct Drawn {
  explicit Drawn(std::int64_t n, bool causal) : q(static_cast<std::size_t>(n * 8)), k(q.size()) {
    NormalNumbers draw(11);
    draw.fill(std::span(q));
    draw.fill(std::span(k));
    problem.q = dense_view(q.data(), {1, 1, n, 8});
    problem.k = dense_view(k.data(), {1, 1, n, 8});
    problem.v = problem.k;
    problem.causal = causal;
  }
  std::vector<float> q, k;
  AttentionProblem problem;
};

std::vector<float> scores_of(const AttentionProblem& problem) {
  const std::int64_t n = problem.q.shape[2];
  std::vector<float> scores(static_cast<std::size_t>(n * n));
  tile(problem, {}, {.batch = 0, .head = 0, .row_begin = 0, .row_end = n, .key_begin = 0, .key_end = n}, Stage::biased,
       scores.data());
  return scores;
}

class PatternTest : public testing::TestWithParam<PatternKind> {};

TEST_P(PatternTest, ShowsThePairsOfItsRule) {
  for (const std::int64_t n : {1, 63, 64, 65, 200, 700}) {
    for (const bool causal : {true, false}) {
      for (const PatternSizes& sizes : {PatternSizes{},
                                        {.window = 1, .sinks = 1},
                                        {.window = 70, .sinks = 4},
                                        {.window = 128, .sinks = 100},
                                        {.window = 65, .sinks = 0}}) {
        const Drawn drawn(n, causal);
        const KeyPattern pattern(GetParam(), n, causal, sizes);
        const std::vector<float> scores = scores_of(pattern.restricted(drawn.problem));
        double pairs = 0;
        for (std::int64_t row = 0; row < n; ++row) {
          for (std::int64_t key = 0; key < n; ++key) {
            const bool expected = (!causal || key <= row) && shown(GetParam(), row, key, n, sizes);
            pairs += expected;
            ASSERT_EQ(scores[static_cast<std::size_t>(row * n + key)] != -INFINITY, expected)
                << n << ' ' << row << ' ' << key << ' ' << sizes.window;
          }
        }
        EXPECT_EQ(pattern.pairs(), pairs) << n << ' ' << causal << ' ' << sizes.window;
      }
    }
  }
}

TEST_P(PatternTest, LosesTheWeightOfTheKeysThatItHides) {
  constexpr std::int64_t kRows = 400;
  const PatternSizes sizes{.window = 70, .sinks = 4};
  for (const bool causal : {true, false}) {
    const Drawn drawn(kRows, causal);
    const KeyPattern pattern(GetParam(), kRows, causal, sizes);
    LostMass expected;
    for (std::int64_t row = 0; row < kRows; ++row) {
      double total = 0, hidden = 0;
      for (std::int64_t key = 0; key < (causal ? row + 1 : kRows); ++key) {
        double dot = 0;
        for (std::int64_t i = 0; i < 8; ++i) {
          dot += static_cast<double>(drawn.q[static_cast<std::size_t>(row * 8 + i)]) *
                 drawn.k[static_cast<std::size_t>(key * 8 + i)];
        }
        const double weight = std::exp(dot / std::sqrt(8.0));
        total += weight;
        if (!shown(GetParam(), row, key, kRows, sizes)) hidden += weight;
      }
      expected.mean += hidden / total / kRows;
      expected.worst = std::max(expected.worst, hidden / total);
    }
    const LostMass lost =
        lost_mass(row_lse(drawn.problem, 1, nullptr), row_lse(pattern.restricted(drawn.problem), 1, nullptr));
    EXPECT_NEAR(lost.mean, expected.mean, 2e-6);
    EXPECT_NEAR(lost.worst, expected.worst, 2e-6);
    EXPECT_EQ(lost.worst > 0.1, GetParam() != PatternKind::full);
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, PatternTest, testing::ValuesIn(kPatterns),
                         [](const auto& info) { return std::string(pattern_key(info.param)); });

// A window that the model has already stays where it is the narrower one.
TEST(KeyPattern, NarrowsAWindowThatIsThere) {
  Drawn drawn(100, true);
  drawn.problem.window_left = 9;
  const KeyPattern wide(PatternKind::window, 100, true, {.window = 50, .sinks = 0});
  EXPECT_EQ(wide.restricted(drawn.problem).window_left, 9);
  const KeyPattern narrow(PatternKind::window, 100, true, {.window = 5, .sinks = 0});
  EXPECT_EQ(narrow.restricted(drawn.problem).window_left, 4);
}

TEST(KeyPattern, SharesBlocksThatLookAlike) {
  const KeyPattern pattern(PatternKind::sinks_window, 1 << 15, true);
  EXPECT_LT(pattern.bytes(), std::size_t{1} << 18);  // 512 block rows of 11 blocks, and a few kinds of 512 bytes
}

TEST(LostMass, TakesRowsThatSeeNothing) {
  const std::vector<float> full = {0, -INFINITY, 2}, part = {0, -INFINITY, -INFINITY};
  const LostMass lost = lost_mass(full, part);
  EXPECT_EQ(lost.mean, 0.5);
  EXPECT_EQ(lost.worst, 1);
}

}  // namespace
}  // namespace sightline::analysis
