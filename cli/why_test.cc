// The command why, as a user meets it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <csignal>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/display_text.h"
#include "cli/failure_testing.h"
#include "src/tokenizer/unicode.h"

namespace sightline::cli {
namespace {

using nlohmann::json;
using testing::expect_failure;
using testing::Outcome;
using testing::run_program;
using testing::Start;
using testing::TemporaryFolder;
using Arguments = std::vector<std::string>;

constexpr char kText[] = "the cat sat on the mat";

Start start_with(Arguments arguments, const char* locale = "C.UTF-8") {
  return testing::start_on("why", testing::tiny_decoder(), std::move(arguments), locale);
}

Outcome why(Arguments arguments) { return run_program(start_with(std::move(arguments))); }

json json_of(const Outcome& outcome) {
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  return json::parse(outcome.output);
}

void expect_parts(const Outcome& outcome, const std::vector<std::string>& parts) {
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  for (const std::string& part : parts) EXPECT_NE(outcome.output.find(part), std::string::npos) << outcome.output;
}

TEST(WhyCommand, ListsEdgesWithTheLargestEffectsFirst) {
  const Outcome shown = why({kText, "--token", "mat"});
  expect_parts(shown, {"\"mat\" in tiny-decoder: 6 edges, each edge in all maps at once", "(the model's likeliest)",
                       "unrelated ones reach 0.88 one time", "weight", "rollout", "Spearman's rank correlation",
                       "Effect of a whole head knocked out", "times as many",
                       "Attention weights show where information flowed, not why."});
  const json report = json_of(why({kText, "--token", "mat", "--json"}));
  double before = INFINITY;
  std::size_t at = 0;
  for (const json& edge : report.at("edges")) {
    const double effect = std::abs(edge.at("effects")[0].get<double>());
    EXPECT_LE(effect, before);
    before = effect;
    const std::string row = fmt::format(" {:>6.4f} ", edge.at("weight").get<double>());
    EXPECT_NE(shown.output.find(row, at), std::string::npos) << row;
    at = shown.output.find(row, at);
  }
}

TEST(WhyCommand, ShowsAnswersMapsAndHowManyAreLeftOut) {
  expect_parts(why({kText, "--token", "mat", "--answer", " cat", "--answer", " sat", "--block", "head", "--top", "3"}),
               {"48 edges, each edge in one head at a time", "effect 1", "effect 2", "effect 3*", "margin",
                "log-probability of \" cat\"", "45 more", "The same of weight in each head by itself", "head"});
  expect_parts(why({kText, "--token", "mat", "--block", "layer", "--no-heads"}), {"layer  edges  weight", "L1", "L2"});
  expect_parts(why({kText, "--token", "mat", "--block", "L2H1-2,L1"}), {"each edge in L2H1-2,L1 at once"});
  expect_parts(why({kText, "--token", "mat", "--edges", "2"}), {"the 2 of largest weight are taken"});
  expect_parts(run_program(testing::start_on("why", testing::tiny(), {"The animal was tired.", "--token", "was"})),
               {"of the text's vector", "of the word's own last vector"});
}

// Four effects find room, and the one that ranks the edges is among them.
TEST(WhyCommand, ShowsTheEffectThatRanks) {
  Arguments arguments = {kText, "--token", "mat", "--no-heads"};
  for (const char* answer : {" cat", " sat", " on", " the", " mat"}) {
    arguments.insert(arguments.end(), {"--answer", answer});
  }
  const Outcome shown = why(arguments);
  expect_parts(shown, {"effect 1", "effect 2", "effect 3", "effect 6*"});
  arguments.emplace_back("--json");
  const json report = json_of(why(arguments));
  EXPECT_EQ(report.at("ranked_by"), 5);
  for (const json& edge : report.at("edges")) {
    const std::string effect = fmt::format("{:+.3g}\n", edge.at("effects")[5].get<double>());
    EXPECT_NE(shown.output.find(effect), std::string::npos) << effect;
  }
}

TEST(WhyCommand, FitsTheTerminalInEveryLocale) {
  for (const char* locale : {"C.UTF-8", "C"}) {
    for (const Arguments& more : {Arguments{}, Arguments{"--block", "head", "--answer", " é漢", "--answer", " b"},
                                  Arguments{"--block", "layer", "--pieces"}}) {
      Arguments arguments = {"the c\xc3\xa0t sat \xe6\xbc\xa2 on the mat", "--token", "mat", "--color", "never"};
      arguments.insert(arguments.end(), more.begin(), more.end());
      const Outcome outcome = run_program(start_with(arguments, locale));
      EXPECT_EQ(outcome.status, 0) << outcome.error;
      std::istringstream lines(outcome.output);
      for (std::string line; std::getline(lines, line);) EXPECT_LE(display_width(line), 80) << line;
      if (std::string(locale) != "C") continue;
      for (const char byte : outcome.output) EXPECT_TRUE((byte >= 0x20 && byte < 0x7f) || byte == '\n') << int{byte};
    }
  }
}

// Whatever the width, the effect by which edges are ranked has a column, and lines are no wider.
TEST(WhyCommand, ShowsTheRankingEffectInAnyWidth) {
  for (const char* columns : {"60", "80", "100"}) {
    for (const char* block : {"all", "layer", "head"}) {
      Start start = start_with({kText, "--token", "mat", "--block", block, "--answer", " cat", "--answer", " sat",
                                "--answer", " on", "--answer", " the", "--answer", " mat"},
                               "C");
      start.environment["COLUMNS"] = columns;
      const Outcome outcome = run_program(start);
      expect_parts(outcome, {"effect 6*"});
      std::istringstream lines(outcome.output);
      for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), std::stoul(columns)) << line;
    }
  }
}

