// The commands score and bench, as a user meets them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <csignal>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/failure_testing.h"
#include "src/tokenizer/unicode.h"

namespace sightline::cli {
namespace {

using nlohmann::json;
using testing::Outcome;
using testing::run_program;
using testing::Start;
using testing::TemporaryFolder;
using Arguments = std::vector<std::string>;

constexpr char kText[] = "the cat sat on the mat, because the animal was too tired";

Start start_with(const std::string& command, Arguments arguments, const char* locale = "C.UTF-8") {
  return testing::start_on(command, testing::tiny_decoder(), std::move(arguments), locale);
}

Outcome score(Arguments arguments, const std::string& input = "") {
  Start start = start_with("score", std::move(arguments));
  start.input = input;
  return run_program(start);
}

json json_of(const Outcome& outcome) {
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  return json::parse(outcome.output);
}

void expect_no_line_over(const std::string& text, std::size_t columns) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), columns) << line;
}

TEST(ScoreCommand, ListsTokensAndWhatTheyComeTo) {
  const Outcome argument = score({kText});
  EXPECT_EQ(argument.status, 0) << argument.error;
  for (const char* part : {"log-prob", "tokens scored", "perplexity", "bits per byte"}) {
    EXPECT_NE(argument.output.find(part), std::string::npos) << argument.output;
  }
  TemporaryFolder folder;
  std::ofstream(folder.path("text.txt")) << kText;
  EXPECT_EQ(score({"-f", folder.path("text.txt")}).output, argument.output);
  EXPECT_EQ(score({"-t", "1"}, kText).output, argument.output);
  const json report = json_of(score({kText, "--json"}));
  const std::string total = fmt::format("{:.3f} nats", report.at("summary").at("log_probability").get<double>());
  EXPECT_NE(argument.output.find(total), std::string::npos);
  EXPECT_EQ(json_of(score({kText, "--json", "--top", "3"})).at("tokens")[2].at("top").size(), 3u);
}

TEST(ScoreCommand, FitsTheTerminalInEveryLocale) {
  for (const char* locale : {"C.UTF-8", "C"}) {
    for (const Arguments& more :
         {Arguments{}, Arguments{"--top", "9"}, Arguments{"--tokens"}, Arguments{"--target", "a"}}) {
      Arguments arguments = {kText, "--color", "never"};
      arguments.insert(arguments.end(), more.begin(), more.end());
      Start start = start_with("score", arguments, locale);
      const Outcome outcome = run_program(start);
      EXPECT_EQ(outcome.status, 0) << outcome.error;
      if (std::string(locale) == "C") expect_no_line_over(outcome.output, 80);
      for (const char byte : outcome.output) {
        const auto code = static_cast<unsigned char>(byte);
        EXPECT_TRUE(code >= 0x20 || byte == '\n') << static_cast<int>(code);
        EXPECT_TRUE(code < 0x7f || std::string(locale) != "C") << static_cast<int>(code);
      }
    }
  }
}

TEST(ScoreCommand, ShadesTheTextOnATerminal) {
  Start start = start_with("score", {std::string(kText) + "\nthe \x1b[31m cat"});
  start.terminal_columns = 80;
  start.environment["COLORTERM"] = "truecolor";
  start.environment["TERM"] = "xterm";
  const Outcome outcome = run_program(start);
  EXPECT_EQ(outcome.status, 0);
  EXPECT_NE(outcome.output.find("surprise in nats"), std::string::npos) << outcome.output;
  EXPECT_NE(outcome.output.find("\x1b[38;2;"), std::string::npos);
  EXPECT_EQ(outcome.output.find("\x1b[31m"), std::string::npos) << "the text's own escape";
  EXPECT_TRUE(tokenizer::is_utf8(outcome.output));
}

TEST(ScoreCommand, RanksTargets) {
  const json report = json_of(score({"the cat", "--target", " sat", "--target", " mat", "--json"}));
  ASSERT_EQ(report.at("targets").size(), 2u);
  EXPECT_EQ(report.at("targets")[0].at("target"), " sat");
  const Outcome shown = score({"the cat", "--target", " sat", "--target", " mat"});
  const std::size_t sat = shown.output.find("\" sat\""), mat = shown.output.find("\" mat\"");
  ASSERT_NE(sat, std::string::npos);
  ASSERT_NE(mat, std::string::npos);
  EXPECT_EQ(sat < mat, report.at("targets")[0].at("rank") == 1);
}

TEST(ScoreCommand, KnocksEdgesOut) {
  const json plain = json_of(score({kText, "--json"}));
  const json cut = json_of(score({kText, "--json", "--block", "tired->cat@L2", "--block", "*->mat@H1"}));
  EXPECT_TRUE(plain.at("blocked").empty());
  EXPECT_EQ(cut.at("blocked").size(), 2u);
  EXPECT_NE(cut.at("summary"), plain.at("summary"));
  const Outcome shown = score({kText, "--block", "tired->cat@L2"});
  EXPECT_NE(shown.output.find("Knocked out: tired->cat@L2: 1 row, 1 key, 4 maps"), std::string::npos) << shown.output;
  const Outcome targets = score({"the cat", "--target", " sat", "--target", " mat", "--block", ":generated->cat"});
  EXPECT_NE(targets.output.find("Knocked out: :generated->cat"), std::string::npos) << targets.error;
  const Outcome none = score({kText, "--block", "dog->cat"});
  EXPECT_EQ(none.status, 1);
  EXPECT_NE(none.error.find("there is no \"dog\""), std::string::npos) << none.error;
}

