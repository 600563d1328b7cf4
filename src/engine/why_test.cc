#include "src/engine/why.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>

#include "src/engine/report_testing.h"
#include "src/engine/session.h"
#include "src/engine/testing.h"
#include "src/engine/why_report.h"
#include "src/engine/why_testing.h"
#include "src/format/testing.h"
#include "src/model/reference_testing.h"
#include "src/model/testing.h"
#include "src/ops/likelihood.h"

namespace sightline::engine {
namespace {

using format::error_of;
using format::TestDirectory;
using testing::about;
using testing::decoder;
using testing::edge_to;
using testing::kCat;
using testing::kTired;

const Session& encoder() {
  static const Session session = Session::open(testing::tiny_model());
  return session;
}

// The same edge as `--block` spells it.
std::string spelled(const Why& why, const WhyEdge& edge) {
  const AxisItem& item = why.items[edge.item];
  std::string maps = edge.head > 0 ? fmt::format("@L{}H{}", edge.layer, edge.head) : "";
  if (edge.layer > 0 && edge.head == 0) maps = fmt::format("@L{}", edge.layer);
  return fmt::format("/{}-{}->/{}-{}{}", why.row.token_begin + 1, why.row.token_end, item.token_begin + 1,
                     item.token_end, maps);
}

double scored(const Session& session, const std::string& answer, const std::vector<std::string>& knock_outs) {
  ScoreOptions options;
  options.knock_outs = knock_outs;
  const std::string targets[] = {answer};
  return session.score_targets({kCat}, targets, options).targets.front().summary.log_probability;
}

TEST(Why, GivesDecodersTheBitsOfScoresWithTheSameKnockOuts) {
  const std::vector<std::string> answers = {" cat", " street too"};  // of one token and of several
  const double before[] = {scored(decoder(), answers[0], {}), scored(decoder(), answers[1], {})};
  std::size_t edges = 0;
  for (const auto& [token, block] : {std::pair("#6", "all"), std::pair("sat", "layer"), std::pair("#6", "head")}) {
    const Why why = decoder().why({kCat}, about(token, answers, block));
    ASSERT_EQ(why.measures.size(), 3u);
    EXPECT_EQ(why.measures[0].value, before[0]);
    EXPECT_EQ(why.measures[1].value, before[1]);
    EXPECT_EQ(why.measures[2].value, before[0] - before[1]);
    EXPECT_EQ(why.ranked_by, 2u);
    for (const WhyEdge& edge : why.edges) {
      const double first = scored(decoder(), answers[0], {spelled(why, edge)}),
                   second = scored(decoder(), answers[1], {spelled(why, edge)});
      EXPECT_EQ(edge.effects[0], first - before[0]) << spelled(why, edge);
      EXPECT_EQ(edge.effects[1], second - before[1]) << spelled(why, edge);
      EXPECT_EQ(edge.effects[2], first - second - (before[0] - before[1])) << spelled(why, edge);
      ++edges;
    }
    for (const WhyHead& head : why.heads) {
      const double without = scored(decoder(), answers[0], {fmt::format("*->*@L{}H{}", head.layer, head.head)});
      EXPECT_EQ(head.effects[0], without - before[0]) << head.layer << " " << head.head;
    }
    EXPECT_EQ(why.heads.size(), 8u);
    EXPECT_TRUE(why.complete);
  }
  EXPECT_EQ(edges, 6u + 2 * 3u + 8 * 6u);
}

TEST(Why, TakesTheLikeliestTokenWhereNoAnswerIsGiven) {
  const Why why = decoder().why({kCat}, about("mat"));
  const std::string targets[] = {why.measures.front().answer};
  ScoreOptions options;
  const TargetScores scores = decoder().score_targets({kCat}, targets, options);
  EXPECT_TRUE(why.measures.front().likeliest);
  EXPECT_EQ(scores.targets.front().scores.front().rank, 1);
  EXPECT_EQ(scores.targets.front().summary.log_probability, why.measures.front().value);
}

// A BERT with a head for masked words: the random one of the conformance set, with words for its tokens and a mask.
class MaskedModel {
 public:
  MaskedModel() {
    testing::write_decoder(path(), "bert_mlm_legacy", /*bos=*/false);
    std::string tokenizer = format::content_of(path() / "tokenizer.json");
    for (std::size_t at; (at = tokenizer.find("[BOS]")) != std::string::npos;) tokenizer.replace(at, 5, "[MASK]");
    std::ofstream(path() / "tokenizer.json") << tokenizer;
  }
  std::filesystem::path path() const { return directory_.path() / "masked"; }

