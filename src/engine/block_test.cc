#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "sightline/error.h"
#include "src/attention/reference.h"
#include "src/engine/layer_testing.h"
#include "src/engine/look.h"

namespace sightline::engine {
namespace {

using testing::RandomLayer;

struct Range {
  std::int64_t begin, end;
};

BlockRequest request_of(std::vector<MapId> maps, Range rows, Range keys, std::int64_t step) {
  BlockRequest request;
  request.maps = std::move(maps);
  request.row_begin = rows.begin;
  request.row_end = rows.end;
  request.key_begin = keys.begin;
  request.key_end = keys.end;
  request.step = step;
  return request;
}

// Means of a whole map [n, n], cell by cell: what block() promises.
std::vector<double> pooled(std::span<const double> map, std::int64_t n, const BlockRequest& request) {
  std::vector<double> cells;
  for (std::int64_t r = request.row_begin; r < request.row_end; r += request.step) {
    for (std::int64_t c = request.key_begin; c < request.key_end; c += request.step) {
      double sum = 0;
      std::int64_t count = 0;
      for (std::int64_t i = r; i < std::min(r + request.step, request.row_end); ++i) {
        for (std::int64_t j = c; j < std::min(c + request.step, request.key_end); ++j, ++count) {
          sum += map[static_cast<std::size_t>(i * n + j)];
        }
      }
      cells.push_back(sum / static_cast<double>(count));
    }
  }
  return cells;
}

// 1e-5 of a cell: scores in fp32 are good to some 1e-6, and so are weights.
void expect_cells(std::span<const float> cells, std::span<const double> expected, const std::string& what) {
  ASSERT_EQ(cells.size(), expected.size()) << what;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    ASSERT_NEAR(cells[i], expected[i], 1e-5 * expected[i] + 1e-12) << what << ", cell " << i;
  }
}

std::string named(const BlockRequest& r) {
  return "rows " + std::to_string(r.row_begin) + ":" + std::to_string(r.row_end) + ", keys " +
         std::to_string(r.key_begin) + ":" + std::to_string(r.key_end) + " by " + std::to_string(r.step);
}

TEST(Block, OfStepOneHasTheBitsOfATile) {
  const RandomLayer layer(2, 1, 700, 8);
  const Look look = layer.look();
  for (const Range rows : {Range{0, 700}, Range{3, 4}, Range{47, 301}}) {
    for (const Range keys : {Range{0, 700}, Range{699, 700}, Range{100, 229}}) {
      const TileRange range{0, 0, rows.begin, rows.end, keys.begin, keys.end};
      EXPECT_EQ(look.block(request_of({{1, 2}}, rows, keys, 1)), look.tile({1, 2}, range, Stage::weights));
    }
  }
}

// Short texts and long ones, whose pyramid has steps of 16; whole maps, ragged ranges, and those that the pyramid has.
TEST(Block, PoolsTheWeightsOfTheReference) {
  for (const std::int64_t n : {1, 2, 100, 513, 700}) {
    for (const bool causal : {false, true}) {
      RandomLayer layer(2, 1, n, 8);
      layer.problem.causal = causal;
      const Look look = layer.look();
      EXPECT_EQ(look.pyramid_step(), n > 512 ? 16 : 0);
      const std::vector<double> weights = reference::attention(layer.problem).weights;
      const std::span<const double> map = std::span(weights).subspan(static_cast<std::size_t>(n * n));
      const auto inside = [n](std::int64_t at) { return std::min(at, n - 1); };
      for (std::int64_t step = 1; step <= 1024; step *= 2) {
        for (const Range rows : {Range{0, n}, Range{inside(5), n}, Range{inside(64), std::min<std::int64_t>(n, 320)}}) {
          for (const Range keys : {Range{0, n}, Range{inside(33), inside(34) + 1}, Range{inside(256), n}}) {
            const BlockRequest request = request_of({{1, 2}}, rows, keys, step);
            expect_cells(look.block(request), pooled(map, n, request), named(request));
          }
        }
      }
    }
  }
}

// The whole map by tiles, in fp64.
std::vector<double> map_of(const Look& look, const MapId& id, std::int64_t n) {
  std::vector<double> map;
  for (std::int64_t row = 0; row < n; row += 512) {
    const auto tile = look.tile(id, {0, 0, row, std::min(row + 512, n), 0, n}, Stage::weights);
    map.insert(map.end(), tile.begin(), tile.end());
  }
  return map;
}

TEST(Block, OfAPyramidAgreesWithTheFoldOfTheTiles) {
  constexpr std::int64_t kTokens = 4097 + 64;  // 65 whole cells of 64, and one token
  for (const bool causal : {false, true}) {
    RandomLayer layer(1, 1, kTokens, 4);
    layer.problem.causal = causal;
    const Look look = layer.look();
    ASSERT_EQ(look.pyramid_step(), 64);
    const std::vector<double> map = map_of(look, {1, 1}, kTokens);
    for (std::int64_t step = 64; step <= 8192; step *= 2) {
      for (const Range rows : {Range{0, kTokens}, Range{128, 1024 + 64}, Range{4096, kTokens}}) {
        const BlockRequest request = request_of({{1, 1}}, rows, {64, kTokens}, step);
        expect_cells(look.block(request), pooled(map, kTokens, request), named(request));
      }
    }
  }
}

TEST(Block, OfSeveralMapsComesInTheirOrder) {
  const RandomLayer layer(3, 3, 600, 8);
  const Look look = layer.look();
  for (const std::int64_t step : {1, 8, 16, 64}) {
    const auto one = [&](int head) { return look.block(request_of({{1, head}}, {64, 600}, {0, 512}, step)); };
    const BlockRequest request = request_of({{1, 3}, {1, 1}, {1, 3}}, {64, 600}, {0, 512}, step);
    std::vector<float> expected = one(3);
    for (const int head : {1, 3}) {
      const std::vector<float> part = one(head);
      expected.insert(expected.end(), part.begin(), part.end());
    }
    EXPECT_EQ(look.block(request), expected);
    EXPECT_EQ(static_cast<std::int64_t>(expected.size()), request.blocks() * request.rows() * request.cols());
  }
}

TEST(Block, OfAMeanIsTheMeanOfTheMaps) {
  const RandomLayer layer(3, 1, 600, 8);
  const Look look = layer.look();
  for (const std::int64_t step : {1, 8, 16, 64}) {
    BlockRequest request = request_of({{1, 1}, {1, 2}, {1, 3}}, {64, 600}, {0, 512}, step);
    const std::vector<float> each = look.block(request);
    request.mean = true;
    const std::vector<float> mean = look.block(request);
    ASSERT_EQ(mean.size() * 3, each.size());
    EXPECT_EQ(request.blocks(), 1);
    std::vector<double> expected(mean.size());
    for (std::size_t i = 0; i < each.size(); ++i) expected[i % mean.size()] += each[i] / 3.0;
    expect_cells(mean, expected, "mean by " + std::to_string(step));
  }
}

TEST(Block, IsTheSameOnOneThreadAndOnTwo) {
  const RandomLayer layer(2, 2, 700, 8);
  for (const std::int64_t step : {1, 4, 32}) {
    const BlockRequest request = request_of({{1, 1}, {1, 2}}, {0, 700}, {0, 700}, step);
    EXPECT_EQ(layer.look(1).block(request), layer.look(2).block(request));
  }
}

// A query of NaN makes NaN of its row, and of the cells that hold it.
TEST(Block, OfARowOfNaNIsNaNWhereTheRowIs) {
  RandomLayer layer(1, 1, 600, 8);
  layer.q[100 * 8] = std::numeric_limits<float>::quiet_NaN();
  const Look look = layer.look();
  for (const std::int64_t step : {1, 8, 32}) {
    const BlockRequest request = request_of({{1, 1}}, {0, 600}, {0, 600}, step);
    const std::vector<float> cells = look.block(request);
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const bool holds_it = static_cast<std::int64_t>(i) / request.cols() == 100 / step;
      ASSERT_EQ(std::isnan(cells[i]), holds_it) << named(request) << ", cell " << i;
    }
  }
}

