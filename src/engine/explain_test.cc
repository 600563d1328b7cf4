#include "src/engine/explain.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "sightline/error.h"
#include "src/engine/look_data.h"
#include "src/engine/session.h"
#include "src/engine/testing.h"

namespace sightline::engine {
namespace {

const Look& tiny_look() {
  static const Look look = Session::open(testing::tiny_model()).look(testing::kTired);
  return look;
}

// Row `token` of one head, step by step, from the stored q, k and v.
struct ByHand {
  std::vector<double> dots, weights, output;

  ByHand(const Look& look, std::int64_t token, const MapId& id, double scale) {
    const AttentionProblem& problem = look.data().layer_of(id).stored.problem();
    const auto [batch, heads, n, width] = problem.q.shape;
    const auto at = [&, n = n, width = width](const TensorView& view, std::int64_t row) {
      return static_cast<const float*>(view.data) + ((id.head - 1) * n + row) * width;
    };
    double sum = 0;
    for (std::int64_t j = 0; j < n; ++j) {
      double dot = 0;
      for (std::int64_t d = 0; d < width; ++d) dot += double{at(problem.q, token)[d]} * at(problem.k, j)[d];
      dots.push_back(dot);
      weights.push_back(std::exp(dot * scale));
      sum += weights.back();
    }
    output.resize(static_cast<std::size_t>(width));
    for (std::int64_t j = 0; j < n; ++j) {
      weights[static_cast<std::size_t>(j)] /= sum;
      for (std::int64_t d = 0; d < width; ++d) {
        output[static_cast<std::size_t>(d)] += weights[static_cast<std::size_t>(j)] * at(problem.v, j)[d];
      }
    }
  }
};

// The vectors are those from which dots and contributions follow.
void expect_vectors(const Look& look, const Explanation& row) {
  ASSERT_EQ(row.key_vectors.size(), row.keys.size() * 8);
  ASSERT_EQ(row.value_vectors.size(), row.keys.size() * 8);
  for (std::size_t j = 0; j < row.keys.size(); ++j) {
    double dot = 0;
    for (std::size_t d = 0; d < 8; ++d) {
      dot += row.query[d] * row.key_vectors[j * 8 + d];
      EXPECT_DOUBLE_EQ(row.contributions[j * 8 + d], row.keys[j].weight * row.value_vectors[j * 8 + d]);
    }
    EXPECT_DOUBLE_EQ(row.keys[j].dot, dot);
  }
  const AttentionProblem& problem = look.data().layer_of(row.map).stored.problem();
  const auto of_head = [&](const TensorView& view) {
    return std::span(static_cast<const float*>(view.data) + (row.map.head - 1) * std::int64_t(row.key_vectors.size()),
                     row.key_vectors.size());
  };
  EXPECT_TRUE(std::ranges::equal(of_head(problem.k), row.key_vectors));
  EXPECT_TRUE(std::ranges::equal(of_head(problem.v), row.value_vectors));
}

void expect_steps(const MapId& id, bool scale) {
  constexpr std::int64_t kToken = 10;  // "it"
  const Look& look = tiny_look();
  const double factor = scale ? 1 / std::sqrt(8.0) : 1;
  const ByHand hand(look, kToken, id, factor);
  const Explanation row = explain(look, kToken, id, scale);
  EXPECT_EQ(row.map, id);
  EXPECT_EQ(row.scaled, scale);
  EXPECT_DOUBLE_EQ(row.scale, factor);
  ASSERT_EQ(row.keys.size(), hand.dots.size());
  ASSERT_EQ(row.contributions.size(), row.keys.size() * 8);
  expect_vectors(look, row);
  double entropy = 0, largest = 0;
  std::vector<double> sum(8);
  for (std::size_t j = 0; j < row.keys.size(); ++j) {
    EXPECT_NEAR(row.keys[j].dot, hand.dots[j], 1e-12);
    EXPECT_NEAR(row.keys[j].score, hand.dots[j] * factor, 1e-12);
    EXPECT_NEAR(row.keys[j].weight, hand.weights[j], 1e-12);
    EXPECT_NEAR(row.keys[j].contribution_norm, row.keys[j].weight * row.keys[j].value_norm, 1e-12);
    for (std::size_t d = 0; d < 8; ++d) sum[d] += row.contributions[j * 8 + d];
    entropy -= hand.weights[j] * std::log(hand.weights[j]);
    largest = std::max(largest, hand.weights[j]);
  }
  for (std::size_t d = 0; d < 8; ++d) {
    EXPECT_NEAR(row.output[d], hand.output[d], 1e-12);
    EXPECT_NEAR(row.output[d], sum[d], 1e-12);
  }
  const Peak& peak = scale ? row.with_scale : row.without_scale;
  EXPECT_NEAR(peak.entropy, entropy, 1e-12);
  EXPECT_NEAR(peak.max_weight, largest, 1e-12);
  EXPECT_LT(row.weight_difference, 1e-5);
  EXPECT_LT(row.output_difference, 1e-5);
  EXPECT_GT(row.weight_difference + row.output_difference, 0) << "fp32 that equals fp64 was not compared";
}

TEST(Explain, TakesTheFourSteps) {
  for (const MapId& id : tiny_look().maps()) {
    expect_steps(id, true);
    expect_steps(id, false);
  }
}

TEST(Explain, ShowsWhatTheDivisionDoes) {
  for (const MapId& id : tiny_look().maps()) {
    const Explanation row = explain(tiny_look(), 2, id, true);
    EXPECT_GT(row.without_scale.max_weight, row.with_scale.max_weight);
    EXPECT_LT(row.without_scale.entropy, row.with_scale.entropy);
    const Explanation same = explain(tiny_look(), 2, id, false);
    EXPECT_EQ(same.with_scale.entropy, row.with_scale.entropy);
    EXPECT_EQ(same.without_scale.max_weight, row.without_scale.max_weight);
  }
}

TEST(Explain, ComparesWithTheKernelOfThePass) {
  // One row alone has the bits that the whole pass gave: its weights are those of the tile.
  const Look& look = tiny_look();
  const auto n = static_cast<std::int64_t>(look.tokens().size());
  for (const MapId& id : look.maps()) {
    for (const std::int64_t token : {0, 7, 15}) {
      const Explanation row = explain(look, token, id, true);
      const std::vector<float> tile = look.tile(id, {0, 0, token, token + 1, 0, n}, Stage::weights);
      double largest = 0;
      for (std::size_t j = 0; j < tile.size(); ++j) largest = std::max(largest, std::abs(tile[j] - row.keys[j].weight));
      EXPECT_EQ(row.weight_difference, largest) << map_name(id);
    }
  }
}

TEST(Explain, RefusesWhatIsNotThere) {
  EXPECT_THROW(explain(tiny_look(), 16, {1, 1}, true), BadArgument);
  EXPECT_THROW(explain(tiny_look(), -1, {1, 1}, true), BadArgument);
  EXPECT_THROW(explain(tiny_look(), 0, {9, 1}, true), BadArgument);
}

}  // namespace
}  // namespace sightline::engine