 private:
  TestDirectory directory_;
};

model::ForwardResult pass(const model::Transformer& transformer, const Why& why,
                          const std::vector<model::KnockOut>& knock_outs, bool logits) {
  std::vector<std::int32_t> ids;
  for (const LookToken& token : why.tokens) ids.push_back(token.id);
  const model::TokenSequence text{ids};
  return transformer.forward(
      {&text, 1}, {.logits = logits ? model::LogitRows::all : model::LogitRows::none, .knock_outs = knock_outs});
}

std::vector<model::KnockOut> knock_out_of(const Why& why, const WhyEdge& edge) {
  model::KnockOut one;
  if (edge.layer > 0) one.layers = {edge.layer - 1};
  if (edge.head > 0) one.heads = {edge.head - 1};
  const AxisItem& item = why.items[edge.item];
  one.rows = {{why.row.token_begin, why.row.token_end}};
  one.keys = {{item.token_begin, item.token_end}};
  return {one};
}

TEST(Why, ReadsAnswersOfMaskedModelsAtTheMask) {
  const MaskedModel files;
  const auto transformer = model::Transformer::load(files.path());
  const Session session = Session::open(files.path());
  const Why why = session.why({"the cat sat on the [MASK]", true}, about("cat", {"mat", "street"}, "head"));
  EXPECT_EQ(why.place, 5);
  const auto vocabulary = transformer.config().vocabulary;
  const auto read = [&](const std::vector<model::KnockOut>& knock_outs, std::size_t answer) {
    const std::vector<float> logits = pass(transformer, why, knock_outs, true).logits;
    const std::span<const float> row =
        std::span(logits).subspan(static_cast<std::size_t>(5 * vocabulary), static_cast<std::size_t>(vocabulary));
    return ops::LogSoftmax(row)(row[static_cast<std::size_t>(why.measures[answer].ids[0])]);
  };
  EXPECT_EQ(why.measures[0].value, read({}, 0));
  for (const WhyEdge& edge : why.edges) {
    for (const std::size_t answer : {0, 1}) {
      EXPECT_EQ(edge.effects[answer], read(knock_out_of(why, edge), answer) - why.measures[answer].value);
    }
  }
  EXPECT_EQ(std::ssize(why.edges), transformer.config().layers * transformer.config().query_heads * 6);
  // Without a mask the answer stands at the row's own place.
  EXPECT_EQ(session.why({"the cat sat on the mat"}, about("sat", {"cat"})).place, 2);
}

// 1 - cosine as it is written, of the means of last hidden states.
double moved(const std::vector<float>& before, const std::vector<float>& after, std::size_t width, std::size_t first,
             std::size_t end) {
  std::vector<double> a(width), b(width);
  for (std::size_t i = first * width; i < end * width; ++i) a[i % width] += before[i], b[i % width] += after[i];
  double ab = 0, aa = 0, bb = 0;
  for (std::size_t i = 0; i < width; ++i) ab += a[i] * b[i], aa += a[i] * a[i], bb += b[i] * b[i];
  return 1 - ab / std::sqrt(aa * bb);
}

TEST(Why, MeasuresHowVectorsMoveWhereThereAreNoAnswers) {
  const auto transformer = model::Transformer::load(testing::tiny_model());
  for (const char* block : {"all", "layer", "L2H1-2"}) {
    const Why why = encoder().why({kTired}, about("didn't", {}, block));
    ASSERT_EQ(why.measures.size(), 2u);
    EXPECT_GT(why.row.token_end - why.row.token_begin, 1);
    const auto width = static_cast<std::size_t>(transformer.config().width);
    const std::vector<float> before = pass(transformer, why, {}, false).last_hidden_state;
    for (const WhyEdge& edge : why.edges) {
      std::vector<model::KnockOut> knock_outs = knock_out_of(why, edge);
      if (std::string(block) == "L2H1-2") knock_outs[0].layers = {1}, knock_outs[0].heads = {0, 1};
      const std::vector<float> after = pass(transformer, why, knock_outs, false).last_hidden_state;
      EXPECT_NEAR(edge.effects[0], moved(before, after, width, 0, why.tokens.size()), 1e-12);
      EXPECT_NEAR(edge.effects[1],
                  moved(before, after, width, static_cast<std::size_t>(why.row.token_begin),
                        static_cast<std::size_t>(why.row.token_end)),
                  1e-12);
    }
  }
}

TEST(Why, ReadsWeightsOfTheLook) {
  const Look look = encoder().look({kTired});
  const Why why = encoder().why({kTired}, about("it", {}, "layer"));
  std::map<std::size_t, double> seen;
  for (const WhyEdge& edge : why.edges) {
    double want = 0, valued = 0;
    for (int head = 1; head <= look.heads(); ++head) {
      const MapId map{edge.layer, head};
      const AxisItem& item = why.items[edge.item];
      want += look.grid(map, {&why.row, 1}, {&item, 1}).at(0, 0) / static_cast<double>(look.heads());
      const Explanation steps = explain(look, why.row.token_begin, map, true);
      for (auto j = item.token_begin; j < item.token_end; ++j) {
        valued += steps.keys[static_cast<std::size_t>(j)].contribution_norm / look.heads();
      }
    }
    EXPECT_NEAR(edge.weight, want, 1e-7);
    EXPECT_NEAR(edge.value_weight, valued, 1e-5);
    seen[edge.item] = edge.rollout;
  }
  double sum = 0;
  for (const auto& [item, part] : seen) sum += part;
  EXPECT_EQ(seen.size(), why.items.size());
  EXPECT_NEAR(sum, 1, 1e-6);
}

TEST(Why, SaysWhereNoEdgeCanReachTheAnswer) {
  const auto said = [](const Why& why) {
    return std::ranges::any_of(why.notes, [](const auto& note) { return note.starts_with("In the last layer"); });
  };
  const Why top = decoder().why({kCat}, about("sat", {}, "L2"));
  EXPECT_TRUE(said(top));
  for (const WhyEdge& edge : top.edges) EXPECT_EQ(edge.effects[0], 0);
  EXPECT_FALSE(said(decoder().why({kCat}, about("mat", {}, "L2"))));
  EXPECT_FALSE(said(decoder().why({kCat}, about("sat", {}, "layer"))));
  EXPECT_FALSE(said(encoder().why({kTired}, about("it", {}, "L2"))));
}

TEST(Why, TakesTheHeaviestWordsWhereThereAreTooMany) {
  WhyOptions options = about("tired");
  const Why all = encoder().why({kTired}, options);
  options.edges = 4;
  options.heads = false;
  const Why some = encoder().why({kTired}, options);
  EXPECT_EQ(some.seen, std::ssize(all.items));
  EXPECT_EQ(some.taken, 4);
  ASSERT_EQ(some.edges.size(), 4u);
  EXPECT_TRUE(some.heads.empty());
  double least = 1, most = 0, sum = 0;
  for (const WhyEdge& edge : some.edges) least = std::min(least, edge.weight), sum += edge.weight;
  for (const WhyEdge& edge : all.edges) {
    const bool taken = std::ranges::any_of(some.edges, [&](const WhyEdge& one) { return one.item == edge.item; });
    if (!taken) most = std::max(most, edge.weight);
  }
  EXPECT_GE(least, most);
  EXPECT_NEAR(some.taken_weight, sum, 1e-12);
  EXPECT_EQ(some.notes.size(), 1u);
}

TEST(Why, GoesThroughLongTexts) {
  const TestDirectory directory;
  testing::write_decoder(directory.path() / "long", "llama", /*bos=*/true, 4096);
  const Session session = Session::open(directory.path() / "long");
  std::string text;
  for (int i = 0; i < 500; ++i) text += "the cat sat on the mat ";
  WhyOptions options = about("#2990", {"tired"});
  options.edges = 3;
  options.heads = false;
  const Why why = session.why({text}, options);
  EXPECT_EQ(why.tokens.size(), 3001u);
  EXPECT_EQ(why.seen, 2990);
  ASSERT_EQ(why.edges.size(), 3u);
  const std::string targets[] = {"tired"};
  const auto score = [&](std::vector<std::string> knock_outs) {
    ScoreOptions how;
    how.knock_outs = std::move(knock_outs);
    return session.score_targets({text}, targets, how).targets.front().summary.log_probability;
  };
  EXPECT_EQ(why.edges[0].effects[0], score({spelled(why, why.edges[0])}) - score({}));
  EXPECT_GE(why.work.ratio(), 2);
}

// Stops after so many calls.
class StopAfter : public Progress {
 public:
  explicit StopAfter(std::int64_t share) : share_(share) {}
  bool advance(std::int64_t done, std::int64_t total) override {
    EXPECT_GE(done, last_);
    last_ = done;
    return done * 100 < total * share_;
  }

