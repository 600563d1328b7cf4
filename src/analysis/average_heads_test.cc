#include "src/analysis/average_heads.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "src/analysis/map_testing.h"
#include "src/attention/reference.h"

namespace sightline::analysis {
namespace {

std::vector<bool> all_text(std::int64_t count) { return std::vector<bool>(static_cast<std::size_t>(count), true); }

TEST(AverageHeads, HeadsThatAgreeLoseNothing) {
  const TestMap map = TestMap::planted(3, 40, [](std::int64_t, std::int64_t row) { return (row * 7) % 40; });
  const AverageLoss loss = average_loss(map.problem, all_text(40));
  EXPECT_EQ(loss.rows, 40);
  EXPECT_NEAR(loss.divergence, 0, 1e-6);
  EXPECT_EQ(loss.same_top, 1);
  EXPECT_EQ(loss.top_on_text, 1);
  EXPECT_NEAR(loss.error, 0, 1e-6);
  EXPECT_GT(loss.even_error, 0.5);
}

// Heads that each look at a key of their own: ln H, the most there is. Of equal weights of the mean the first key is
// the top, which one head has.
TEST(AverageHeads, HeadsThatShareNothingLoseAllTheyCan) {
  for (const std::int64_t heads : {2, 5}) {
    TestMap map = TestMap::planted(heads, 20, [](std::int64_t head, std::int64_t) { return 3 + 2 * head; });
    // Head h reads h + 1 in its first column; by the mean each reads what its values say at all heads' keys.
    double output = 0, error = 0;
    for (std::int64_t head = 0; head < heads; ++head) {
      double mean = 0;
      for (std::int64_t key = 0; key < 20; ++key) {
        map.value(head, key, 0) = static_cast<float>(key == 3 + 2 * head ? head + 1 : 2 * key);
        map.value(head, key, 1) = map.value(head, key, 2) = 0;
      }
      for (std::int64_t other = 0; other < heads; ++other) mean += map.value(head, 3 + 2 * other, 0);
      mean /= static_cast<double>(heads);
      output += static_cast<double>((head + 1) * (head + 1));
      error += std::pow(mean - static_cast<double>(head + 1), 2);
    }
    const AverageLoss loss = average_loss(map.problem, all_text(20));
    EXPECT_NEAR(loss.divergence, std::log(static_cast<double>(heads)), 1e-5);
    EXPECT_NEAR(loss.same_top, 1.0 / static_cast<double>(heads), 1e-9);
    EXPECT_NEAR(loss.error, std::sqrt(error / output), 1e-5);
  }
}

TEST(AverageHeads, EvenHeadsAreWhatEvenLooksAre) {
  TestMap map = TestMap::planted(4, 30, [](std::int64_t, std::int64_t) { return -1; });
  map.problem.causal = true;
  const AverageLoss loss = average_loss(map.problem, all_text(30));
  EXPECT_NEAR(loss.divergence, 0, 1e-5);
  EXPECT_NEAR(loss.error, 0, 1e-5);
  EXPECT_NEAR(loss.even_error, 0, 1e-5);
}

TEST(AverageHeads, TopsOnTextAreCounted) {
  const TestMap map = TestMap::planted(2, 10, [](std::int64_t head, std::int64_t) { return head == 0 ? 0 : 4; });
  std::vector<bool> text = all_text(10);
  text[0] = false;
  const AverageLoss loss = average_loss(map.problem, text);
  EXPECT_EQ(loss.rows, 9);
  EXPECT_NEAR(loss.top_on_text, 0.5, 1e-12);
  EXPECT_TRUE(std::isnan(average_loss(map.problem, std::vector<bool>(10)).divergence));
}

// The definitions in plain fp64, from whole maps.
struct Expected {
  double divergence = 0, same_top = 0, error = 0, even_error = 0;
};

double information(double share) { return share > 0 ? -share * std::log(share) : 0; }

class Definition {
 public:
  Definition(const AttentionProblem& problem, const std::vector<bool>& text, const std::vector<float>& output)
      : problem_(problem), text_(text), output_(output), truth_(reference::attention(problem)) {}

  Expected run() {
    Expected expected;
    double norm = 0, error = 0, even_error = 0;
    std::int64_t rows = 0;
    for (std::int64_t row = 0; row < rows_; ++row) {
      if (!text_[static_cast<std::size_t>(row + keys_ - rows_)]) continue;
      ++rows;
      const std::vector<double> mean = mean_row(row), even = even_row(row);
      expected.divergence += divergence(row, mean);
      const auto top = std::max_element(mean.begin(), mean.end() - 1) - mean.begin();
      std::vector<double> own, by_mean, evenly;
      for (std::int64_t head = 0; head < heads_; ++head) {
        const std::vector<double> weights = row_of(head, row);
        expected.same_top += std::max_element(weights.begin(), weights.end() - 1) - weights.begin() == top;
        mix(head, weights, own);
        mix(head, mean, by_mean);
        mix(head, even, evenly);
      }
      norm += squared(own, {});
      error += squared(by_mean, own);
      even_error += squared(evenly, own);
    }
    expected.divergence /= static_cast<double>(rows);
    expected.same_top /= static_cast<double>(rows * heads_);
    expected.error = std::sqrt(error / norm);
    expected.even_error = std::sqrt(even_error / norm);
    return expected;
  }