TEST(ScoreCommand, ScoresLongFilesInWindows) {
  TemporaryFolder folder;
  {
    std::ofstream file(folder.path("text.txt"));
    for (int i = 0; i < 200; ++i) file << kText << '\n';
  }
  const Outcome outcome = score({"-f", folder.path("text.txt"), "-c", "64", "--stride", "16"});
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_NE(outcome.output.find("--tokens lists all"), std::string::npos);
  EXPECT_NE(outcome.output.find("windows of 64 tokens"), std::string::npos) << outcome.output;
  EXPECT_LT(outcome.output.size(), 3000u);
  const json report = json_of(score({"-f", folder.path("text.txt"), "-c", "64", "--stride", "16", "--json"}));
  EXPECT_EQ(report.at("summary").at("tokens").get<std::size_t>() + 1, report.at("tokens").size());
  EXPECT_EQ(report.at("stride"), 16);
}

TEST(ScoreCommand, ScoresATextALine) {
  const Outcome outcome = score({"--lines", "-", "--jsonl"}, "the cat\n\nthe mat sat\n");
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  std::istringstream lines(outcome.output);
  std::string first, second;
  std::getline(lines, first);
  std::getline(lines, second);
  EXPECT_EQ(json::parse(first).at("line"), 1);
  EXPECT_EQ(json::parse(second).at("line"), 3);
  EXPECT_EQ(json::parse(second).at("summary"), json_of(score({"the mat sat", "--json"})).at("summary"));
  const Outcome failed = score({"--lines", "-", "--jsonl", "--keep-going"}, "a\nthe cat\n");
  EXPECT_EQ(failed.status, 1);
  EXPECT_NE(failed.output.find("\"error\""), std::string::npos);
  EXPECT_NE(failed.error.find("1 of 2 texts could not be scored"), std::string::npos);
}

TEST(ScoreCommand, RefusesWhatDoesNotGoTogether) {
  testing::expect_failure(testing::run_with({"score", "-m", testing::tiny(), "a b"}), 1, {"is an encoder"});
  testing::expect_failure(score({"the cat", "--top", "65"}), 2, {"--top is 65"});
  testing::expect_failure(score({"the cat", "--target", "a", "--stride", "3"}), 2, {"--stride"});
  testing::expect_failure(score({"the cat", "--target", ""}), 2, {"--target is empty"});
  testing::expect_failure(score({"--lines", "x"}), 2, {"--jsonl"});
  testing::expect_failure(score({"the cat", "-c", "8", "--stride", "8"}), 1, {"1 to 7"});
  testing::expect_failure(score({"the cat", "-ctk", "q5_0"}), 2, {"-ctk is q5_0"});
  testing::expect_failure(testing::run_with({"score", "the cat"}), 2, {"--model"});
}

TEST(ScoreCommand, CtrlCShowsWhatIsDone) {
  TemporaryFolder folder;
  {
    std::ofstream file(folder.path("text.txt"));
    for (int i = 0; i < 100000; ++i) file << kText << '\n';
  }
  Start start = start_with("score", {"-f", folder.path("text.txt"), "--json", "-c", "128"});
  start.signal = SIGINT;
  const Outcome outcome = run_program(start);
  EXPECT_EQ(outcome.status, 130) << outcome.error;
  if (outcome.output.empty()) return;  // the signal came before the model was open
  const json report = json::parse(outcome.output);
  EXPECT_EQ(report.at("complete"), false);
}

TEST(BenchCommand, ShowsATableOrJson) {
  const Arguments sizes = {"-p", "8", "-n", "4", "-d", "2", "-r", "2", "-t", "1", "--watch"};
  const Outcome shown = run_program(start_with("bench", sizes));
  EXPECT_EQ(shown.status, 0) << shown.error;
  for (const char* part : {"tiny-decoder", "1 thread,", "GB/s", "pp8 @ d2", "tg4 @ d2, watched", " %"}) {
    EXPECT_NE(shown.output.find(part), std::string::npos) << shown.output;
  }
  expect_no_line_over(shown.output, 80);
  Arguments as_json = sizes;
  as_json.push_back("--json");
  const json report = json_of(run_program(start_with("bench", as_json)));
  EXPECT_EQ(report.at("sightline_bench"), 1);
  EXPECT_EQ(report.at("threads"), 1);
  ASSERT_EQ(report.at("tests").size(), 4u);
  EXPECT_EQ(report.at("tests")[0].at("runs").size(), 2u);
}

TEST(BenchCommand, RefusesWhatCannotBe) {
  testing::expect_failure(run_program(start_with("bench", {"-p", "0", "-n", "0"})), 1, {"nothing is left"});
  testing::expect_failure(run_program(start_with("bench", {"-d", "250", "-p", "8"})), 1, {"takes at most 256"});
  testing::expect_failure(run_program(start_with("bench", {"-p", "x"})), 2, {"--n-prompt"});
  testing::expect_failure(testing::run_with({"bench", "-m", testing::tiny()}), 1, {"is an encoder"});
}

TEST(BenchCommand, CtrlCShowsWhatWasMeasured) {
  Start start = start_with("bench", {"-r", "10000", "-p", "100", "-n", "0", "--json"});
  start.signal = SIGINT;
  const Outcome outcome = run_program(start);
  EXPECT_EQ(outcome.status, 130) << outcome.error;
  EXPECT_TRUE(outcome.output.empty() || json::parse(outcome.output).at("complete") == false);
}

}  // namespace
}  // namespace sightline::cli
