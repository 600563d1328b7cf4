#include "src/analysis/head_scores.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "src/analysis/baselines.h"
#include "src/analysis/planted_testing.h"
#include "src/analysis/role_choice.h"
#include "src/ops/random.h"

namespace sightline::analysis {
namespace {

constexpr std::size_t kTexts = 24;

std::int32_t below(ops::Random& random, int end) {
  return static_cast<std::int32_t>(random.uniform() * static_cast<double>(end));
}

RepeatedText repeated(ops::Random& random, std::int64_t period) {
  std::vector<std::int32_t> words;
  for (std::int32_t word = 1; word <= PlantedModel::kWords; ++word) words.push_back(word);
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    std::swap(words[i], words[i + static_cast<std::size_t>(below(random, static_cast<int>(words.size() - i)))]);
  }
  RepeatedText text;
  text.ids = {PlantedModel::kBegin};
  text.special = {0};
  text.block_begin = 1;
  text.block_end = 31;
  text.period = period;
  for (std::int64_t i = 0; i < 30; ++i) text.ids.push_back(words[static_cast<std::size_t>(i % period)]);
  text.type_ids.resize(text.ids.size());
  return text;
}

RepeatedText unrepeated(ops::Random& random) {
  RepeatedText text;
  text.ids = {PlantedModel::kBegin};
  text.special = {0};
  for (int i = 0; i < 25; ++i) text.ids.push_back(1 + below(random, PlantedModel::kWords));
  text.type_ids.resize(text.ids.size());
  return text;
}

// Words and brackets up to four deep; each closing one is asked for its partner.
ProbeText nested(ops::Random& random) {
  ProbeText text;
  text.ids = {PlantedModel::kBegin};
  std::vector<TokenRange> opened;
  std::vector<std::size_t> open;
  while (text.ids.size() < PlantedModel::kPositions) {
    const auto place = std::ssize(text.ids);
    const double turn = random.uniform();
    if (turn < 0.4 && open.size() < PlantedModel::kNestings) {
      text.ids.push_back(PlantedModel::kOpening + static_cast<std::int32_t>(open.size()));
      open.push_back(opened.size());
      opened.push_back({place, place + 1});
    } else if (turn < 0.8 && !open.empty()) {
      text.ids.push_back(PlantedModel::kClosing + static_cast<std::int32_t>(open.size()) - 1);
      if (opened.size() > 1) text.questions.push_back({{place, place + 1}, opened, {open.back()}});
      open.pop_back();
    } else {
      text.ids.push_back(1 + below(random, PlantedModel::kWords));
    }
  }
  text.type_ids.resize(text.ids.size());
  return text;
}

struct Corpus {
  std::vector<Probe> probes = {{"bracket", "", PieceRule::sum, {}}};
  std::vector<PlaceProbe> places = {{{Place::previous, Place::current, Place::first}, {}},
                                    {{Place::duplicate, Place::induction}, {}}};

  Corpus() {
    ops::Random random(11);
    for (std::size_t i = 0; i < kTexts; ++i) {
      probes[0].texts.push_back(nested(random));
      places[0].texts.push_back(unrepeated(random));
      places[1].texts.push_back(repeated(random, 4 + below(random, 6)));
    }
  }
  HeadScores score(const model::Transformer& transformer, const ScoringOptions& options = {}) const {
    return score_heads(transformer, probes, places, options);
  }
};

std::size_t role_named(const HeadScores& scores, const std::string& name) {
  for (std::size_t role = 0; role < scores.roles.size(); ++role) {
    if (scores.roles[role].name == name) return role;
  }
  throw std::runtime_error("no role " + name);
}

class PlantedHeads : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { transformer_ = new model::Transformer(PlantedModel().load()); }
  static void TearDownTestSuite() { delete transformer_; }
  static inline model::Transformer* transformer_ = nullptr;
  Corpus corpus_;
};

