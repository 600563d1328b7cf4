// Figures of all-MiniLM-L6-v2 that were measured with another implementation (transformers, eager attention) on UD
// English PUD and GAP, where both the model and the corpora are to be had: ../shared beside the checkout.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "sightline/model.h"
#include "src/analysis/head_scores.h"
#include "src/engine/corpus_probes.h"
#include "src/engine/testing.h"

namespace sightline::engine {
namespace {

using analysis::HeadScores;

struct Figure {
  int layer, head;  // from 1
  double score;
};

struct RelationFigures {
  const char* relation;
  std::int64_t questions;
  Figure to_head, to_dependent;
  double fixed_offset;
};

constexpr RelationFigures kRelations[] = {
    {"nsubj", 1393, {3, 9, 0.507}, {2, 10, 0.449}, 0.394},    {"nsubj:pass", 239, {3, 4, 0.544}, {4, 2, 0.506}, 0.427},
    {"obj", 877, {3, 1, 0.780}, {2, 8, 0.580}, 0.391},        {"det", 2052, {3, 9, 0.801}, {1, 3, 0.566}, 0.566},
    {"case", 2511, {3, 9, 0.674}, {3, 1, 0.620}, 0.360},      {"amod", 1358, {3, 9, 0.833}, {2, 10, 0.789}, 0.784},
    {"aux", 684, {3, 9, 0.817}, {1, 6, 0.735}, 0.652},        {"cop", 317, {3, 9, 0.609}, {3, 1, 0.521}, 0.353},
    {"compound", 843, {5, 10, 0.772}, {2, 10, 0.776}, 0.753}, {"xcomp", 271, {2, 7, 0.649}, {3, 3, 0.472}, 0.469},
    {"advmod", 847, {3, 2, 0.577}, {1, 3, 0.492}, 0.492},     {"mark", 560, {2, 5, 0.552}, {1, 6, 0.571}, 0.537}};

constexpr double kTolerance = 0.01;

HeadScores scores_of(const model::Model& minilm, std::vector<analysis::Probe> probes) {
  return score_heads(minilm.transformer, std::move(probes), {}, {.halves = {.holdout = false}});
}

std::size_t role_of(const HeadScores& scores, std::string_view name, std::string_view from_to) {
  const auto found = std::ranges::find_if(
      scores.roles, [&](const analysis::Role& role) { return role.name == name && role.from_to == from_to; });
  EXPECT_NE(found, scores.roles.end()) << name;
  return static_cast<std::size_t>(found - scores.roles.begin());
}

// The figure, and no head over it.
void expect_best(const HeadScores& scores, std::size_t role, const Figure& figure) {
  EXPECT_NEAR(scores.reported(role, scores.map(figure.layer, figure.head)).score(), figure.score, kTolerance)
      << scores.roles[role].name << " " << scores.roles[role].from_to;
  for (std::size_t map = 0; map < static_cast<std::size_t>(scores.layers * scores.heads); ++map) {
    EXPECT_LE(scores.reported(role, map).score(), figure.score + kTolerance) << scores.roles[role].name << map;
  }
}

class CorpusFigures : public ::testing::Test {
 protected:
  void require(const std::filesystem::path& file) {
    if (!testing::has_minilm()) GTEST_SKIP() << testing::no_minilm();
    if (!std::filesystem::exists(file)) GTEST_SKIP() << "no " << file;
  }
  static const model::Model& minilm() {
    static const model::Model model = model::open(testing::minilm());
    return model;
  }
  const std::filesystem::path treebank_ = testing::source_path("../shared/data/treebank/en_pud-ud-test.conllu");
  const std::filesystem::path gap_ = testing::source_path("../shared/data/coref/gap-development.tsv");
};

TEST_F(CorpusFigures, RelationsOfPud) {
  require(treebank_);
  if (IsSkipped()) return;
  std::vector<std::string> relations;
  for (const RelationFigures& row : kRelations) relations.emplace_back(row.relation);
  CorpusProbes corpus = treebank_probes(format::read_conllu(treebank_), relations, minilm().tokenizer, "PUD");
  EXPECT_TRUE(corpus.notes.empty()) << corpus.notes.at(0);
  const HeadScores scores = scores_of(minilm(), std::move(corpus.probes));
  for (const RelationFigures& row : kRelations) {
    const std::size_t up = role_of(scores, row.relation, "dependent to head");
    const std::size_t down = role_of(scores, row.relation, "head to dependent");
    EXPECT_EQ(scores.roles[up].questions, row.questions) << row.relation;
    EXPECT_EQ(scores.roles[down].questions, row.questions) << row.relation;
    expect_best(scores, up, row.to_head);
    expect_best(scores, down, row.to_dependent);
    EXPECT_NEAR(scores.reported(up, 0).baseline(), row.fixed_offset, kTolerance) << scores.roles[up].baseline;
    EXPECT_NEAR(scores.reported(down, 0).baseline(), row.fixed_offset, kTolerance) << scores.roles[down].baseline;
  }
}

// The figures are of the first 599 rows that name just one; all rows are 1799, and meet them as well.
TEST_F(CorpusFigures, PronounsOfGap) {
  require(gap_);
  if (IsSkipped()) return;
  CorpusProbes corpus = coreference_probe(format::read_gap(gap_), minilm().tokenizer, false, "GAP");
  ASSERT_EQ(corpus.probes.at(0).texts.size(), 1799u);
  corpus.probes[0].texts.resize(599);
  const HeadScores scores = scores_of(minilm(), std::move(corpus.probes));
  EXPECT_EQ(scores.roles.at(0).questions, 599);
  expect_best(scores, 0, {4, 2, 0.733});
  EXPECT_NEAR(scores.reported(0, scores.map(4, 2)).score(), 0.733, 0.0005);
  EXPECT_NEAR(scores.reported(0, scores.map(5, 11)).score(), 0.710, 0.0005);
  EXPECT_NEAR(scores.reported(0, scores.map(4, 8)).score(), 0.693, 0.0005);
  EXPECT_NEAR(scores.reported(0, 0).baseline(), 0.506, kTolerance) << scores.roles[0].baseline;
}

}  // namespace
}  // namespace sightline::engine