std::optional<std::string> refusal(const Look& look, const BlockRequest& request) {
  try {
    look.block(request);
    return std::nullopt;
  } catch (const BadArgument& error) {
    return error.what();
  }
}

TEST(Block, RefusesWhatCannotBe) {
  const RandomLayer layer(2, 2, 10, 4);
  const Look look = layer.look();
  const BlockRequest good = request_of({{1, 1}}, {0, 10}, {0, 10}, 1);
  EXPECT_FALSE(refusal(look, good));
  const auto with = [&](auto change) {
    BlockRequest request = good;
    change(request);
    return refusal(look, request).value_or("accepted");
  };
  EXPECT_NE(with([](auto& r) { r.maps.clear(); }).find("no map"), std::string::npos);
  EXPECT_NE(with([](auto& r) { r.maps.push_back({1, 3}); }).find("no head 3"), std::string::npos);
  EXPECT_NE(with([](auto& r) { r.maps.push_back({2, 1}); }).find("no layer 2"), std::string::npos);
  for (const std::int64_t step : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{3}, kMaxBlockStep * 2, INT64_MIN}) {
    EXPECT_NE(with([&](auto& r) { r.step = step; }).find("power of two"), std::string::npos) << step;
  }
  for (const Range bad : {Range{0, 11}, Range{-1, 3}, Range{3, 3}, Range{4, 2}, Range{INT64_MIN, INT64_MAX}}) {
    EXPECT_NE(with([&](auto& r) { r.row_begin = bad.begin, r.row_end = bad.end; }).find("rows"), std::string::npos);
    EXPECT_NE(with([&](auto& r) { r.key_begin = bad.begin, r.key_end = bad.end; }).find("keys"), std::string::npos);
  }
  EXPECT_EQ(with([](auto& r) { r.step = kMaxBlockStep; }), "accepted");
}

// What the pyramid does not have is limited; what it has may come of any number of weights.
TEST(Block, RefusesTooManyWeightsAndSaysHowToAsk) {
  constexpr std::int64_t kTokens = 4160;
  const RandomLayer layer(1, 1, kTokens, 4);
  const Look look = layer.look();
  const std::vector<MapId> maps(16, MapId{1, 1});
  ASSERT_GT(16 * kTokens * kTokens, kMaxBlockWeights);
  EXPECT_FALSE(refusal(look, request_of(maps, {0, kTokens}, {0, kTokens}, 64)));
  EXPECT_FALSE(refusal(look, request_of(maps, {0, 64}, {0, kTokens}, 32)));
  for (const BlockRequest& request :
       {request_of(maps, {0, kTokens}, {0, kTokens}, 32), request_of(maps, {0, kTokens}, {1, kTokens}, 64)}) {
    const std::string message = refusal(look, request).value_or("accepted");
    EXPECT_NE(message.find("too many"), std::string::npos) << message;
    EXPECT_NE(message.find("multiples of 64"), std::string::npos) << message;
  }
}

}  // namespace
}  // namespace sightline::engine
