#include "src/engine/score.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "src/engine/score_report.h"
#include "src/engine/session.h"
#include "src/engine/testing.h"
#include "src/format/testing.h"
#include "src/generation/scoring.h"

namespace sightline::engine {
namespace {

using format::error_of;
using format::TestDirectory;
using Ids = std::vector<std::int32_t>;

constexpr char kText[] = "the cat sat on the mat, because the animal was too tired to cross the street";

std::filesystem::path tiny_path() { return testing::source_path("tests/data/tiny-decoder"); }
// Puts no token before a text.
const Session& tiny() {
  static const Session session = Session::open(tiny_path());
  return session;
}

// A decoder with a special token before every text.
class WithBos {
 public:
  WithBos() { testing::write_decoder(directory_.path() / "model", "llama", true); }
  std::filesystem::path path() const { return directory_.path() / "model"; }
  Session open() const { return Session::open(path()); }

 private:
  TestDirectory directory_;
};

Ids ids_of(const std::vector<LookToken>& tokens) {
  Ids ids;
  for (const LookToken& token : tokens) ids.push_back(token.id);
  return ids;
}

TEST(ScoreWindows, ScoreEachTokenOnceAfterEnoughOthers) {
  for (const std::int64_t tokens : {1, 2, 7, 8, 9, 63, 64, 65, 100}) {
    for (const std::int64_t room : {2, 3, 8, 64}) {
      for (std::int64_t stride = 1; stride < room; ++stride) {
        std::int64_t next = 0;
        for (const ScoreWindow& window : score_windows(tokens, room, stride, 0)) {
          EXPECT_EQ(window.first, next);
          EXPECT_LE(window.end - window.begin, room);
          EXPECT_GT(window.end, window.first);
          EXPECT_TRUE(window.begin == 0 || window.first - window.begin >= room - stride);
          next = window.end;
        }
        EXPECT_EQ(next, tokens);
      }
    }
  }
}

// The windows of Hugging Face's guide to perplexity, written down for ten tokens, a length of 4 and a stride of 3.
TEST(ScoreWindows, AreThoseOfTheGuide) {
  const std::vector<ScoreWindow> want = {{0, 4, 1}, {3, 7, 4}, {6, 10, 7}};
  EXPECT_EQ(score_windows(10, 4, 3, 1), want);
}

TEST(Score, SumsWhatGenerationSaysOfItsOwnTokens) {
  PromptedGeneration prompted = tiny().generate("the cat", {.max_tokens = 12, .log_probability = true});
  std::vector<double> said;
  Ids ids = prompted.generation.prompt().ids;
  prompted.generation.run([&](const model::GeneratedToken& token) {
    said.push_back(*token.log_probability);
    ids.push_back(token.id);
    return true;
  });
  const model::Model model = model::open(tiny_path());
  model::Scoring scoring(model.transformer, {.room = std::ssize(ids)});
  std::vector<double> scored;
  scoring.score(ids, std::ssize(prompted.prompt), [&](auto, const auto& of) { scored.push_back(of.log_probability); });
  EXPECT_EQ(scored, said);
}

TEST(Score, TellsOfEachTokenAndOfAll) {
  const Score score = tiny().score(kText, {.top = 5});
  ASSERT_EQ(score.scores.size(), score.tokens.size() - 1) << "nothing stands before the first token";
  double total = 0;
  for (std::size_t i = 0; i < score.scores.size(); ++i) {
    const TokenScore& token = score.scores[i];
    EXPECT_EQ(token.token, static_cast<std::int64_t>(i) + 1);
    EXPECT_EQ(token.before, token.token);
    ASSERT_EQ(token.likeliest.size(), 5u);
    EXPECT_EQ(token.rank == 1, token.likeliest.front().id == score.tokens[i + 1].id);
    EXPECT_GE(token.likeliest.front().log_probability, token.log_probability);
    total += token.log_probability;
  }
  const ScoreSummary& sums = score.summary;
  EXPECT_EQ(sums.log_probability, total);
  EXPECT_EQ(sums.tokens, std::ssize(score.scores));
  EXPECT_EQ(sums.bytes, static_cast<std::int64_t>(std::string(kText).size() - score.tokens[0].byte_end));
  EXPECT_NEAR(std::log(sums.perplexity()), -total / static_cast<double>(sums.tokens), 1e-12);
  EXPECT_NEAR(sums.bits_per_byte() * static_cast<double>(sums.bytes) * std::log(2), -total, 1e-9);
  EXPECT_EQ(score.windows, 1);
  EXPECT_TRUE(score.complete);
}

TEST(Score, ASpecialTokenBeforeTheTextLetsItsFirstTokenBeScored) {
  const WithBos decoder;
  const Score score = decoder.open().score("cat");
  ASSERT_EQ(score.tokens.size(), 2u);
  ASSERT_EQ(score.scores.size(), 1u);
  EXPECT_EQ(score.scores.front().token, 1);
  EXPECT_EQ(score.summary.bytes, 3);
  EXPECT_NE(error_of<BadArgument>([] { tiny().score("a"); }).find("give a longer text"), std::string::npos);
  EXPECT_THROW(decoder.open().score(""), BadArgument);
}

// Each window by itself, through the transformer alone: the special token, then the window's tokens.
TEST(Score, WindowsAreTextsOfTheirOwn) {
  const WithBos decoder;
  for (const bool bos : {false, true}) {
    const std::filesystem::path path = bos ? decoder.path() : tiny_path();
    const Session session = Session::open(path);
    const model::Model model = model::open(path);
    const std::int64_t context = 8, stride = 3, prefix = bos ? 1 : 0;
    const Score score = session.score(kText, {.context = context, .stride = stride});
    const Ids ids = ids_of(score.tokens);
    const auto windows = score_windows(std::ssize(ids) - prefix, context - prefix, stride, bos ? 0 : 1);
    ASSERT_GT(windows.size(), 2u);
    EXPECT_EQ(score.windows, std::ssize(windows));
    std::size_t next = 0;
    for (const ScoreWindow& window : windows) {
      Ids of(ids.begin(), ids.begin() + prefix);
      of.insert(of.end(), ids.begin() + prefix + window.begin, ids.begin() + prefix + window.end);
      model::Scoring scoring(model.transformer, {.room = context});
      scoring.score(of, prefix + window.first - window.begin, [&](std::int64_t place, const auto& likelihood) {
        ASSERT_LT(next, score.scores.size());
        EXPECT_EQ(score.scores[next].token, window.begin + place);
        EXPECT_EQ(score.scores[next].before, place);
        EXPECT_EQ(score.scores[next].log_probability, likelihood.log_probability);
        EXPECT_TRUE(window.begin == 0 || place >= context - stride);
        ++next;
      });
    }
    EXPECT_EQ(next, score.scores.size());
  }
}

// The edges of text tokens 1, 5 to 8 to tokens 0 to 2 and 4, one by one where a window holds both ends.
TEST(Score, KnocksEdgesOutOfEveryWindow) {
  const WithBos decoder;
  for (const bool bos : {false, true}) {
    const std::filesystem::path path = bos ? decoder.path() : tiny_path();
    const Session session = Session::open(path);
    const model::Model model = model::open(path);
    const std::int64_t context = 7, stride = 2, prefix = bos ? 1 : 0;
    ScoreOptions options{.context = context, .stride = stride};
    options.knock_outs = {"/6-9->/1-3", "/6-9->/5", "/2->/1-3"};  // pieces by number, from 1
    const Score score = session.score(kText, options);
    const Ids ids = ids_of(score.tokens);
    ASSERT_GT(ids.size(), 12u);
    const auto is_row = [](std::int64_t at) { return at == 1 || (at >= 5 && at <= 8); };
    const auto is_key = [](std::int64_t row, std::int64_t at) { return at <= 2 || (row >= 5 && at == 4); };
    std::vector<double> want;
    int cuts = 0;
    for (const ScoreWindow& window : score_windows(std::ssize(ids) - prefix, context - prefix, stride, bos ? 0 : 1)) {
      std::vector<std::int64_t> places;  // in the text, of the window's tokens
      if (bos) places.push_back(0);
      for (std::int64_t i = window.begin; i < window.end; ++i) places.push_back(prefix + i);
      Ids of;
      std::vector<model::KnockOut> edges;
      for (std::int64_t row = 0; row < std::ssize(places); ++row) {
        const std::int64_t text_row = places[static_cast<std::size_t>(row)];
        of.push_back(ids[static_cast<std::size_t>(text_row)]);
        for (std::int64_t key = 0; is_row(text_row) && key <= row; ++key) {
          if (!is_key(text_row, places[static_cast<std::size_t>(key)])) continue;
          edges.push_back({.rows = {{row, row + 1}}, .keys = {{key, key + 1}}});
        }
      }
      cuts += static_cast<int>(edges.size());
      model::Scoring scoring(model.transformer, {.room = context});
      scoring.knock_out(edges);
      scoring.score(of, prefix + window.first - window.begin,
                    [&](auto, const auto& likelihood) { want.push_back(likelihood.log_probability); });
    }
    EXPECT_GT(cuts, 20);
    std::vector<double> got;
    for (const TokenScore& token : score.scores) got.push_back(token.log_probability);
    EXPECT_EQ(got, want);
    EXPECT_NE(got.back(), 0);
    EXPECT_NE(score.summary.log_probability,
              session.score(kText, {.context = context, .stride = stride}).summary.log_probability);
  }
}

TEST(Score, RefusesWhatCannotBe) {
  const auto error = [](const ScoreOptions& options) {
    return error_of<BadArgument>([&] { tiny().score(kText, options); });
  };
  EXPECT_NE(error({.context = 8, .stride = 8}).find("it can be 1 to 7"), std::string::npos);
  EXPECT_NE(error({.context = 1}).find("-c"), std::string::npos);
  EXPECT_NE(error({.context = 1000}).find("takes at most 256"), std::string::npos);
  EXPECT_NE(error({.top = 65}).find("top is 65"), std::string::npos);
  ScoreOptions blocked;
  for (const char* spec : {":generated->cat", "dog->cat", "cat->the@L9"}) {
    blocked.knock_outs = {spec};
    EXPECT_NE(error(blocked).find(spec), std::string::npos);
  }
  const Session encoder = Session::open(testing::tiny_model());
  EXPECT_NE(error_of<BadArgument>([&] { encoder.score("a b c"); }).find("is an encoder"), std::string::npos);
  const std::vector<std::string> targets = {"a"};
  EXPECT_THROW(encoder.score_targets("a b c", targets), BadArgument);
}

TEST(Score, IsRefusedWhereItCannotFit) {
  const MemoryPlan plan = tiny().plan_score(64);
  EXPECT_GT(plan.kept, 0);
  EXPECT_GT(plan.workspace, 0);
  EXPECT_GT(tiny().plan_score(64, {.top = 64}).kept, plan.kept);
  const Session small = Session::open(tiny_path(), {.memory = plan.weights + 1000});
  EXPECT_THROW(small.score(kText), OutOfMemory);
}

class StopsAfter : public Progress {
 public:
  explicit StopsAfter(std::int64_t tokens) : tokens_(tokens) {}
  bool advance(std::int64_t done, std::int64_t total) override {
    EXPECT_LE(done, total);
    return done < tokens_;
  }

