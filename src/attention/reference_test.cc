// Expected values here are worked out by hand: with D = 1, scale 1 and query 1 a score is the key itself, and keys that
// are logarithms of small integers give weights that are simple fractions.
#include "src/attention/reference.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace sightline {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// One head, one sequence, D = Dv = 1. Views point into it: not to be moved.
struct Scalars {
  std::vector<float> q, k, v;
  AttentionProblem problem;

  Scalars(std::vector<float> queries, std::vector<float> keys, std::vector<float> values)
      : q(std::move(queries)), k(std::move(keys)), v(std::move(values)) {
    problem.q = view(q);
    problem.k = view(k);
    problem.v = view(v);
    problem.scale = 1.0f;
  }
  Scalars(const Scalars&) = delete;

  static TensorView view(const std::vector<float>& values) {
    return dense_view(values.data(), {1, 1, static_cast<std::int64_t>(values.size()), 1});
  }
};

void expect_near(const std::vector<double>& got, const std::vector<double>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (std::isinf(expected[i])) {
      EXPECT_EQ(got[i], expected[i]) << "element " << i;
    } else {
      EXPECT_NEAR(got[i], expected[i], 1e-6 * std::max(1.0, std::abs(expected[i]))) << "element " << i;
    }
  }
}

float ln(double x) { return static_cast<float>(std::log(x)); }

TEST(Reference, FourStepsOnFractions) {
  Scalars s({1}, {ln(1), ln(2), ln(5)}, {8, 16, 0});
  const auto r = reference::attention(s.problem);
  expect_near(r.weights, {0.125, 0.25, 0.625});
  expect_near(r.out, {5});
  expect_near(r.row_max, {std::log(5)});
  expect_near(r.row_sum, {1.6});
  expect_near(r.lse, {std::log(8)});
  expect_near(r.entropy, {-0.125 * std::log(0.125) - 0.25 * std::log(0.25) - 0.625 * std::log(0.625)});
  expect_near(r.position, {0.25 + 2 * 0.625});
  expect_near(r.distance, {2 * 0.125 + 0.25});  // one query: bottom right puts it at key 2
}

TEST(Reference, DefaultScaleIsOneOverRootOfTheWidth) {
  const std::vector<float> q{1, 1, 1, 1}, k{1, 1, 1, 1, 0, 0, 0, 0}, v{1, 0};
  AttentionProblem p;
  p.q = dense_view(q.data(), {1, 1, 1, 4});
  p.k = dense_view(k.data(), {1, 1, 2, 4});
  p.v = dense_view(v.data(), {1, 1, 2, 1});
  expect_near(reference::attention(p).scores, {2, 0});
}

TEST(Reference, CausalAlignments) {
  Scalars s({0, 0}, {0, 0, 0}, {0, 0, 0});
  s.problem.causal = true;
  expect_near(reference::attention(s.problem).weights, {0.5, 0.5, 0, 1. / 3, 1. / 3, 1. / 3});
  s.problem.alignment = Alignment::top_left;
  expect_near(reference::attention(s.problem).weights, {1, 0, 0, 0.5, 0.5, 0});
}

TEST(Reference, PositionsAndKeyCountsOfASequence) {
  Scalars s({0, 0}, {0, 0, 0, 0}, {1, 2, 4, kNan});
  s.problem.causal = true;
  const std::vector<SequenceSpan> spans{{3, 10, 11}};  // keys at 10, 11, 12; queries at 11, 12
  s.problem.sequences = spans;
  const auto r = reference::attention(s.problem);
  expect_near(r.weights, {0.5, 0.5, 0, 0, 1. / 3, 1. / 3, 1. / 3, 0});
  expect_near(r.out, {1.5, 7. / 3});
  expect_near(r.position, {10.5, 11});
  expect_near(r.distance, {0.5, 1});
}

TEST(Reference, BottomRightCountsFromTheKeysInUse) {
  Scalars s({0, 0}, {0, 0, 0, 0}, {0, 0, 0, 0});
  s.problem.causal = true;
  const std::vector<SequenceSpan> spans{{2, 0, {}}};
  s.problem.sequences = spans;
  expect_near(reference::attention(s.problem).weights, {1, 0, 0, 0, 0.5, 0.5, 0, 0});
}

TEST(Reference, WindowCountsKeysOnEachSide) {
  Scalars s({0, 0, 0}, {0, 0, 0}, {0, 0, 0});
  s.problem.window_left = 1;
  s.problem.window_right = 0;
  expect_near(reference::attention(s.problem).weights, {1, 0, 0, 0.5, 0.5, 0, 0, 0.5, 0.5});
}

TEST(Reference, SoftcapThenBiasThenAlibi) {
  Scalars s({1}, {3, -1}, {0, 0});
  const std::vector<float> bias{0.5f, 0.25f}, slopes{0.125f};
  s.problem.softcap = 2;
  s.problem.bias = dense_view(bias.data(), {1, 1, 1, 2});
  s.problem.alibi_slopes = slopes;
  // The query stands at key 1.
  expect_near(reference::attention(s.problem).scores, {2 * std::tanh(1.5) + 0.5 - 0.125, 2 * std::tanh(-0.5) + 0.25});
}

