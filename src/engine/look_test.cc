#include "src/engine/look.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "sightline/error.h"
#include "src/attention/reference.h"
#include "src/engine/look_data.h"
#include "src/engine/session.h"
#include "src/engine/testing.h"

namespace sightline::engine {
namespace {

using testing::kTired;
using testing::kWide;

const Session& tiny() {
  static const Session session = Session::open(testing::tiny_model());
  return session;
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

// All maps of the tiny model in plain fp64, from the q and k of a pass of its own.
class ReferenceMaps : public model::AttentionObserver {
 public:
  explicit ReferenceMaps(const Look& look) {
    std::vector<std::int32_t> ids;
    for (const LookToken& token : look.tokens()) ids.push_back(token.id);
    const model::TokenSequence sequence{ids, {}};
    model::Transformer::load(testing::tiny_model()).forward({&sequence, 1}, {.observer = this});
  }
  Observations request(const model::LayerAttention& call) override {
    layers.push_back(reference::attention(call.problem));
    return {};
  }
  void done(const model::LayerAttention&) override {}

  std::span<const double> row(const MapId& id, std::size_t i, std::size_t n) const {
    const std::vector<double>& weights = layers[static_cast<std::size_t>(id.layer - 1)].weights;
    return std::span(weights).subspan((static_cast<std::size_t>(id.head - 1) * n + i) * n, n);
  }

  std::vector<reference::Result> layers;
};

double entropy_of(std::span<const double> weights) {
  double sum = 0;
  for (const double w : weights) sum -= w > 0 ? w * std::log(w) : 0;
  return sum;
}

// The table's numbers for one row, from its weights: the definitions of docs/report.md.
struct RowNumbers {
  double entropy, special, previous, same, next, distance, text_entropy, sharpness;
};

RowNumbers numbers_of(std::span<const double> w, std::size_t i) {
  const std::size_t n = w.size();
  RowNumbers row{};
  row.entropy = entropy_of(w);
  row.special = w[0] + w[n - 1];
  row.previous = w[i - 1];
  row.same = w[i];
  row.next = w[i + 1];
  std::vector<double> text(w.begin() + 1, w.end() - 1);
  const double share = 1 - row.special;
  for (double& x : text) x /= share;
  row.text_entropy = entropy_of(text);
  row.sharpness = share * (1 - row.text_entropy / std::log(static_cast<double>(n - 2)));
  for (std::size_t j = 0; j < n; ++j) row.distance += w[j] * std::abs(static_cast<double>(i) - static_cast<double>(j));
  return row;
}

TEST(Look, SummariesAreTheMeansThatTheirDefinitionsGive) {
  const Look look = tiny().look(kTired);
  const ReferenceMaps reference(look);
  const std::size_t n = look.tokens().size();
  ASSERT_EQ(look.maps().size(), 6u);
  double best = -1;
  MapId sharpest;
  for (const MapId& id : look.maps()) {
    RowNumbers mean{};
    for (std::size_t i = 1; i + 1 < n; ++i) {
      const RowNumbers row = numbers_of(reference.row(id, i, n), i);
      const double share = 1 / static_cast<double>(n - 2);
      mean = {mean.entropy + share * row.entropy,
              mean.special + share * row.special,
              mean.previous + share * row.previous,
              mean.same + share * row.same,
              mean.next + share * row.next,
              mean.distance + share * row.distance,
              mean.text_entropy + share * row.text_entropy,
              mean.sharpness + share * row.sharpness};
    }
    const MapSummary& summary = look.summary(id);
    EXPECT_NEAR(summary.entropy, mean.entropy, 1e-5);
    EXPECT_NEAR(summary.entropy_normalised, mean.entropy / std::log(static_cast<double>(n)), 1e-5);
    EXPECT_NEAR(summary.special_share, mean.special, 1e-5);
    EXPECT_NEAR(summary.previous_share, mean.previous, 1e-5);
    EXPECT_NEAR(summary.same_share, mean.same, 1e-5);
    EXPECT_NEAR(summary.next_share, mean.next, 1e-5);
    EXPECT_NEAR(summary.distance, mean.distance, 1e-4);
    EXPECT_NEAR(summary.text_entropy, mean.text_entropy, 1e-5);
    EXPECT_NEAR(summary.sharpness, mean.sharpness, 1e-5);
    if (mean.sharpness > best) best = mean.sharpness, sharpest = id;
  }
  EXPECT_EQ(look.sharpest(), sharpest);
}

TEST(Look, TheSharpestIsNeverAMapOfNaN) {
  const auto data = std::make_shared<Look::Data>();
  LayerRecord& layer = data->layers.emplace_back();
  layer.heads = 4;
  data->summaries.resize(4);
  data->summaries[0].sharpness = std::numeric_limits<float>::quiet_NaN();
  data->summaries[2].sharpness = data->summaries[3].sharpness = 0.5F;
  const Look look(data);
  EXPECT_EQ(look.sharpest(), (MapId{1, 3}));
  const MapId some[] = {{1, 1}, {1, 2}};
  EXPECT_EQ(look.sharpest(some), (MapId{1, 2}));
}

TEST(Look, ObservationsMatchTheMap) {
  const Look look = tiny().look(kTired, {.top = 3});
  const ReferenceMaps reference(look);
  const std::size_t n = look.tokens().size();
  for (const MapId& id : look.maps()) {
    const MapObservations map = look.observations(id);
    ASSERT_EQ(map.rows, static_cast<std::int64_t>(n));
    ASSERT_EQ(map.top, 5);  // three, and the two special tokens
    std::vector<double> mass(n);
    for (std::size_t i = 0; i < n; ++i) {
      const auto w = reference.row(id, i, n);
      double position = 0;
      for (std::size_t j = 0; j < n; ++j) position += w[j] * static_cast<double>(j), mass[j] += w[j];
      EXPECT_NEAR(map.entropy[i], entropy_of(w), 1e-5);
      EXPECT_NEAR(map.position[i], position, 1e-4);
      EXPECT_NEAR(map.on_segment(i, kSegmentSpecial), w[0] + w[n - 1], 1e-5);
      EXPECT_NEAR(map.offset_mass[3 * i + 2], i + 1 < n ? w[i + 1] : 0, 1e-5);
      const auto largest = std::ranges::max_element(w) - w.begin();
      EXPECT_EQ(map.top_index[5 * i], largest);
      EXPECT_NEAR(map.top_weight[5 * i], w[static_cast<std::size_t>(largest)], 1e-5);
      EXPECT_NEAR(map.lse[i], map.row_max[i] + std::log(map.row_sum[i]), 1e-5);
    }
    for (std::size_t j = 0; j < n; ++j) EXPECT_NEAR(map.key_mass[j], mass[j], 1e-5);
  }
}

TEST(Look, GridsMergePiecesAsStated) {
  const Look look = tiny().look("It didn't cross; unhappiness didn't.");
  const ReferenceMaps reference(look);
  const std::size_t n = look.tokens().size();
  const Axis& words = look.words();
  for (const MapId& id : look.maps()) {
    const Grid grid = look.grid(id, words, words);
    ASSERT_EQ(grid.rows, static_cast<std::int64_t>(words.size()));
    for (std::int64_t r = 0; r < grid.rows; ++r) {
      double total = 0;
      for (std::int64_t c = 0; c < grid.cols; ++c) {
        double to = 0;
        const AxisItem &row = words[static_cast<std::size_t>(r)], &col = words[static_cast<std::size_t>(c)];
        for (std::int64_t i = row.token_begin; i < row.token_end; ++i) {
          const auto w = reference.row(id, static_cast<std::size_t>(i), n);
          for (std::int64_t j = col.token_begin; j < col.token_end; ++j) to += w[static_cast<std::size_t>(j)];
        }
        EXPECT_NEAR(grid.at(r, c), to / static_cast<double>(row.token_end - row.token_begin), 1e-5);
        total += grid.at(r, c);
      }
      EXPECT_NEAR(total, 1, 1e-5);
    }
  }
}

TEST(Look, AnyBlockOfAGridIsThatPartOfTheWhole) {
  const Look look = tiny().look("It didn't cross the street; unhappiness didn't stop hello world.");
  const Axis& words = look.words();
  const Grid whole = look.grid({2, 1}, words, words);
  const Axis text = look.axis(false, false);
  const Grid without = look.grid({2, 1}, text, text);
  ASSERT_EQ(without.rows, whole.rows - 2);
  for (std::int64_t r = 0; r < without.rows; ++r) {
    for (std::int64_t c = 0; c < without.cols; ++c) EXPECT_EQ(without.at(r, c), whole.at(r + 1, c + 1));
    double shown = 0;
    for (std::int64_t c = 0; c < without.cols; ++c) shown += without.at(r, c);
    EXPECT_NEAR(shown + look.special_share({2, 1}, text[static_cast<std::size_t>(r)]), 1, 1e-5);
  }
  const Grid block = look.grid({2, 1}, std::span(words).subspan(3, 4), std::span(words).subspan(1, 2));
  for (std::int64_t r = 0; r < 4; ++r) {
    for (std::int64_t c = 0; c < 2; ++c) EXPECT_EQ(block.at(r, c), whole.at(r + 3, c + 1));
  }
  EXPECT_EQ(look.grid({2, 1}, {}, words).weights.size(), 0u);
}

TEST(Look, GridsOfManyRowsGoThroughSeveralTiles) {
  std::string text;
  for (int i = 0; i < 9; ++i) text += i % 3 ? "the cat didn't " : "unhappiness, ";
  const Look look = tiny().look(text);
  const ReferenceMaps reference(look);
  const std::size_t n = look.tokens().size();
  ASSERT_GT(n, 40u);
  const Axis pieces = look.axis(true, true);
  const Grid grid = look.grid({2, 2}, pieces, pieces);
  for (std::size_t i = 0; i < n; ++i) {
    const auto w = reference.row({2, 2}, i, n);
    for (std::size_t j = 0; j < n; ++j) {
      EXPECT_NEAR(grid.at(static_cast<std::int64_t>(i), static_cast<std::int64_t>(j)), w[j], 1e-5);
    }
  }
  Axis reversed(pieces.rbegin(), pieces.rend());  // items in any order
  const Grid turned = look.grid({2, 2}, reversed, pieces);
  for (std::int64_t j = 0; j < grid.cols; ++j) EXPECT_EQ(turned.at(0, j), grid.at(grid.rows - 1, j));
}

TEST(Look, RefusesMapsThatAreNotThere) {
  const Look look = tiny().look("the cat");
  for (const MapId& id : {MapId{0, 1}, MapId{3, 1}, MapId{1, 0}, MapId{1, 4}}) {
    EXPECT_THROW(look.summary(id), BadArgument) << map_name(id);
    EXPECT_THROW(look.grid(id, look.words(), look.words()), BadArgument) << map_name(id);
  }
  EXPECT_THROW(look.summary({1, 1, model::AttentionKind::cross}), BadArgument);
  EXPECT_THROW(look.tile({1, 1}, {0, 0, 0, 5, 0, 4}, Stage::weights), BadArgument);
  EXPECT_THROW(look.tile({1, 1}, {0, 0, 0, INT64_MAX, 0, INT64_MAX}, Stage::weights), BadArgument);
}

TEST(Look, IsTheSameWithOneThreadAndWithTwo) {
  const Look one = Session::open(testing::tiny_model(), {.threads = 1}).look(kWide);
  const Look two = Session::open(testing::tiny_model(), {.threads = 2}).look(kWide);
  for (const MapId& id : one.maps()) {
    EXPECT_TRUE(std::ranges::equal(one.observations(id).entropy, two.observations(id).entropy));
    EXPECT_TRUE(std::ranges::equal(one.observations(id).text_entropy, two.observations(id).text_entropy));
    EXPECT_TRUE(std::ranges::equal(one.observations(id).key_mass, two.observations(id).key_mass));
    EXPECT_EQ(one.grid(id, one.words(), one.words()).weights, two.grid(id, two.words(), two.words()).weights);
  }
}

TEST(Look, MayBeMadeByManyThreadsAtOnce) {
  const Look alone = tiny().look(kTired);
  std::vector<std::vector<float>> weights(4);
  std::vector<std::thread> threads;
  for (auto& of_thread : weights) {
    threads.emplace_back([&of_thread] {
      const Look look = tiny().look(kTired);
      of_thread = look.grid({2, 3}, look.words(), look.words()).weights;
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& of_thread : weights) EXPECT_EQ(of_thread, alone.grid({2, 3}, alone.words(), alone.words()).weights);
}

TEST(FindToken, TakesWordsPiecesOfWordsAndPieces) {
  const Look look = tiny().look(kTired);
  EXPECT_EQ(find_token(look, "animal"), 2);
  EXPECT_EQ(find_token(look, "#5"), 6);  // the fifth word: cross
  EXPECT_EQ(find_token(look, "didn't/1"), 3);
  EXPECT_EQ(find_token(look, "#4/3"), 5);
  EXPECT_EQ(find_token(look, "animal/1"), 2);
  EXPECT_EQ(find_token(look, "didn"), 3);  // no such word, but a piece
  EXPECT_EQ(find_token(look, "'"), 4);
  EXPECT_EQ(find_token(tiny().look("1 / 2"), "/"), 2);
}

TEST(FindToken, ListsThePiecesOfAWordThatHasSeveral) {
  const Look look = tiny().look(kTired);
  const auto refusal = [&](std::string_view spec) -> std::string {
    try {
      return std::to_string(find_token(look, spec));
    } catch (const BadArgument& error) {
      return error.what();
    }
  };
  EXPECT_TRUE(has(refusal("didn't"), "3 pieces")) << refusal("didn't");
  EXPECT_TRUE(has(refusal("didn't"), "\"didn't/1\" (didn), \"didn't/2\" ('), \"didn't/3\" (t)"));
  EXPECT_TRUE(has(refusal("didn't/4"), "no piece 4"));
  EXPECT_TRUE(has(refusal("dog/1"), "no \"dog/1\""));
  EXPECT_TRUE(has(refusal("animal/x"), "no \"animal/x\""));
}

class MiniLm : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (testing::has_minilm()) session = new Session(Session::open(testing::minilm()));
  }
  static void TearDownTestSuite() {
    delete session;
    session = nullptr;
  }
  void SetUp() override {
    if (!session) GTEST_SKIP() << testing::no_minilm();
  }
  static float weight(const Look& look, const MapId& id, std::string_view from, std::string_view to) {
    const Axis& words = look.words();
    const std::size_t row = find_item(words, from), col = find_item(words, to);
    return look.grid(id, std::span(words).subspan(row, 1), std::span(words).subspan(col, 1)).at(0, 0);
  }

  static Session* session;
};
Session* MiniLm::session = nullptr;

// Measured on the same weights with an independent implementation.
TEST_F(MiniLm, ShowsWhereItLooks) {
  const Look tired = session->look(kTired), wide = session->look(kWide);
  EXPECT_NEAR(weight(tired, {4, 2}, "it", "animal"), 0.677, 1e-3);
  EXPECT_NEAR(weight(wide, {4, 2}, "it", "animal"), 0.281, 1e-3);
  EXPECT_NEAR(weight(tired, {4, 2}, "it", "street"), 0.050, 1e-3);
  EXPECT_NEAR(weight(wide, {4, 2}, "it", "street"), 0.121, 1e-3);
  EXPECT_NEAR(weight(tired, {5, 1}, "it", "animal"), 0.100, 1e-3);
  EXPECT_NEAR(weight(wide, {5, 1}, "it", "animal"), 0.047, 1e-3);
  EXPECT_NEAR(weight(tired, {3, 6}, "tired", "street"), 0.047, 1e-3);
  EXPECT_NEAR(weight(wide, {3, 6}, "wide", "street"), 0.290, 1e-3);
  EXPECT_EQ(tired.words().size(), 14u);
  EXPECT_EQ(tired.tokens().size(), 16u);
}

TEST_F(MiniLm, AgreesOnAll72Heads) {
  const auto path = testing::source_path("../shared/data/reference/minilm_animal_it_heads.csv");
  std::ifstream file(path);
  if (!file) GTEST_SKIP() << path << " is not there";
  const Look tired = session->look(kTired), wide = session->look(kWide);
  std::string line;
  std::getline(file, line);
  ASSERT_EQ(line, "layer,head,it_animal_tired,it_animal_wide,it_street_tired,it_street_wide,it_adj_tired,it_adj_wide");
  int heads = 0;
  while (std::getline(file, line)) {
    std::istringstream fields(line);
    double v[8];
    for (double& value : v) {
      std::string field;
      std::getline(fields, field, ',');
      value = std::stod(field);
    }
    const MapId id{static_cast<int>(v[0]), static_cast<int>(v[1])};
    EXPECT_NEAR(weight(tired, id, "it", "animal"), v[2], 1e-3) << map_name(id);
    EXPECT_NEAR(weight(wide, id, "it", "animal"), v[3], 1e-3) << map_name(id);
    EXPECT_NEAR(weight(tired, id, "it", "street"), v[4], 1e-3) << map_name(id);
    EXPECT_NEAR(weight(wide, id, "it", "street"), v[5], 1e-3) << map_name(id);
    EXPECT_NEAR(weight(tired, id, "it", "tired"), v[6], 1e-3) << map_name(id);
    EXPECT_NEAR(weight(wide, id, "it", "wide"), v[7], 1e-3) << map_name(id);
    ++heads;
  }
  EXPECT_EQ(heads, 72);
}

}  // namespace
}  // namespace sightline::engine
