// Models in which it is known what depends on what.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "src/engine/session.h"
#include "src/engine/why_testing.h"
#include "src/format/testing.h"
#include "src/model/testing.h"

namespace sightline::engine {
namespace {

using format::TestDirectory;
using testing::about;
using testing::decoder;
using testing::decoder_path;
using testing::edge_to;
using testing::kCat;

// A decoder in which one thing alone happens: in layer 1 heads 3 and 4 look evenly at all that a row sees, and what
// "cat" brings to head 3 raises the logit of " sat"; nobody reads what the others bring. Head 1 looks hard at "on",
// whose value is 0, as is every other in heads 1 and 2. Layer 2 and the MLPs do nothing.
class PlantedModel {
 public:
  PlantedModel() : model_(decoder_path()) {
    for (auto& [name, tensor] : model_.tensors) {
      const bool norm = name.find("norm") != std::string::npos;
      std::vector<float>& values = values_[name];
      values.assign(static_cast<std::size_t>(tensor.bytes.size() / sizeof(float)), norm ? 1.0F : 0.0F);
    }
    for (std::size_t i = 0; i < 6; ++i) set("model.embed_tokens.weight", id(i), i, std::sqrt(32.0F));
    const std::string layer = "model.layers.0.self_attn.";
    // Of the slowest pair of the rope, which turns by 0.001 a token.
    set(layer + "q_proj.weight", 3, 5, kQuery);    // head 1, the row of "mat"
    set(layer + "k_proj.weight", 3, 3, 1);         // heads 1 and 2, "on"
    set(layer + "v_proj.weight", 8, 1, 1);         // heads 3 and 4, "cat"
    set(layer + "o_proj.weight", 2, 16, kOutput);  // of head 3 to the direction of " sat"
    for (auto& [name, tensor] : model_.tensors) tensor.bytes = std::as_bytes(std::span(values_.at(name)));
    model_.write(directory_.path());
    std::filesystem::copy(decoder_path() / "tokenizer.json", directory_.path() / "tokenizer.json");
  }

  std::filesystem::path path() const { return directory_.path(); }

  /// Log-probability of " sat" after the text where "cat" has this weight in head 3.
  static double log_probability(double weight) {
    const double root = std::sqrt(32.0), unit = root / std::sqrt(1 + 1e-5);
    const double sat = weight * unit * kOutput, mat = root;
    const double norm = std::sqrt((sat * sat + mat * mat) / 32 + 1e-5);
    const double sat_logit = root * sat / norm, mat_logit = root * mat / norm;
    return sat_logit - std::log(std::exp(sat_logit) + std::exp(mat_logit) + 397);
  }
  /// Weight of "on" in head 1, in the row of "mat".
  static double weight_on() {
    const double unit = std::sqrt(32 / (1 + 1e-5));
    const double score = unit * kQuery * unit * std::cos(0.001 * 2) / std::sqrt(8.0);
    return std::exp(score) / (std::exp(score) + 5);
  }

 private:
  static constexpr float kQuery = 0.5F, kOutput = 6;

  std::size_t id(std::size_t token) const {
    static const Look look = decoder().look({kCat});
    return static_cast<std::size_t>(look.tokens()[token].id);
  }
  void set(const std::string& name, std::size_t row, std::size_t col, float value) {
    const auto cols = static_cast<std::size_t>(model_.tensors.at(name).shape[1]);
    values_.at(name)[row * cols + col] = value;
  }