 private:
  // Weights of the keys, and that of the sink behind them.
  std::vector<double> row_of(std::int64_t head, std::int64_t row) const {
    const auto first = truth_.weights.begin() + (head * rows_ + row) * keys_;
    std::vector<double> weights(first, first + keys_);
    weights.push_back(truth_.sink_weight[static_cast<std::size_t>(head * rows_ + row)]);
    return weights;
  }
  std::vector<double> mean_row(std::int64_t row) const {
    std::vector<double> mean(static_cast<std::size_t>(keys_ + 1));
    for (std::int64_t head = 0; head < heads_; ++head) {
      const std::vector<double> weights = row_of(head, row);
      for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += weights[i] / static_cast<double>(heads_);
    }
    return mean;
  }
  std::vector<double> even_row(std::int64_t row) const {
    std::vector<double> even(static_cast<std::size_t>(keys_ + 1));
    double seen = 0;
    for (std::int64_t key = 0; key < keys_; ++key) {
      const double score = truth_.scores[static_cast<std::size_t>(row * keys_ + key)];
      seen += even[static_cast<std::size_t>(key)] = std::isfinite(score) ? 1 : 0;
    }
    for (double& weight : even) weight /= seen;
    return even;
  }
  double divergence(std::int64_t row, const std::vector<double>& mean) const {
    double sum = 0;
    for (const double weight : mean) sum += information(weight);
    for (std::int64_t head = 0; head < heads_; ++head) {
      for (const double weight : row_of(head, row)) sum -= information(weight) / static_cast<double>(heads_);
    }
    return sum;
  }
  void mix(std::int64_t head, const std::vector<double>& weights, std::vector<double>& vectors) const {
    const std::int64_t kv = head / (heads_ / problem_.v.shape[1]), width = problem_.v.shape[3];
    for (std::int64_t d = 0; d < width; ++d) {
      double sum = 0;
      for (std::int64_t key = 0; key < keys_; ++key) {
        sum += weights[static_cast<std::size_t>(key)] *
               static_cast<const float*>(problem_.v.data)[(kv * keys_ + key) * width + d];
      }
      vectors.push_back(sum);
    }
  }
  // Of the layer's output for a - b; b may be empty.
  double squared(std::vector<double> a, const std::vector<double>& b) const {
    for (std::size_t i = 0; i < b.size(); ++i) a[i] -= b[i];
    double sum = 0;
    for (std::size_t out = 0; out < output_.size() / a.size(); ++out) {
      double value = 0;
      for (std::size_t i = 0; i < a.size(); ++i) value += output_[out * a.size() + i] * a[i];
      sum += value * value;
    }
    return sum;
  }

  const AttentionProblem& problem_;
  const std::vector<bool>& text_;
  const std::vector<float>& output_;
  reference::Result truth_;
  const std::int64_t heads_ = problem_.q.shape[1], rows_ = problem_.q.shape[2], keys_ = problem_.k.shape[2];
};

// Groups of heads, windows, causality, sinks, rows that are the last ones, an output matrix whose bias plays no part.
TEST(AverageHeads, MatchesItsDefinition) {
  const MapShape shape{4, 2, 75, 90};
  TestMap map(shape, 8, 11);
  const std::vector<float> sinks = {0.5f, 3, 2, 0};
  std::vector<bool> text = all_text(shape.keys);
  for (std::size_t i = 0; i < text.size(); i += 11) text[i] = false;
  constexpr std::int64_t kWidth = 10, kIn = 4 * TestMap::kValueWidth;
  std::vector<float> matrix(kWidth * kIn), bias(kWidth, 100);
  NormalNumbers(4).fill(std::span(matrix));
  const ops::Linear output{{reinterpret_cast<const std::byte*>(matrix.data()), DType::f32, kWidth, kIn}, bias.data()};
  for (int variant = 0; variant < 4; ++variant) {
    map.problem.causal = variant % 2 == 1;
    map.problem.window_left = variant == 2 ? 20 : -1;
    map.problem.sinks = variant == 3 ? std::span(sinks) : std::span<const float>();
    const Expected expected = Definition(map.problem, text, matrix).run();
    const AverageLoss loss = average_loss(map.problem, text, {.output = &output, .threads = 2});
    EXPECT_NEAR(loss.divergence, expected.divergence, 1e-5) << variant;
    EXPECT_NEAR(loss.same_top, expected.same_top, 1e-9) << variant;
    EXPECT_NEAR(loss.error, expected.error, 1e-5) << variant;
    EXPECT_NEAR(loss.even_error, expected.even_error, 1e-5) << variant;
    EXPECT_GT(loss.divergence, 0.05);
    const AverageLoss again = average_loss(map.problem, text, {.output = &output, .threads = 7});
    EXPECT_EQ(loss.divergence, again.divergence);
    EXPECT_EQ(loss.error, again.error);
  }
}

}  // namespace
}  // namespace sightline::analysis
