#include "src/analysis/rollout.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "src/model/reference_testing.h"
#include "src/model/testing.h"

namespace sightline::analysis {
namespace {

using Matrix = std::vector<double>;  // [n, n]

Matrix product(const Matrix& a, const Matrix& b, std::size_t n) {
  Matrix c(n * n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < n; ++k) {
      for (std::size_t j = 0; j < n; ++j) c[i * n + j] += a[i * n + k] * b[k * n + j];
    }
  }
  return c;
}

// The whole product as the paper has it, from matrices [layers] of [n, n].
Matrix whole_rollout(const std::vector<Matrix>& maps, std::size_t n) {
  Matrix rolled;
  for (const Matrix& map : maps) {
    Matrix halved(n * n);
    for (std::size_t i = 0; i < n * n; ++i) halved[i] = (map[i] + (i % n == i / n ? 1 : 0)) / 2;
    rolled = rolled.empty() ? halved : product(halved, rolled, n);
  }
  return rolled;
}

std::vector<float> rows_of(const Matrix& map, std::size_t n, std::int64_t begin, std::int64_t end) {
  return {map.begin() + begin * static_cast<std::int64_t>(n), map.begin() + end * static_cast<std::int64_t>(n)};
}

TEST(Rollout, OfAMapThatLooksAtTheTokenBeforeIsBinomial) {
  // (I + shift) / 2, L times: token t comes from t - k with C(L, k) / 2^L.
  const MeanMapRows previous = [](int, std::int64_t begin, std::int64_t end) {
    std::vector<float> rows(static_cast<std::size_t>((end - begin) * 9));
    for (std::int64_t i = begin; i < end; ++i)
      rows[static_cast<std::size_t>((i - begin) * 9 + (i == 0 ? 0 : i - 1))] = 1;
    return rows;
  };
  EXPECT_EQ(rollout({8, 9}, previous, {.layers = 4, .tokens = 9}),
            (std::vector<double>{0, 0, 0, 0, 1 / 16.0, 4 / 16.0, 6 / 16.0, 4 / 16.0, 1 / 16.0}));
  EXPECT_EQ(rollout({3, 4}, previous, {.layers = 0, .tokens = 5}), (std::vector<double>{0, 0, 0, 1, 0}));
}

TEST(Rollout, IsTheRowOfTheProductWhateverTheTiles) {
  constexpr std::size_t n = 23;
  std::mt19937_64 random(5);
  std::uniform_real_distribution<float> draw(0, 1);
  std::vector<Matrix> maps(3, Matrix(n * n));
  for (Matrix& map : maps) {
    for (double& weight : map) weight = draw(random) / n;  // rows do not add up to 1, as with a sink
  }
  const Matrix whole = whole_rollout(maps, n);
  std::vector<int> layers;
  for (const std::int64_t tile : {1, 4, 23, 100}) {
    const auto read = [&](int layer, std::int64_t begin, std::int64_t end) {
      EXPECT_LE(end - begin, tile);
      return rows_of(maps[static_cast<std::size_t>(layer)], n, begin, end);
    };
    const std::vector<double> row = rollout({7, 9}, read, {3, n, tile, [&](int layer) { layers.push_back(layer); }});
    for (std::size_t j = 0; j < n; ++j) EXPECT_NEAR(row[j], (whole[7 * n + j] + whole[8 * n + j]) / 2, 1e-9);
  }
  EXPECT_EQ(layers, (std::vector<int>{2, 1, 0, 2, 1, 0, 2, 1, 0, 2, 1, 0}));
}

// Maps of a model's pass, the first text of a case: the mean over heads.
MeanMapRows mean_rows(const model::MapKeeper& keeper) {
  return [&keeper](int layer, std::int64_t begin, std::int64_t end) {
    const model::MapKeeper::Map& map = keeper.maps[static_cast<std::size_t>(layer)].front();
    std::vector<float> rows(static_cast<std::size_t>((end - begin) * map.keys));
    for (std::int64_t h = 0; h < map.heads; ++h) {
      const float* weights = map.weights.data() + (h * map.rows + begin) * map.keys;
      for (std::size_t i = 0; i < rows.size(); ++i) rows[i] += weights[i] / static_cast<float>(map.heads);
    }
    return rows;
  };
}

// The same from what transformers gives (eager attention), [texts, heads, padded, padded].
std::vector<Matrix> reference_maps(const format::SafetensorsFile& reference, std::size_t layers, std::size_t n) {
  std::vector<Matrix> maps;
  for (std::size_t layer = 0; layer < layers; ++layer) {
    const format::Tensor& tensor = reference.at("batch.attentions." + std::to_string(layer));
    const std::vector<float> weights = format::to_f32(tensor);
    const auto heads = static_cast<std::size_t>(tensor.shape[1]), padded = static_cast<std::size_t>(tensor.shape[3]);
    Matrix& mean = maps.emplace_back(n * n);
    for (std::size_t h = 0; h < heads; ++h) {
      for (std::size_t i = 0; i < n * n; ++i) {
        mean[i] += weights[(h * padded + i / n) * padded + i % n] / static_cast<double>(heads);
      }
    }
  }
  return maps;
}

class RolloutOfModels : public testing::TestWithParam<std::string> {};

TEST_P(RolloutOfModels, IsTheProductOfTransformersMaps) {
  const std::filesystem::path directory = model::conformance("models") / GetParam();
  const auto transformer = model::Transformer::load(directory);
  const auto reference = format::SafetensorsFile::open(directory / "reference.safetensors");
  const std::vector<model::Text> texts = model::texts_of(reference, "batch.");
  model::MapKeeper keeper;
  transformer.forward(model::views(texts), {.observer = &keeper});
  const std::size_t n = texts.front().ids.size(), layers = keeper.maps.size();
  const Matrix whole = whole_rollout(reference_maps(reference, layers, n), n);
  // Each layer's error goes through the others, whose rows sum to 1.
  const double tolerance =
      model::index_entry(GetParam()).at("tolerance").at("attentions_abs").get<double>() * static_cast<double>(layers);
  const int count = static_cast<int>(layers);
  const auto tokens = static_cast<std::int64_t>(n);
  for (const std::int64_t row : {std::int64_t{0}, tokens / 2, tokens - 1}) {
    const std::vector<double> rolled =
        rollout({row, row + 1}, mean_rows(keeper), {.layers = count, .tokens = tokens, .tile_rows = 7});
    for (std::size_t j = 0; j < n; ++j) {
      EXPECT_NEAR(rolled[j], whole[static_cast<std::size_t>(row) * n + j], tolerance) << row << " " << j;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, RolloutOfModels, testing::ValuesIn(model::model_names()),
                         [](const auto& each) { return each.param; });

}  // namespace
}  // namespace sightline::analysis