TEST_F(PlantedHeads, EachHasTheRoleThatItWasBuiltFor) {
  const HeadScores scores = corpus_.score(*transformer_);
  const RoleChoice choice = choose_roles(scores, {}, 20);
  const auto role_of = [&](std::size_t map) {
    return choice.of_map[map] ? scores.roles[*choice.of_map[map]].name : std::string("none");
  };
  EXPECT_EQ(role_of(PlantedModel::kPrevious), "previous token");
  EXPECT_EQ(role_of(PlantedModel::kDuplicate), "duplicate token");
  EXPECT_EQ(role_of(PlantedModel::kBracket), "bracket");
  EXPECT_EQ(role_of(PlantedModel::kInduction), "induction");
  EXPECT_EQ(role_of(PlantedModel::kUniform), "none");
  for (std::size_t map = PlantedModel::kInduction + 1; map < PlantedModel::kMaps; ++map) {
    EXPECT_EQ(role_of(map), "none") << map;
  }
  for (const auto& [name, map] :
       {std::pair("previous token", PlantedModel::kPrevious), std::pair("duplicate token", PlantedModel::kDuplicate),
        std::pair("bracket", PlantedModel::kBracket), std::pair("induction", PlantedModel::kInduction)}) {
    const std::size_t role = role_named(scores, name);
    EXPECT_TRUE(choice.roles[role].found()) << name;
    EXPECT_EQ(choice.roles[role].maps.front(), map) << name;
    EXPECT_EQ(scores.reported(role, map).score(), 1) << name;
    EXPECT_GT(scores.reported(role, map).mean_weight(), 0.999) << name;
    EXPECT_LT(scores.reported(role, map).baseline(), 0.8) << name;
  }
}

// All keys of a uniform head have the same weight: its heaviest one is the first, which therefore is no role; and its
// weight on any one key is 1 / (keys seen).
TEST_F(PlantedHeads, AUniformHeadFollowsItsClosedForm) {
  const HeadScores scores = corpus_.score(*transformer_, {.halves = {false}});
  double even = 0, rows = 0;
  for (const RepeatedText& text : corpus_.places[0].texts) {
    for (std::int64_t row = 1; row < text.tokens(); ++row, ++rows) even += 1 / static_cast<double>(row + 1);
  }
  const Tally& first = scores.reported(role_named(scores, "first token"), PlantedModel::kUniform);
  EXPECT_EQ(first.questions, rows);
  EXPECT_EQ(first.score(), 1);
  EXPECT_NEAR(first.mean_weight(), even / rows, 1e-6);
  EXPECT_NEAR(first.baseline(), even / rows, 1e-12);
  EXPECT_FALSE(beats_baseline(first, 1));
  const Tally& previous = scores.reported(role_named(scores, "previous token"), PlantedModel::kUniform);
  EXPECT_NEAR(previous.mean_weight(), even / rows, 1e-6);
  EXPECT_EQ(previous.right, kTexts);  // in row 1 alone, where the first key is the previous one

  double right = 0, questions = 0, baseline = 0;
  std::vector<const Question*> all;
  for (const ProbeText& text : corpus_.probes[0].texts) {
    for (const Question& question : text.questions) {
      all.push_back(&question);
      right += question.right.front() == 0 ? 1 : 0;
      ++questions;
    }
  }
  for (const Question* question : all) baseline += is_right(best_rule(all), *question) ? 1 : 0;
  const Tally& bracket = scores.reported(role_named(scores, "bracket"), PlantedModel::kUniform);
  EXPECT_EQ(bracket.right, right);
  EXPECT_EQ(bracket.questions, questions);
  EXPECT_NEAR(bracket.baseline(), baseline / questions, 1e-12);
}

