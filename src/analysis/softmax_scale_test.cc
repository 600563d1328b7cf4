// Softness of rows against closed forms and a Jacobian written out; dots against what theory says of them.
#include "src/analysis/softmax_scale.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "src/analysis/scale_study.h"

namespace sightline::analysis {
namespace {

constexpr double kHidden = -std::numeric_limits<double>::infinity();

std::vector<double> weights_of(const std::vector<double>& scores) {
  double total = 0;
  for (const double score : scores) total += std::exp(score);
  std::vector<double> weights;
  for (const double score : scores) weights.push_back(std::exp(score) / total);
  return weights;
}

// Entropy and norm from the definitions, all of the Jacobian written out.
Softness plain_softness(const std::vector<double>& scores) {
  const std::vector<double> w = weights_of(scores);
  Softness of;
  double square = 0;
  for (std::size_t i = 0; i < w.size(); ++i) {
    if (w[i] > 0) of.entropy -= w[i] * std::log(w[i]);
    for (std::size_t j = 0; j < w.size(); ++j) {
      const double element = (i == j ? w[i] : 0) - w[i] * w[j];
      square += element * element;
    }
  }
  of.gradient = std::sqrt(square);
  return of;
}

TEST(Softness, OfEqualWeightsIsTheMostThereIs) {
  for (const int n : {1, 2, 64, 1000}) {
    const Softness of = softness(std::vector<double>(static_cast<std::size_t>(n), 12.5));
    EXPECT_NEAR(of.entropy, std::log(n), 1e-12);
    EXPECT_NEAR(of.gradient, std::sqrt((1.0 / n) * (1 - 1.0 / n)), 1e-12);
  }
}

TEST(Softness, OfOneKeyAloneIsNothing) {
  for (const std::vector<double>& scores :
       {std::vector<double>{3}, {kHidden, 0, kHidden}, {0, -800}, {kHidden, kHidden}, {}}) {
    const Softness of = softness(scores);
    EXPECT_EQ(of.entropy, 0);
    EXPECT_EQ(of.gradient, 0);
  }
}

// w = 1 / (1 + e^-t), a = w (1 - w): the Jacobian is [[a, -a], [-a, a]], its norm 2a. To the last digits also where w
// is 1 in fp64.
TEST(Softness, OfTwoKeysMeetsItsClosedForm) {
  for (const double t : {0.0, 0.5, 3.0, 20.0, 40.0, 300.0}) {
    const double small = std::exp(-t) / (1 + std::exp(-t)), large = 1 / (1 + std::exp(-t));
    const Softness of = softness(std::vector<double>{1, 1 - t});
    EXPECT_NEAR(of.gradient / (2 * large * small), 1, 1e-12) << t;
    const double entropy = large * std::log1p(std::exp(-t)) + small * (t + std::log1p(std::exp(-t)));
    EXPECT_NEAR(of.entropy / entropy, 1, 1e-12) << t;
  }
}

TEST(Softness, IsSaturatedWhereOneWeightIsNearlyAll) {
  for (const double weight : {0.5, 0.989, 0.991, 1 - 1e-12}) {
    const std::vector<double> scores = {0, std::log(weight / (1 - weight))};
    EXPECT_EQ(softness(scores).saturated, weight > 0.99) << weight;
  }
}

TEST(Softness, MeetsTheDefinitionsOnDrawnRows) {
  NormalNumbers draw(5);
  for (const double spread : {0.1, 1.0, 5.0}) {
    std::vector<double> scores(33);
    for (double& score : scores) score = spread * draw();
    const Softness of = softness(scores), expected = plain_softness(scores);
    EXPECT_NEAR(of.entropy, expected.entropy, 1e-12);
    EXPECT_NEAR(of.gradient, expected.gradient, 1e-12);
  }
}

// A dot of two vectors from N(0, 1) has the mean 0 and the variance d. Scores of variance 1 over many keys: ln n - 1/2.
TEST(DrawnScaleSums, MeetWhatTheorySays) {
  for (const std::int64_t d : {4, 64, 512}) {
    NormalNumbers draw(7);
    const ScaleSums sums = drawn_scale_sums(d, 64, 16, draw);
    EXPECT_EQ(sums.rows, 1024);
    EXPECT_NEAR(sums.variance() / static_cast<double>(d), 1, 0.1) << d;
    EXPECT_NEAR(sums.dot / sums.dots / std::sqrt(static_cast<double>(d)), 0, 0.05) << d;
  }
  NormalNumbers draw(8);
  EXPECT_NEAR(drawn_scale_sums(512, 64, 16, draw).mean().scaled.entropy, std::log(64.0) - 0.5, 0.05);
}

TEST(NormalNumbers, HaveMeanVarianceAndTheSeedsBits) {
  NormalNumbers draw(3), again(3), other(4);
  double sum = 0, square = 0, fourth = 0;
  bool differs = false;
  constexpr int kCount = 100'000;
  for (int i = 0; i < kCount; ++i) {
    const double x = draw();
    EXPECT_EQ(x, again());
    differs = differs || x != other();
    sum += x;
    square += x * x;
    fourth += x * x * x * x;
  }
  EXPECT_TRUE(differs);
  EXPECT_NEAR(sum / kCount, 0, 0.02);
  EXPECT_NEAR(square / kCount, 1, 0.02);
  EXPECT_NEAR(fourth / kCount, 3, 0.1);
}

// A head of a causal problem with two heads, against dots and softmax in fp64.
TEST(HeadScaleSums, MeetPlainLoops) {
  constexpr std::int64_t kRows = 20, kWidth = 8;
  std::vector<float> q(2 * kRows * kWidth), k(q.size());
  NormalNumbers draw(9);
  draw.fill(std::span(q));
  draw.fill(std::span(k));
  AttentionProblem problem;
  problem.q = dense_view(q.data(), {1, 2, kRows, kWidth});
  problem.k = dense_view(k.data(), {1, 2, kRows, kWidth});
  problem.v = problem.k;
  problem.causal = true;
  Softness scaled, plain;
  for (const std::size_t row : {4u, 9u, 14u, 19u}) {  // 4 of 20 rows, the last one among them
    std::vector<double> with, without;
    for (std::size_t key = 0; key <= row; ++key) {
      double dot = 0;
      for (std::size_t i = 0; i < kWidth; ++i) {
        dot += static_cast<double>(q[(kRows + row) * kWidth + i]) * k[(kRows + key) * kWidth + i];
      }
      without.push_back(dot);
      with.push_back(dot / std::sqrt(8.0));
    }
    scaled.entropy += plain_softness(with).entropy / 4;
    scaled.gradient += plain_softness(with).gradient / 4;
    plain.entropy += plain_softness(without).entropy / 4;
    plain.gradient += plain_softness(without).gradient / 4;
  }
  const ScaleSums mean = head_scale_sums(problem, 1, 4).mean();
  EXPECT_EQ(mean.rows, 4);
  EXPECT_NEAR(mean.scaled.entropy, scaled.entropy, 1e-5);
  EXPECT_NEAR(mean.scaled.gradient, scaled.gradient, 1e-5);
  EXPECT_NEAR(mean.plain.entropy, plain.entropy, 1e-5);
  EXPECT_NEAR(mean.plain.gradient, plain.gradient, 1e-5);
}

TEST(StudyScale, KeepsTheGradientOnlyWithTheScale) {
  const Study study = study_scale({});
  ASSERT_EQ(study.tables.size(), 1u);
  const std::vector<Column>& columns = study.tables[0].columns;
  ASSERT_EQ(columns.size(), 8u);
  EXPECT_EQ(columns[0].values, (std::vector<double>{4, 8, 16, 32, 64, 128, 256, 512, 1024}));
  for (std::size_t i = 0; i < columns[0].values.size(); ++i) {
    EXPECT_NEAR(columns[2].values[i], std::log(64.0) - 0.5, 0.15);  // as flat as theory has it
    if (i > 0) {
      EXPECT_LT(columns[3].values[i], columns[3].values[i - 1]);
    }
  }
  EXPECT_LT(columns[6].values.back(), 0.01);
  EXPECT_GT(columns[7].values.back(), 0.5);
  EXPECT_TRUE(study.complete);
  EXPECT_FALSE(study.charts.empty());
}

}  // namespace
}  // namespace sightline::analysis