TEST(WhyCommand, DrawsAPicture) {
  const TemporaryFolder folder;
  const std::string svg = folder.path("why.svg"), png = folder.path("why.png");
  const json report = json_of(why({kText, "--token", "mat", "--json", "-o", svg}));
  EXPECT_EQ(why({kText, "--token", "mat", "-o", png}).status, 0);
  const std::string drawn = testing::file_content(svg);
  for (const json& edge : report.at("edges")) {
    const std::string number = fmt::format(">{:+#.3g}<", edge.at("effects")[0].get<double>());
    EXPECT_NE(drawn.find(number), std::string::npos) << number;
  }
  EXPECT_NE(drawn.find("not why."), std::string::npos);
  EXPECT_TRUE(testing::file_content(png).starts_with("\x89PNG"));
  EXPECT_EQ(folder.names().size(), 2u);
}

TEST(WhyCommand, SaysWhatIsWrongInALine) {
  expect_failure(why({kText, "--token", "dog"}), 1, {"dog"});
  expect_failure(why({kText, "--token", "mat", "--block", "every"}), 1, {"\"every\"", "all, layer, head"});
  expect_failure(why({kText, "--token", "mat", "--block", "L9"}), 1, {"there is no layer 9"});
  expect_failure(why({kText, "--token", "mat", "--answer", ""}), 2, {"--answer is empty"});
  expect_failure(why({"the cat sat on the ma", "--token", "cat", "--answer", "t"}), 1, {"begin it with a space"});
  expect_failure(why({kText, "--token", "mat", "--top", "0"}), 2, {"--top is 0"});
  expect_failure(why({kText, "--token", "mat", "-o", "why.txt"}), 2, {".png or .svg"});
  expect_failure(why({kText, "--token", "mat", "--edges", "0"}), 2, {"--edges"});
  expect_failure(why({kText}), 2, {"--token"});
  expect_failure(run_program(testing::start_on("why", testing::tiny(), {"a b", "--token", "a", "--answer", "b"})), 1,
                 {"has no output matrix"});
}

TEST(WhyCommand, CtrlCShowsWhatIsDone) {
  const TemporaryFolder folder;
  engine::testing::write_long_model(folder.path("model"), 4096);
  std::string text;
  for (int i = 0; i < 300; ++i) text += "the animal was too tired ";
  Start start =
      testing::start_on("why", folder.path("model"), {text + "it", "--token", "it", "--block", "head", "--json"});
  start.signal = SIGINT;
  const Outcome outcome = run_program(start);
  EXPECT_EQ(outcome.status, 130) << outcome.error;
  if (outcome.output.empty()) return;  // the signal came before the first knock-out
  EXPECT_EQ(json::parse(outcome.output).at("complete"), false);
}

}  // namespace
}  // namespace sightline::cli
