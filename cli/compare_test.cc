// The command compare, as a user meets it.
#include <gtest/gtest.h>

#include <csignal>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/failure_testing.h"
#include "src/tokenizer/unicode.h"

namespace sightline::cli {
namespace {

using engine::testing::kTired;
using nlohmann::json;
using testing::expect_failure;
using testing::Outcome;
using testing::run_program;
using testing::Start;
using testing::TemporaryFolder;
using Arguments = std::vector<std::string>;

constexpr char kOther[] = "The animal didn't cross the street as it was so very tired.";
constexpr char kSat[] = "the cat sat on the mat", kWas[] = "the cat was on the mat";

Start start_with(const std::string& model, Arguments arguments, const char* locale = "C.UTF-8") {
  return testing::start_on("compare", model, std::move(arguments), locale);
}

Outcome compare(Arguments arguments, const std::string& input = "") {
  Start start = start_with(testing::tiny(), std::move(arguments));
  start.input = input;
  return run_program(start);
}

Outcome compare_causal(Arguments arguments) {
  return run_program(start_with(testing::tiny_decoder(), std::move(arguments)));
}

// Sentences are broken between words.
std::string on_one_line(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return text;
}

void expect_parts(const Outcome& outcome, const Arguments& parts) {
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  for (const std::string& part : parts) {
    EXPECT_NE(on_one_line(outcome.output).find(part), std::string::npos) << part << " in\n" << outcome.output;
  }
}

json json_of(const Outcome& outcome) {
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  return json::parse(outcome.output);
}

TEST(CompareCommand, RanksHeadsByAWordsRow) {
  const Outcome shown = compare({kTired, kOther, "--token", "it", "--on", "animal", "--on", "street"});
  expect_parts(shown, {"Where \"it\" looks in two texts", "A  The animal", "replaced: \"because/as\"",
                       "in B alone: \"very\"", "JS", "shift", ": where \"it\" looks", "change", "ln 2 = 0.693",
                       "Attention weights show where information flowed, not why."});
  const json report = json_of(compare({kTired, kOther, "--token", "it", "--on", "animal", "--on", "street", "--json"}));
  EXPECT_EQ(report.at("by"), "shift");
  ASSERT_EQ(report.at("rows").size(), 6u);
  EXPECT_NE(shown.output.find("\n" + report.at("rows")[0].at("name").get<std::string>()), std::string::npos);
  const json by_divergence =
      json_of(compare({kTired, kOther, "--token", "it", "--on", "animal", "--by", "divergence", "--json"}));
  EXPECT_EQ(by_divergence.at("by"), "divergence");
  EXPECT_GE(by_divergence.at("rows")[0].at("divergence"), by_divergence.at("rows")[1].at("divergence"));
  const json one = json_of(compare({kTired, kOther, "--token", "it", "--layer", "2", "--head", "3", "--json"}));
  ASSERT_EQ(one.at("rows").size(), 1u);
  EXPECT_EQ(one.at("rows")[0].at("name"), "L2H3");
  expect_parts(compare({kTired, kOther, "--token", "it", "--top", "2"}), {"4 more heads: --top 6 lists all"});
}

TEST(CompareCommand, RanksAllRowsWithoutAToken) {
  const Outcome shown = compare({kTired, kOther});
  expect_parts(shown, {"the rows that moved farthest", "mean of all", "row of", "--token WORD"});
  const json report = json_of(compare({kTired, kOther, "--json", "--top", "4"}));
  EXPECT_TRUE(report.at("item").is_null());
  EXPECT_EQ(report.at("rows").size(), 4u);
  EXPECT_GT(report.at("words").size(), 10u);
  expect_parts(compare({kTired, kOther, "--pieces"}), {"##"});
}

TEST(CompareCommand, NumbersWordsThatStandThereSeveralTimes) {
  std::string a, b;
  for (int i = 0; i < 14; ++i) a += "animal street ";
  b = "animal cat " + a.substr(14);
  const Outcome shown = compare({a, b, "--token", "cat"});
  expect_parts(shown, {"replaced: \"street/cat\"", "more "});
  EXPECT_NE(shown.output.find(":1"), std::string::npos) << "the number stays where the word is cut\n" << shown.output;
  expect_parts(compare({kSat, kWas}), {"the:1 ", "the:2 "});
}

TEST(CompareCommand, TakesTextsFromFilesAndStandardInput) {
  const std::string expected = compare({kSat, kWas}).output;
  const TemporaryFolder folder;
  std::ofstream(folder.path("a")) << kSat;
  std::ofstream(folder.path("b")) << kWas;
  EXPECT_EQ(compare({"-f", folder.path("a"), "-f", folder.path("b")}).output, expected);
  EXPECT_EQ(compare({kSat, "-f", folder.path("b")}).output, expected);
  EXPECT_EQ(compare({"-", kWas}, kSat).output, expected);
  EXPECT_EQ(compare({kSat, "-"}, kWas).output, expected);
}

TEST(CompareCommand, SaysWhatACausalModelCannotSee) {
  const Outcome shown = compare_causal({kSat, kWas, "--token", "cat"});
  EXPECT_NE(on_one_line(shown.output)
                .find("\"cat\" stands before the first difference, and in a causal model no word can "
                      "see what follows it: its row is identical in both texts, in every head "
                      "(difference exactly 0). The rows that can see the difference"),
            std::string::npos)
      << shown.output;
  expect_parts(shown, {"row of", "sat/was"});
  const json report = json_of(compare_causal({kSat, kWas, "--token", "cat", "--json"}));
  EXPECT_EQ(report.at("blind"), true);
  for (const json& row : report.at("rows")) EXPECT_EQ(row.at("divergence"), 0);
  EXPECT_FALSE(report.at("offered").empty());
  EXPECT_NE(on_one_line(compare_causal({kSat, kWas}).output).find("rows of the 2 words before the first difference"),
            std::string::npos);
}

TEST(CompareCommand, SaysThatNoRowOfBothCanSeeTheDifference) {
  const std::string longer = std::string(kSat) + " because it was";
  expect_parts(compare_causal({kSat, longer}), {"no word that both texts have comes after the first difference"});
  expect_parts(compare_causal({kSat, longer, "--token", "cat"}),
               {"difference exactly 0", "No row that both texts have can see the difference"});
  const TemporaryFolder folder;
  const Outcome drawn = compare_causal({kSat, longer, "-o", folder.path("rows.png")});
  EXPECT_EQ(drawn.status, 0);
  EXPECT_NE(drawn.error.find("there is nothing to draw"), std::string::npos) << drawn.error;
  EXPECT_FALSE(std::filesystem::exists(folder.path("rows.png")));
}

TEST(CompareCommand, SaysThatTextsAreIdenticalAndThatWordsReplaceOneAnother) {
  const Outcome same = compare({kSat, kSat});
  EXPECT_NE(
      on_one_line(same.output).find("the two texts are identical: every row is the same in both, and nothing moves"),
      std::string::npos)
      << same.output;
  EXPECT_EQ(json_of(compare({kSat, kSat, "--json"})).at("identical"), true);
  const Outcome pair = compare({kSat, kWas, "--token", "sat"});
  EXPECT_NE(on_one_line(pair.output).find("\"sat\" and \"was\" replace one another: the row of the one is compared"),
            std::string::npos)
      << pair.output;
  EXPECT_EQ(compare({kSat, kWas, "--token", "was"}).output, pair.output);
}

TEST(CompareCommand, FitsTheTerminalInEveryLocale) {
  const std::string odd = "the \x1b[31m cat \u202e sat on \u7f8e the mat";
  for (const char* locale : {"C.UTF-8", "C"}) {
    for (const Arguments& more :
         {Arguments{kTired, kOther}, Arguments{kTired, kOther, "--token", "it"},
          Arguments{kTired, kOther, "--token", "it", "--on", "animal", "--on", "street", "--on", "didn't"},
          Arguments{odd, kWas}}) {
      Start start = start_with(testing::tiny(), more, locale);
      start.environment["NO_COLOR"] = "1";
      const Outcome outcome = run_program(start);
      EXPECT_EQ(outcome.status, 0) << outcome.error;
      EXPECT_TRUE(tokenizer::is_utf8(outcome.output));
      EXPECT_EQ(outcome.output.find('\x1b'), std::string::npos);
      if (std::string(locale) != "C") continue;
      std::istringstream lines(outcome.output);
      for (std::string line; std::getline(lines, line);) {
        EXPECT_LE(line.size(), 80u) << line;
        EXPECT_TRUE(std::ranges::all_of(line, [](char c) { return c >= 0x20 && c < 0x7f; })) << line;
      }
    }
  }
  Start start = start_with(testing::tiny(), {kTired, kOther, "--token", "it"});
  start.terminal_columns = 80;
  start.environment["TERM"] = "xterm-256color";
  EXPECT_NE(run_program(start).output.find("\x1b["), std::string::npos);
}

// The number beside a row is the one by which rows are ranked.
TEST(CompareCommand, DrawsTheMeasureThatRanks) {
  const TemporaryFolder folder;
  const Outcome outcome = compare(
      {kTired, kOther, "--token", "it", "--on", "animal", "--on", "street", "--json", "-o", folder.path("rows.svg")});
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  const std::string svg = testing::file_content(folder.path("rows.svg"));
  EXPECT_NE(svg.find(">shift 0."), std::string::npos);
  EXPECT_EQ(svg.find(">JS 0."), std::string::npos);
}

TEST(CompareCommand, DrawsBothRows) {
  const TemporaryFolder folder;
  for (const Arguments& texts : {Arguments{kTired, kOther, "--token", "it"}, Arguments{kTired, kOther}}) {
    Arguments arguments = texts;
    arguments.insert(arguments.end(), {"--top", "3", "-o", folder.path("rows.svg")});
    const Outcome outcome = compare(arguments);
    EXPECT_EQ(outcome.status, 0) << outcome.error;
    EXPECT_NE(outcome.error.find("wrote "), std::string::npos);
    const std::string svg = testing::file_content(folder.path("rows.svg"));
    for (const char* part : {"<svg", "because/as", "grey: the text does not have the word", "JS 0.", "ln 2 = 0.693",
                             "information flowed, not why"}) {
      EXPECT_NE(svg.find(part), std::string::npos) << part;
    }
  }
  EXPECT_EQ(compare({kTired, kOther, "-o", folder.path("rows.png")}).status, 0);
  EXPECT_TRUE(testing::file_content(folder.path("rows.png")).starts_with("\x89PNG"));
}

TEST(CompareCommand, RefusesWhatCannotBeCompared) {
  expect_failure(compare({"the cat", "on it"}), 1, {"the two texts have no word in common"});
  expect_failure(compare({kSat, kWas, "--token", "dog"}), 1, {"there is no \"dog\" in either text"});
  expect_failure(compare({kSat, kWas, "--token", "the"}), 1, {"in the first text: \"the\" stands 2 times", "the:2"});
  expect_failure(compare({kSat, "the cat sat so on the mat", "--token", "so"}), 1, {"stands in the second text alone"});
  expect_failure(compare({kSat, "the cat sat so on the mat", "--token", "#5"}), 1, {"#5", "not aligned", "\"B:#5\""});
  expect_failure(compare({kSat, kWas, "--token", "cat", "--on", "dog"}), 1, {"there is no \"dog\""});
  expect_failure(compare({kSat, ""}), 1, {"the second text: ", "empty"});
  expect_failure(compare({"  ", kSat}), 1, {"the first text: ", "white space"});
  expect_failure(compare({kSat, "the cat\xff"}), 1, {"the second text: ", "UTF-8"});
  std::string longer;
  for (int i = 0; i < 60; ++i) longer += "cat ";
  expect_failure(compare({longer, kSat}), 1, {"the first text: ", "62", "48", "--truncate"});
  expect_failure(compare({kSat, kWas, "--layer", "3"}), 1, {"3", "2"});
  expect_failure(compare({kSat, kWas, "--head", "4"}), 1, {"there is no head 4"});
  expect_failure(compare({}), 2, {"two texts", "none was given"});
  expect_failure(compare({kSat}), 2, {"two texts", "one was given"});
  expect_failure(compare({kSat, kWas, "-f", "x"}), 2, {"3 were given"});
  expect_failure(compare({"-", "-"}), 2, {"standard input is one text"});
  expect_failure(compare({kSat, "-f", "/nowhere/text"}), 1, {"/nowhere/text"});
  expect_failure(compare({kSat, kWas, "-o", "rows.gif"}), 2, {"rows.gif", ".png or .svg"});
  expect_failure(compare({kSat, kWas, "--top", "0"}), 2, {"--top is 0"});
  expect_failure(compare({kSat, kWas, "--by", "size"}), 2, {"--by"});
  expect_failure(compare({kSat, kWas, "--token", ""}), 2, {"--token is empty"});
}

TEST(CompareCommand, CtrlCShowsWhatIsDone) {
  const TemporaryFolder folder;
  engine::testing::write_long_model(folder.path("model"), 5000);
  std::string text;
  for (int i = 0; i < 4000; ++i) text += i % 7 ? "cat " : "mat ";
  std::ofstream(folder.path("a")) << text << "sat";
  std::ofstream(folder.path("b")) << text << "was";
  Start start = start_with(folder.path("model"),
                           {"-f", folder.path("a"), "-f", folder.path("b"), "--json", "-o", folder.path("rows.svg")});
  start.signal = SIGINT;
  const Outcome outcome = run_program(start);
  EXPECT_EQ(outcome.status, 130) << outcome.error;
  const bool drawn = std::filesystem::exists(folder.path("rows.svg"));
  EXPECT_EQ(drawn, outcome.error.find("wrote ") != std::string::npos) << outcome.error;
  if (outcome.output.empty()) return;  // the signal came before the texts were read
  const json report = json::parse(outcome.output);
  EXPECT_EQ(report.at("complete"), false);
  ASSERT_EQ(drawn, !report.at("rows").empty());
  if (!drawn) return;
  EXPECT_NE(testing::file_content(folder.path("rows.svg")).find("Not all of the rows: it was stopped"),
            std::string::npos);
}

}  // namespace
}  // namespace sightline::cli