  TestDirectory directory_;
  model::EditableModel model_;
  std::map<std::string, std::vector<float>> values_;
};

TEST(PlantedEffects, RankTheEdgeThatDecidesFirst) {
  const PlantedModel planted;
  const Session session = Session::open(planted.path());
  const Why why = session.why({kCat}, about("mat", {" sat"}));
  ASSERT_EQ(why.edges.size(), 6u);
  EXPECT_NEAR(why.measures[0].value, PlantedModel::log_probability(1 / 6.0), 1e-5);
  EXPECT_EQ(why.items[why.edges[0].item].label, "cat");
  EXPECT_NEAR(why.edges[0].effects[0], PlantedModel::log_probability(0) - PlantedModel::log_probability(1 / 6.0), 1e-5);
  // Without any other edge "cat" has a fifth.
  for (std::size_t i = 1; i < 6; ++i) {
    EXPECT_NEAR(why.edges[i].effects[0],
                PlantedModel::log_probability(1 / 5.0) - PlantedModel::log_probability(1 / 6.0), 1e-5);
  }
  // The largest weight is on "on", and the effect is not: with ranks 6 and 3 five times on either side, at different
  // words, the correlation is -1.5 / 7.5. What |w v| tells apart is the right word.
  EXPECT_NEAR(edge_to(why, 3).weight, (PlantedModel::weight_on() + 7 / 6.0) / 8, 1e-6);
  for (const WhyEdge& edge : why.edges) {
    EXPECT_TRUE(edge.item == 3 || edge.weight < edge_to(why, 3).weight) << edge.item;
  }
  EXPECT_NEAR(why.correlation.weight, -0.2, 1e-12);
  EXPECT_NEAR(why.correlation.value_weight, 1, 1e-12);
}

TEST(PlantedEffects, ShowTheLargestWeightWithoutAnyEffect) {
  const PlantedModel planted;
  const Session session = Session::open(planted.path());
  const Why why = session.why({kCat}, about("mat", {" sat"}, "head"));
  ASSERT_EQ(why.edges.size(), 2 * 4 * 6u);
  const WhyEdge& strong = edge_to(why, 3, 1, 1);
  EXPECT_NEAR(strong.weight, PlantedModel::weight_on(), 1e-6);
  EXPECT_GT(strong.weight, 0.9);
  for (const WhyEdge& edge : why.edges) {
    EXPECT_LE(edge.weight, strong.weight);
    const bool decides = edge.layer == 1 && edge.head == 3;
    if (!decides) {
      EXPECT_EQ(edge.effects[0], 0) << edge.layer << " " << edge.head;
    } else if (edge.item != 1) {
      EXPECT_NEAR(edge.effects[0], PlantedModel::log_probability(1 / 5.0) - PlantedModel::log_probability(1 / 6.0),
                  1e-5);
    }
  }
  EXPECT_EQ(strong.value_weight, 0);
  EXPECT_EQ(why.edges[0].item, 1u);
  EXPECT_EQ(why.edges[0].head, 3);
  for (const WhyMap& map : why.by_map)
    EXPECT_TRUE(map.layer == 1 && map.head == 3 ? map.edges == 6 : std::isnan(map.correlation.weight));
  for (const WhyHead& head : why.heads) {
    const double want = head.layer == 1 && head.head == 3
                            ? PlantedModel::log_probability(0) - PlantedModel::log_probability(1 / 6.0)
                            : 0;
    EXPECT_NEAR(head.effects[0], want, 1e-5) << head.layer << " " << head.head;
  }
}

// Head 3 alone writes to the answer: its part of the logit is all of it, as the norm's divisor stays what it is.
TEST(PlantedEffects, AreTheDirectContributionOfTheHeadThatMakesThem) {
  const PlantedModel planted;
  const Session session = Session::open(planted.path());
  const Why why = session.why({kCat}, about("mat", {" sat", " cat"}));
  ASSERT_EQ(why.direct.size(), 3u);
  const model::Contributions& margin = why.direct[2];
  EXPECT_NEAR(margin.answer, why.measures[2].value, 1e-5);
  for (std::size_t i = 0; i < margin.heads.size(); ++i) {
    EXPECT_NEAR(margin.heads[i], i == 2 ? why.measures[2].value : 0, 1e-5) << i;
  }
  EXPECT_NEAR(margin.embeddings, 0, 1e-5);
}

TEST(PlantedEffects, AreExactlyNoneForARowThatNobodyReads) {
  const PlantedModel planted;
  const Session session = Session::open(planted.path());
  const Why why = session.why({kCat}, about("sat", {" sat"}));
  ASSERT_EQ(why.edges.size(), 3u);
  for (const WhyEdge& edge : why.edges) EXPECT_EQ(edge.effects[0], 0);
  EXPECT_TRUE(std::isnan(why.correlation.weight));
}

}  // namespace
}  // namespace sightline::engine