 private:
  std::int64_t tokens_;
};

TEST(Score, KeepsWhatIsDoneWhenStopped) {
  const ScoreOptions windows{.context = 8, .stride = 4};
  const Score whole = tiny().score(kText, windows);
  StopsAfter stop(20);
  ScoreOptions options = windows;
  options.progress = &stop;
  const Score part = tiny().score(kText, options);
  EXPECT_FALSE(part.complete);
  ASSERT_GT(part.scores.size(), 0u);
  ASSERT_LT(part.scores.size(), whole.scores.size());
  for (std::size_t i = 0; i < part.scores.size(); ++i) {
    EXPECT_EQ(part.scores[i].log_probability, whole.scores[i].log_probability);
  }
  EXPECT_EQ(part.summary.tokens, std::ssize(part.scores));
  EXPECT_LT(part.summary.bytes, whole.summary.bytes);
}

// Targets behind a prompt are the ends of texts that are scored whole.
TEST(ScoreTargets, AreTheEndsOfWholeTexts) {
  const std::vector<std::string> targets = {" on the mat", " was tired", ", because"};
  const TargetScores scores = tiny().score_targets("the cat sat", targets);
  ASSERT_EQ(scores.targets.size(), 3u);
  EXPECT_FALSE(scores.seam_moved());
  std::vector<std::int64_t> ranks;
  for (const TargetScore& target : scores.targets) {
    const Score whole = tiny().score("the cat sat" + target.target);
    EXPECT_EQ(target.summary.bytes, std::ssize(target.target));
    ASSERT_EQ(target.scores.size(), target.tokens.size() - static_cast<std::size_t>(scores.first));
    for (const TokenScore& token : target.scores) {
      EXPECT_EQ(token.log_probability, whole.scores[static_cast<std::size_t>(token.token - 1)].log_probability);
    }
    for (const TargetScore& other : scores.targets) {
      EXPECT_EQ(target.rank<other.rank, target.summary.log_probability> other.summary.log_probability);
    }
  }
}

// "ca" is two tokens, "cat" is one: a target that makes it so moves the seam for all.
TEST(ScoreTargets, AllBeginWhereTheFirstOneChangesAToken) {
  const WithBos decoder;
  const Session session = decoder.open();
  const std::vector<std::string> targets = {" the", "t"};
  const TargetScores scores = session.score_targets("the ca", targets);
  EXPECT_TRUE(scores.seam_moved());
  EXPECT_EQ(scores.first, 2) << "after [BOS] and the";
  EXPECT_EQ(scores.targets[0].scores.size(), 3u) << "c ##a the";
  EXPECT_EQ(scores.targets[1].scores.size(), 1u) << "cat";
  ScoreOptions blocked;
  blocked.knock_outs = {":generated->the"};
  EXPECT_THROW(session.score_targets("the ca", targets, blocked), BadArgument);
  EXPECT_EQ(scores.targets[0].summary.bytes, 7) << "\" ca the\"";
  EXPECT_EQ(scores.targets[0].scores.back().log_probability, session.score("the ca the").scores.back().log_probability);
}

// A target's tokens are :generated, as they would be if the model had written them; words are the prompt's.
TEST(ScoreTargets, KnockOutsHoldForWhatIsToCome) {
  const std::vector<std::string> targets = {" on the mat", " was tired"};
  ScoreOptions options;
  options.knock_outs = {":generated->cat@L1", "sat->the"};
  const TargetScores scores = tiny().score_targets("the cat sat", targets, options);
  EXPECT_EQ(scores.knock_outs.size(), 2u);
  for (const TargetScore& target : scores.targets) {
    ScoreOptions by_number;
    by_number.knock_outs = {fmt::format("/4-{}->/2@L1", target.tokens.size()), "/3->/1"};
    const Score whole = tiny().score("the cat sat" + target.target, by_number);
    for (const TokenScore& token : target.scores) {
      EXPECT_EQ(token.log_probability, whole.scores[static_cast<std::size_t>(token.token - 1)].log_probability);
    }
    EXPECT_NE(target.summary.log_probability, tiny()
                                                  .score_targets("the cat sat", targets)
                                                  .targets[static_cast<std::size_t>(&target - scores.targets.data())]
                                                  .summary.log_probability);
  }
}

TEST(ScoreTargets, RefusesWhatCannotBe) {
  const auto error = [](const std::string& prompt, const std::string& target, const ScoreOptions& options = {}) {
    const std::vector<std::string> targets = {target};
    return error_of<BadArgument>([&] { tiny().score_targets(prompt, targets, options); });
  };
  EXPECT_NE(error("", "the cat").find("nothing stands before"), std::string::npos);
  EXPECT_NE(error("the cat", "").find("adds no token"), std::string::npos);
  EXPECT_NE(error("the cat", " sat on the mat", {.context = 3}).find("-c"), std::string::npos);
}

TEST(ScoreReport, HoldsWhatWasScored) {
  ScoreOptions options{.top = 2};
  options.knock_outs = {"mat->cat@L2H3"};
  const Score score = tiny().score(kText, options);
  const ReportJson json = ReportJson::parse(report_text(score_report(tiny().model(), score, options, 2)));
  EXPECT_EQ(json.at("sightline_score"), kReportVersion);
  ASSERT_EQ(json.at("tokens").size(), score.tokens.size());
  EXPECT_FALSE(json.at("tokens")[0].contains("log_probability"));
  const ReportJson& token = json.at("tokens")[3];
  EXPECT_EQ(token.at("log_probability"), score.scores[2].log_probability);
  EXPECT_EQ(token.at("rank"), score.scores[2].rank);
  EXPECT_EQ(token.at("likeliest").at("label"), score.scores[2].likeliest[0].label);
  EXPECT_EQ(token.at("top").size(), 2u);
  EXPECT_EQ(json.at("summary").at("perplexity"), score.summary.perplexity());
  EXPECT_EQ(json.at("complete"), true);
  EXPECT_EQ(json.at("blocked")[0].at("spec"), "mat->cat@L2H3");
  EXPECT_EQ(json.at("blocked")[0].at("keys"), ReportJson::parse("[[1, 2]]"));
  EXPECT_EQ(json.at("text"), kText);
  EXPECT_EQ(token.at("text"), "on");
  EXPECT_EQ(token.at("label"), " on");
}

}  // namespace
}  // namespace sightline::engine