 private:
  std::int64_t share_, last_ = 0;
};

TEST(Why, KeepsWhatIsDoneWhereItIsStopped) {
  WhyOptions options = about("it", {}, "head");
  const Why whole = encoder().why({kTired}, options);
  StopAfter never(200), most(80), first(1);
  options.progress = &never;
  EXPECT_EQ(encoder().why({kTired}, options).edges.size(), whole.edges.size());
  options.progress = &most;
  const Why stopped = encoder().why({kTired}, options);
  EXPECT_FALSE(stopped.complete);
  EXPECT_TRUE(stopped.heads.empty());
  EXPECT_LT(stopped.edges.size(), whole.edges.size());
  EXPECT_GT(stopped.edges.size(), 0u);
  for (const WhyEdge& edge : stopped.edges) {
    EXPECT_EQ(edge.effects, edge_to(whole, edge.item, edge.layer, edge.head).effects);
  }
  options.progress = &first;
  EXPECT_THROW(encoder().why({kTired}, options), Cancelled);
}

TEST(Why, TakesAtMostHalfTheOperationsOfRunsOneByOne) {
  for (const char* block : {"all", "layer", "head"}) {
    WhyOptions options = about("mat", {}, block);
    options.heads = false;
    EXPECT_GE(decoder().why({kCat}, options).work.ratio(), 2) << block;
  }
}

TEST(Why, SaysWhatItCannotDo) {
  const auto message = [](const Session& session, const std::string& text, const WhyOptions& options) {
    return error_of<BadArgument>([&] { session.why({text, true}, options); });
  };
  const std::tuple<const Session*, WhyOptions, const char*> cases[] = {
      {&decoder(), about("dog"), "dog"},
      {&decoder(), about("the"), "the:"},
      {&decoder(), about("mat", {""}), "an answer is empty"},
      {&decoder(), about("mat", {" cat", ""}), "an answer is empty"},
      {&decoder(), about("mat", {}, "every"), "\"every\" names no layers or heads: say L4H2"},
      {&decoder(), about("mat", {}, ""), "names no layers or heads"},
      {&decoder(), about("mat", {}, "L3"), "there is no layer 3: tiny-decoder has layers 1 to 2"},
      {&decoder(), about("mat", {}, "L1H5"), "there is no head 5"},
      {&encoder(), about("mat", {"cat"}), "has no output matrix"},
  };
  for (const auto& [session, options, want] : cases) {
    const std::string said = message(*session, kCat, options);
    EXPECT_NE(said.find(want), std::string::npos) << said;
  }
  WhyOptions none = about("mat");
  none.edges = 0;
  EXPECT_NE(message(decoder(), kCat, none).find("take 1 or more"), std::string::npos);
  const MaskedModel files;
  const Session masked = Session::open(files.path());
  EXPECT_NE(message(masked, "the [MASK] sat", about("the", {"zx"})).find("is 2 tokens (z, ##x)"), std::string::npos);
  EXPECT_NE(message(masked, "the [MASK] sat", about("the", {" "})).find("becomes a token"), std::string::npos);
  EXPECT_NE(message(masked, "the [MASK] sat", about("the", {"漢"})).find("not in the vocabulary"), std::string::npos);
  EXPECT_NE(message(masked, "[MASK] [MASK] sat", about("sat", {"cat"})).find("2 masked tokens"), std::string::npos);
  EXPECT_NE(message(masked, "the zx sat", about("zx", {"cat"})).find("is 2 pieces"), std::string::npos);
}

TEST(WhyReport, HoldsAllOfIt) {
  const Why why = decoder().why({kCat}, about("mat", {" cat", " sat"}, "layer"));
  const ReportJson json = why_report(decoder().model(), why);
  EXPECT_EQ(json.at("sightline_why"), kReportVersion);
  EXPECT_EQ(json.at("caveat"), kCaveat);
  EXPECT_EQ(json.at("items").size(), 6u);
  EXPECT_EQ(json.at("measures").size(), 3u);
  EXPECT_EQ(json.at("measures")[2].at("kind"), "margin");
  EXPECT_EQ(json.at("ranked_by"), 2);
  ASSERT_EQ(json.at("edges").size(), why.edges.size());
  for (std::size_t i = 0; i < why.edges.size(); ++i) {
    EXPECT_EQ(json.at("edges")[i].at("item"), why.edges[i].item);
    EXPECT_EQ(json.at("edges")[i].at("layer"), why.edges[i].layer);
    EXPECT_EQ(json.at("edges")[i].at("effects")[1].get<double>(), why.edges[i].effects[1]);
  }
  EXPECT_EQ(json.at("by_map").size(), 2u);
  EXPECT_EQ(json.at("spearman").at("weight").get<double>(), why.correlation.weight);
  EXPECT_NEAR(json.at("spearman").at("chance").get<double>(), 1.96 / std::sqrt(11), 1e-4);  // 2 layers of 6 edges
  EXPECT_NEAR(json.at("by_map")[0].at("spearman").at("chance").get<double>(), 1.96 / std::sqrt(5), 1e-4);
  EXPECT_EQ(json.at("heads").size(), 8u);
  ASSERT_EQ(json.at("direct").size(), 3u);
  EXPECT_EQ(json.at("direct")[0].at("heads").size(), 2u);
  EXPECT_EQ(json.at("direct")[0].at("heads")[1].size(), 4u);
  EXPECT_GT(json.at("work").at("ratio").get<double>(), 1);
  EXPECT_EQ(json.at("complete"), true);
}

TEST(WhyReport, IsDocumentedFieldByField) {
  Why why = decoder().why({kCat}, about("mat", {" cat", " sat"}, "head"));
  why.place = 0;  // as of a masked token
  why.notes = {"a note"};
  testing::expect_documented("## Where and why", testing::fields_of(why_report(decoder().model(), why)));
}

TEST(Why, OfMiniLmSetsWhereItLooksBesideWhatDependsOnIt) {
  if (!testing::has_minilm()) GTEST_SKIP() << testing::no_minilm();
  const Session session = Session::open(testing::minilm());
  const Why why = session.why({kTired}, about("it", {}, "head"));
  const auto animal = find_item(why.items, "animal");
  EXPECT_NEAR(edge_to(why, animal, 4, 2).weight, 0.677, 0.001);  // shared measurements of this head
  EXPECT_EQ(why.edges.size(), 72 * why.items.size());
  EXPECT_GE(why.work.ratio(), 2);
  // Naive passes, for some of the edges.
  const auto transformer = model::Transformer::load(testing::minilm());
  const auto width = static_cast<std::size_t>(transformer.config().width);
  const std::vector<float> before = pass(transformer, why, {}, false).last_hidden_state;
  for (std::size_t i = 0; i < why.edges.size(); i += 97) {
    const std::vector<float> after = pass(transformer, why, knock_out_of(why, why.edges[i]), false).last_hidden_state;
    EXPECT_NEAR(why.edges[i].effects[0], moved(before, after, width, 0, why.tokens.size()), 1e-12);
  }
}

}  // namespace
}  // namespace sightline::engine