TEST(Reference, SinkJoinsTheDenominatorAlone) {
  Scalars s({1}, {ln(1), ln(2)}, {4, 8});
  const std::vector<float> sinks{ln(5)};
  s.problem.sinks = sinks;
  const auto r = reference::attention(s.problem);
  expect_near(r.weights, {0.125, 0.25});
  expect_near(r.out, {2.5});
  expect_near(r.lse, {std::log(8)});
  expect_near(r.row_max, {std::log(2)});  // the state leaves the sink out
  expect_near(r.row_sum, {1.5});
  expect_near(r.entropy, {-0.125 * std::log(0.125) - 0.25 * std::log(0.25)});
  expect_near(r.position, {2. / 3});  // relative to the weight on keys
}

TEST(Reference, RowWithoutVisibleKey) {
  Scalars s({1, 1}, {0, 1}, {kNan, 3});
  const std::uint8_t mask[] = {0, 0, 0, 1};
  s.problem.mask = {mask, DType::boolean, {1, 1, 2, 2}, {4, 4, 2, 1}};
  const auto r = reference::attention(s.problem);
  expect_near(r.out, {0, 3});
  expect_near(r.weights, {0, 0, 0, 1});
  expect_near(r.row_max, {-kInf, 1});
  expect_near(r.row_sum, {0, 1});
  expect_near(r.lse, {-kInf, 1});
  expect_near(r.entropy, {0, 0});
  const std::vector<float> sinks{0.5f};
  s.problem.sinks = sinks;
  EXPECT_EQ(reference::attention(s.problem).lse[0], 0.5);
  EXPECT_EQ(reference::attention(s.problem).out[0], 0);
}

TEST(Reference, BiasOfMinusInfinityHidesAndLowestFloatDoesNot) {
  constexpr float kLowest = std::numeric_limits<float>::lowest();
  Scalars s({1, 1}, {1, 2}, {2, 4});
  const std::vector<float> bias{-kInf, 0, kLowest, kLowest};
  s.problem.bias = dense_view(bias.data(), {1, 1, 2, 2});
  const auto r = reference::attention(s.problem);
  expect_near(r.weights, {0, 1, 0.5, 0.5});
  expect_near(r.out, {4, 3});
}

TEST(Reference, HiddenNanIsNeverReadAndVisibleNanStaysInItsRows) {
  Scalars s({1, 1, 1}, {1, kNan, 2}, {1, kInf, 1});
  s.problem.causal = true;
  const auto r = reference::attention(s.problem);
  EXPECT_EQ(r.out[0], 1);
  EXPECT_TRUE(std::isnan(r.out[1]));
  EXPECT_TRUE(std::isnan(r.lse[2]));
  const std::uint8_t mask[] = {1, 0, 1};
  s.problem.mask = {mask, DType::boolean, {1, 1, 1, 3}, {0, 0, 0, 1}};
  const auto masked = reference::attention(s.problem);
  expect_near(masked.out, {1, 1, 1});
}

TEST(Reference, VisibleInfiniteScoreGivesANanRow) {
  Scalars s({1}, {kInf, 0}, {1, 1});
  EXPECT_TRUE(std::isnan(reference::attention(s.problem).out[0]));
}

TEST(Reference, GroupedHeadsRepeatEachKeyHead) {
  const std::vector<float> q(4, 1), k{0, 0}, v{1, 2};
  AttentionProblem p;
  p.q = dense_view(q.data(), {1, 4, 1, 1});
  p.k = dense_view(k.data(), {1, 2, 1, 1});
  p.v = dense_view(v.data(), {1, 2, 1, 1});
  expect_near(reference::attention(p).out, {1, 1, 2, 2});
}

TEST(Reference, NegativeStridesAndHalfPrecisionInputs) {
  const std::uint16_t halves[] = {0x4400, 0x4000, 0x3C00};  // 4, 2, 1 in binary16, read backwards: 1, 2, 4
  Scalars s({0}, {0, 0, 0}, {0, 0, 0});
  const std::uint8_t mask[] = {1, 0, 1};
  s.problem.v = {halves + 2, DType::f16, {1, 1, 3, 1}, {0, 0, -1, 1}};
  s.problem.mask = {mask, DType::boolean, {1, 1, 1, 3}, {0, 0, 0, 1}};
  expect_near(reference::attention(s.problem).out, {2.5});
  const std::uint16_t brains[] = {0x3F80, 0x4000, 0x4080};  // 1, 2, 4 in bfloat16
  s.problem.v = {brains, DType::bf16, {1, 1, 3, 1}, {0, 0, 1, 1}};
  expect_near(reference::attention(s.problem).out, {2.5});
}

}  // namespace
}  // namespace sightline