TEST_F(PlantedHeads, HalvesAreDisjointAndTheWhole) {
  const HeadScores halves = corpus_.score(*transformer_), whole = corpus_.score(*transformer_, {.halves = {false}});
  for (std::size_t role = 0; role < whole.roles.size(); ++role) {
    EXPECT_EQ(static_cast<double>(whole.roles[role].questions), whole.reported(role, 0).questions);
    for (std::size_t map = 0; map < PlantedModel::kMaps; ++map) {
      const Tally &one = halves.chosen_on(role, map), &other = halves.reported(role, map),
                  &all = whole.reported(role, map);
      EXPECT_GT(one.questions, 0);
      EXPECT_GT(other.questions, 0);
      EXPECT_EQ(one.questions + other.questions, all.questions);
      EXPECT_EQ(one.right + other.right, all.right);
      EXPECT_NEAR(one.weight + other.weight, all.weight, 1e-9 * all.questions);
    }
  }
}

TEST_F(PlantedHeads, ThreadsChangeNoBit) {
  const HeadScores one = corpus_.score(*transformer_, {.threads = 1});
  for (const int threads : {2, 3}) {
    const HeadScores many = corpus_.score(*transformer_, {.threads = threads});
    for (std::size_t role = 0; role < one.roles.size(); ++role) {
      for (std::size_t map = 0; map < PlantedModel::kMaps; ++map) {
        EXPECT_EQ(one.reported(role, map).right, many.reported(role, map).right);
        EXPECT_EQ(one.reported(role, map).weight, many.reported(role, map).weight);
        EXPECT_EQ(one.reported(role, map).excess.squares, many.reported(role, map).excess.squares);
      }
    }
  }
}

// A fixed offset that fits the choosing half is tried on the other, whose texts have other periods.
TEST_F(PlantedHeads, BaselineOfRepetitionsIsChosenOnTheOtherHalf) {
  std::vector<RepeatedText> texts;
  ops::Random random(3);
  for (int i = 0; i < 8; ++i) texts.push_back(repeated(random, i % 2 == 0 ? 9 : 7));
  const HeadScores scores = score_heads(*transformer_, {}, {{{Place::induction}, texts}}, {});
  EXPECT_EQ(scores.roles[0].baseline, "8 back or even");
  EXPECT_EQ(scores.chosen_on(0, 0).baseline(), 1);
  EXPECT_EQ(scores.reported(0, 0).rule, 0);
  EXPECT_EQ(scores.reported(0, 0).baseline(), scores.reported(0, 0).even / scores.reported(0, 0).questions);
  EXPECT_EQ(scores.reported(0, PlantedModel::kInduction).score(), 1);
}

TEST_F(PlantedHeads, WhatACausalModelCannotSeeIsLeftOut) {
  ProbeText text{{0, 1, 2, 3}, {0, 0, 0, 0}, {}};
  text.questions.push_back({{1, 2}, {{0, 1}, {3, 4}}, {1}});             // after the row
  text.questions.push_back({{2, 3}, {{0, 1}, {1, 2}, {3, 4}}, {1, 2}});  // one of both is
  const HeadScores scores = score_heads(*transformer_, {{"x", "", PieceRule::sum, {text}}}, {}, {.halves = {false}});
  EXPECT_EQ(scores.roles[0].unseen, 1);
  EXPECT_EQ(scores.roles[0].questions, 1);
  EXPECT_EQ(scores.reported(0, PlantedModel::kPrevious).right, 1);
}

TEST_F(PlantedHeads, RowsAndPiecesAreFolded) {
  // Rows 3 and 4 of the uniform head see 4 and 5 keys: (1/4 + 1/5) / 2 a key.
  ProbeText text{{0, 1, 2, 3, 4}, {0, 0, 0, 0, 0}, {{{3, 5}, {{0, 1}, {1, 3}}, {1}}}};
  const auto tally = [&](PieceRule pieces) {
    return score_heads(*transformer_, {{"x", "", pieces, {text}}}, {}, {.halves = {false}})
        .reported(0, PlantedModel::kUniform);
  };
  EXPECT_NEAR(tally(PieceRule::sum).weight, 0.45, 1e-6);
  EXPECT_EQ(tally(PieceRule::sum).right, 1);
  EXPECT_NEAR(tally(PieceRule::max).weight, 0.225, 1e-6);
  EXPECT_EQ(tally(PieceRule::max).right, 0);  // equal: the first one
}

