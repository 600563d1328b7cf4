#include "src/analysis/reach.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "sightline/error.h"
#include "src/analysis/map_testing.h"
#include "src/attention/reference.h"

namespace sightline::analysis {
namespace {

std::vector<bool> all_text(std::int64_t count) { return std::vector<bool>(static_cast<std::size_t>(count), true); }

// A head that looks at a fixed offset reaches just that far; rows that have no such key look at themselves.
TEST(Reach, FixedOffsetsReachThatFar) {
  constexpr std::int64_t kOffsetOf[] = {0, 1, -1, 5, -7};
  const TestMap map = TestMap::planted(5, 100, [&](std::int64_t head, std::int64_t row) {
    const std::int64_t key = row + kOffsetOf[head];
    return key >= 0 && key < 100 ? key : row;
  });
  const std::vector<Reach> reach = layer_reach(map.problem, all_text(100), 2, nullptr);
  for (std::size_t head = 0; head < 5; ++head) {
    const auto offset = static_cast<double>(std::abs(kOffsetOf[head]));
    const Distances& all = reach[head].all;
    EXPECT_EQ(reach[head].rows, 100);
    EXPECT_NEAR(all.total(), 100, 1e-4);
    EXPECT_EQ(all.within(0.5), offset);
    EXPECT_EQ(all.within(0.9), offset);
    EXPECT_EQ(all.within(0.99), offset);
    EXPECT_NEAR(all.mean(), offset * (100 - offset) / 100, 1e-5);
    EXPECT_NEAR(all.share(std::abs(kOffsetOf[head])), 1, 1e-6);
  }
}

// Of n even keys, all visible, the mean distance is (n^2 - 1) / 3n; of a causal row i it is i / 2.
TEST(Reach, EvenRowsAreClosedForms) {
  constexpr std::int64_t kCount = 90;
  TestMap map = TestMap::planted(1, kCount, [](std::int64_t, std::int64_t) { return -1; });
  const auto n = static_cast<double>(kCount);
  EXPECT_NEAR(layer_reach(map.problem, all_text(kCount), 1, nullptr)[0].all.mean(), (n * n - 1) / (3 * n), 1e-4);
  map.problem.causal = true;
  const Distances causal = layer_reach(map.problem, all_text(kCount), 1, nullptr)[0].all;
  EXPECT_NEAR(causal.mean(), (n - 1) / 4, 1e-4);
  for (const std::int64_t distance : {0, 3, 40, 89}) {
    double within = 0;
    for (std::int64_t i = 0; i < kCount; ++i) {
      within += std::min(1.0, static_cast<double>(distance + 1) / static_cast<double>(i + 1)) / n;
    }
    EXPECT_NEAR(causal.share(distance), within, 1e-6);
  }
  map.problem.window_left = 4;
  const Distances window = layer_reach(map.problem, all_text(kCount), 1, nullptr)[0].all;
  EXPECT_NEAR(window.mean(), (0 + 0.5 + 1 + 1.5 + 2 * (n - 4)) / n, 1e-5);
  EXPECT_EQ(window.within(0.99), 4);
  EXPECT_EQ(window.share(3) < 1, true);
}

// What is not text is not asked, and its keys count among all but not among text.
TEST(Reach, TextAloneLeavesTheSinkOut) {
  // Row i gives the first key all, but every fifth row its predecessor.
  const TestMap map =
      TestMap::planted(1, 60, [](std::int64_t, std::int64_t row) { return row % 5 == 4 ? row - 1 : std::int64_t{0}; });
  std::vector<bool> text = all_text(60);
  text[0] = text[59] = false;
  const Reach reach = layer_reach(map.problem, text, 1, nullptr)[0];
  EXPECT_EQ(reach.rows, 58);
  EXPECT_NEAR(reach.text.total(), 11, 1e-5);  // rows 4, 9, .. 54
  EXPECT_EQ(reach.text.within(0.99), 1);
  EXPECT_NEAR(reach.all.total(), 58, 1e-5);
  EXPECT_GT(reach.all.within(0.9), 40);
  const Reach none = layer_reach(map.problem, std::vector<bool>(60), 1, nullptr)[0];
  EXPECT_EQ(none.rows, 0);
  EXPECT_TRUE(std::isnan(none.all.mean()));
  EXPECT_TRUE(std::isnan(none.text.within(0.5)));
  EXPECT_TRUE(std::isnan(none.text.share(3)));
}

// Against fp64 attention that holds the whole map: groups of heads, windows, sinks, rows that are the last ones.
TEST(Reach, MatchesReferenceMaps) {
  const MapShape shape{4, 2, 150, 190};
  TestMap map(shape, 16, 3);
  const std::vector<float> sinks = {0.5f, -1, 2, 0};
  std::vector<bool> text = all_text(shape.keys);
  for (std::size_t i = 0; i < text.size(); i += 7) text[i] = false;
  for (int variant = 0; variant < 6; ++variant) {
    map.problem.causal = variant % 2 == 1;
    map.problem.window_left = variant >= 2 ? 20 : -1;
    map.problem.window_right = variant == 2 ? 30 : -1;
    map.problem.softcap = variant == 3 ? 5 : 0;
    map.problem.sinks = variant >= 4 ? std::span(sinks) : std::span<const float>();
    const reference::Result truth = reference::attention(map.problem);
    const std::vector<Reach> reach = layer_reach(map.problem, text, 2, nullptr);
    for (std::int64_t head = 0; head < shape.heads; ++head) {
      std::vector<double> all(static_cast<std::size_t>(shape.keys)), of_text(all.size());
      for (std::int64_t row = 0; row < shape.rows; ++row) {
        const std::int64_t position = row + shape.keys - shape.rows;
        if (!text[static_cast<std::size_t>(position)]) continue;
        for (std::int64_t key = 0; key < shape.keys; ++key) {
          const double weight = truth.weights[static_cast<std::size_t>((head * shape.rows + row) * shape.keys + key)];
          all[static_cast<std::size_t>(std::abs(key - position))] += weight;
          if (text[static_cast<std::size_t>(key)])
            of_text[static_cast<std::size_t>(std::abs(key - position))] += weight;
        }
      }
      for (std::size_t d = 0; d < all.size(); ++d) {
        ASSERT_NEAR(reach[static_cast<std::size_t>(head)].all.weight[d], all[d], 2e-5) << variant << " " << d;
        ASSERT_NEAR(reach[static_cast<std::size_t>(head)].text.weight[d], of_text[d], 2e-5) << variant << " " << d;
      }
    }
  }
}

TEST(Reach, EvenReachSeesWhatTheLayerSees) {
  TestMap map({2, 1, 70, 70}, 8, 5);
  map.problem.causal = true;
  map.problem.window_left = 9;
  const std::vector<float> sinks = {3, 4};
  map.problem.sinks = sinks;
  TestMap even = TestMap::planted(1, 70, [](std::int64_t, std::int64_t) { return -1; });
  even.problem.causal = true;
  even.problem.window_left = 9;
  const Reach expected = layer_reach(even.problem, all_text(70), 1, nullptr)[0];
  const Reach found = even_reach(map.problem, all_text(70), 1, nullptr);
  for (std::size_t d = 0; d < 70; ++d) EXPECT_NEAR(found.all.weight[d], expected.all.weight[d], 1e-5);
}

TEST(Reach, ThreadsDoNotChangeBits) {
  const TestMap map({6, 3, 200, 200}, 16, 7);
  const std::vector<Reach> one = layer_reach(map.problem, all_text(200), 1, nullptr);
  const std::vector<Reach> many = layer_reach(map.problem, all_text(200), 5, nullptr);
  for (std::size_t head = 0; head < 6; ++head) EXPECT_EQ(one[head].all.weight, many[head].all.weight);
}

// Told of each tile once, and stopped where the caller says so.
class StopAt : public Progress {
 public:
  explicit StopAt(std::int64_t at) : at_(at) {}
  bool advance(std::int64_t done, std::int64_t total) override {
    EXPECT_EQ(done, ++calls);
    EXPECT_LE(done, total);
    last_total = total;
    return done < at_;
  }
  std::int64_t calls = 0, last_total = 0;

 private:
  std::int64_t at_;
};

TEST(Reach, TellsOfTilesAndStops) {
  const TestMap map({2, 2, 500, 500}, 8, 9);
  StopAt never(1'000'000);
  layer_reach(map.problem, all_text(500), 2, &never);
  EXPECT_EQ(never.calls, never.last_total);
  EXPECT_GT(never.calls, 4);
  StopAt third(3);
  EXPECT_THROW(layer_reach(map.problem, all_text(500), 2, &third), Cancelled);
  EXPECT_EQ(third.calls, 3);
}

}  // namespace
}  // namespace sightline::analysis