class StopAfter : public Progress {
 public:
  explicit StopAfter(int calls) : left_(calls) {}
  bool advance(std::int64_t, std::int64_t) override { return left_-- > 0; }
  int left() const { return left_; }

 private:
  int left_;
};

TEST_F(PlantedHeads, WhatWasDoneStaysWhereItIsStopped) {
  Corpus more;
  for (int i = 0; i < 3; ++i) more.probes.push_back(more.probes[0]);
  for (std::size_t i = 0; i < 200; ++i) more.places[0].texts.push_back(more.places[0].texts[i]);
  constexpr int kEndless = 1 << 30;
  StopAfter never(kEndless);
  EXPECT_TRUE(more.score(*transformer_, {.threads = 1, .progress = &never}).complete);
  StopAfter stop((kEndless - never.left()) / 2);
  const HeadScores scores = more.score(*transformer_, {.threads = 1, .progress = &stop});
  EXPECT_FALSE(scores.complete);
  EXPECT_LT(scores.texts_done, scores.texts);
  ASSERT_GT(scores.texts_done, 0);
  EXPECT_EQ(scores.reported(0, PlantedModel::kPrevious).score(), 1);
}

TEST_F(PlantedHeads, OneHeadCanBeAskedAlone) {
  ScoringOptions one;
  one.layer = 2;
  one.head = 1;
  const HeadScores all = corpus_.score(*transformer_), alone = corpus_.score(*transformer_, one);
  const std::size_t role = role_named(all, "induction");
  EXPECT_EQ(alone.reported(role, PlantedModel::kInduction).weight, all.reported(role, PlantedModel::kInduction).weight);
  EXPECT_EQ(alone.reported(role, PlantedModel::kPrevious).questions, 0);
  EXPECT_EQ(choose_roles(alone, one, 20).asked_maps, std::vector<std::size_t>{PlantedModel::kInduction});
  one.head = 5;
  EXPECT_EQ(format::error_of<BadArgument>([&] { corpus_.score(*transformer_, one); }),
            "there is no head 5: they are 1 to 4");
}

// Rows of a text that is too long to keep them all are read as tiles, with the same bits.
TEST(HeadScores, LongTextsGiveTheSameBits) {
  const model::Transformer transformer =
      model::Transformer::load(std::filesystem::path(SIGHTLINE_SOURCE_DIR) / "tests/data/conformance/models/llama");
  const std::int64_t tokens = transformer.config().max_positions;
  ops::Random random(5);
  ProbeText text;
  for (std::int64_t i = 0; i < tokens; ++i) text.ids.push_back(below(random, 300));
  for (std::int64_t row = 4; row < tokens; ++row) {
    text.questions.push_back({{row, row + 1}, {{0, 2}, {2, 3}}, {static_cast<std::size_t>(row % 2)}});
  }
  const auto score = [&](std::int64_t whole) {
    return score_heads(transformer, {{"x", "", PieceRule::sum, {text}}}, {},
                       {.halves = {false}, .whole_weights = whole});
  };
  const HeadScores whole = score(kWholeWeights), tiles = score(1);
  for (std::size_t map = 0; map < static_cast<std::size_t>(whole.layers * whole.heads); ++map) {
    EXPECT_GT(whole.reported(0, map).weight, 0);
    EXPECT_EQ(whole.reported(0, map).weight, tiles.reported(0, map).weight);
    EXPECT_EQ(whole.reported(0, map).right, tiles.reported(0, map).right);
  }
}

}  // namespace
}  // namespace sightline::analysis
