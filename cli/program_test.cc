// The program as a user meets it: what it prints, how it ends, what it leaves behind.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "cli/display_text.h"
#include "cli/run_program.h"
#include "src/engine/testing.h"

namespace sightline::cli {
namespace {

using testing::Outcome;
using testing::run_program;
using testing::Start;
using testing::TemporaryFolder;

constexpr char kCaveat[] = "Attention weights show where information flowed, not why.";

std::string tiny() { return engine::testing::tiny_model().string(); }

// Runs on the tiny model, UTF-8, into pipes.
Outcome tiny_run(std::vector<std::string> arguments, const std::string& input = "") {
  arguments.insert(arguments.end(), {"-m", tiny()});
  Start start;
  start.arguments = std::move(arguments);
  start.input = input;
  start.environment = {{"LC_ALL", "C.UTF-8"}};
  return run_program(start);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::string without_escapes(const std::string& text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b') {
      i = text.find('m', i);
    } else {
      plain += text[i];
    }
  }
  return plain;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Look, ShowsModelTableMatrixAndCaveat) {
  const Outcome outcome = tiny_run({"look", engine::testing::kTired});
  ASSERT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_TRUE(outcome.error.empty()) << outcome.error;
  EXPECT_TRUE(contains(outcome.output, "tiny-bert, 2 layers × 3 heads: 12 words, 16 tokens (2 special)"))
      << outcome.output;
  for (const char* part :
       {"entropy, % of even", "mean distance, tokens", "special", "previous", "same", "next", "because"}) {
    EXPECT_TRUE(contains(outcome.output, part)) << part;
  }
  EXPECT_EQ(lines_of(outcome.output).back().substr(lines_of(outcome.output).back().find("Att")), kCaveat);
  EXPECT_FALSE(contains(outcome.output, "\x1b"));
}

TEST(Look, FitsEveryWidthInEveryLocale) {
  for (const char* locale : {"C.UTF-8", "C"}) {
    for (const char* columns : {"40", "80", "200"}) {
      for (const std::vector<std::string>& more :
           std::vector<std::vector<std::string>>{{}, {"--token", "it"}, {"--pieces"}}) {
        Start start;
        start.arguments = {"look", engine::testing::kTired, "-m", tiny()};
        start.arguments.insert(start.arguments.end(), more.begin(), more.end());
        start.environment = {{"LC_ALL", locale}, {"COLUMNS", columns}};
        const Outcome outcome = run_program(start);
        ASSERT_EQ(outcome.status, 0) << outcome.error;
        for (const std::string& line : lines_of(outcome.output))
          EXPECT_LE(display_width(line), std::stoi(columns)) << line;
        if (std::string(locale) == "C") {
          for (const char c : outcome.output) EXPECT_LT(static_cast<unsigned char>(c), 0x80);
        }
      }
    }
  }
}

TEST(Look, ColoursATerminalAndNothingElse) {
  Start start;
  start.arguments = {"look", engine::testing::kTired, "-m", tiny()};
  start.environment = {{"LC_ALL", "C.UTF-8"}, {"TERM", "xterm-256color"}, {"COLORTERM", "truecolor"}};
  const Outcome piped = run_program(start);
  start.terminal_columns = 80;
  const Outcome coloured = run_program(start);
  ASSERT_EQ(coloured.status, 0);
  EXPECT_TRUE(contains(coloured.output, "\x1b[38;2;"));
  start.environment["NO_COLOR"] = "1";
  EXPECT_EQ(run_program(start).output, piped.output);
  start.arguments.insert(start.arguments.end(), {"--color", "always"});
  EXPECT_EQ(run_program(start).output, coloured.output);
  for (const std::string& line : lines_of(without_escapes(coloured.output))) EXPECT_LE(display_width(line), 80) << line;
}

TEST(Look, FollowsTheTerminalsWidth) {
  Start start;
  start.arguments = {"look", engine::testing::kTired, "-m", tiny(), "--color", "never"};
  start.environment = {{"LC_ALL", "C.UTF-8"}, {"TERM", "xterm"}};
  start.terminal_columns = 50;
  const Outcome narrow = run_program(start);
  for (const std::string& line : lines_of(narrow.output)) EXPECT_LE(display_width(line), 50) << line;
  start.terminal_columns = 160;
  EXPECT_NE(run_program(start).output, narrow.output);
}

TEST(Look, SixteenAnd256ColoursToo) {
  for (const char* term : {"linux", "xterm-256color"}) {
    Start start;
    start.arguments = {"look", engine::testing::kTired, "-m", tiny(), "--color=always"};
    start.environment = {{"LC_ALL", "C.UTF-8"}, {"TERM", term}};
    const Outcome outcome = run_program(start);
    EXPECT_TRUE(contains(outcome.output, "\x1b[")) << term;
    EXPECT_FALSE(contains(outcome.output, "38;2;")) << term;
  }
}

TEST(Look, TakesTheTextFromFileOrInput) {
  const TemporaryFolder folder;
  const std::string path = folder.path("text.txt"), text = "the cat sat on the mat";
  { std::ofstream(path) << text; }
  const std::string expected = tiny_run({"look", text}).output;
  EXPECT_EQ(tiny_run({"look", "-f", path}).output, expected);
  EXPECT_EQ(tiny_run({"look"}, text).output, expected);
  EXPECT_EQ(tiny_run({"look", "-"}, text).output, expected);
  EXPECT_EQ(tiny_run({"look", "-f", "-"}, text).output, expected);
}

TEST(Look, ShowsOneWordThroughEveryHead) {
  const Outcome outcome = tiny_run({"look", engine::testing::kTired, "--token", "it", "--top", "2"});
  ASSERT_EQ(outcome.status, 0) << outcome.error;
  for (const char* part : {"\"it\"", "Layer 1", "Layer 2", "H1", "H3", kCaveat})
    EXPECT_TRUE(contains(outcome.output, part)) << part;
  EXPECT_EQ(contains(tiny_run({"look", engine::testing::kTired, "--token", "it", "--layer", "2"}).output, "Layer 1"),
            false);
}

TEST(Look, NeverLetsTextDriveTheTerminal) {
  const Outcome outcome = tiny_run({"look", "the \x1b[2J cat \xE2\x80\xAE sat", "--pieces"});
  ASSERT_EQ(outcome.status, 0) << outcome.error;
  for (const std::string& text : {outcome.output, outcome.error}) {
    EXPECT_FALSE(contains(text, "\x1b"));
    EXPECT_FALSE(contains(text, "\xE2\x80\xAE"));
  }
}

TEST(Look, WritesReports) {
  const TemporaryFolder folder;
  const std::string path = folder.path("report.safetensors");
  const Outcome outcome =
      tiny_run({"look", engine::testing::kTired, "--json", "-o", path, "--layer", "2", "--head", "3"});
  ASSERT_EQ(outcome.status, 0) << outcome.error;
  const auto report = nlohmann::json::parse(outcome.output);
  EXPECT_EQ(report.at("maps").size(), 6u);
  EXPECT_TRUE(contains(report.dump(), kCaveat));
  EXPECT_TRUE(std::filesystem::exists(path));
  EXPECT_EQ(folder.names().size(), 1u);
}

TEST(Look, OneOfLayerAndHeadLeavesTheSharpestOfTheRest) {
  const auto heading = [](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"look", engine::testing::kTired};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const std::string output = tiny_run(arguments).output;
    return output.substr(output.find("\nLayer ") + 1, std::strlen("Layer 1, head 1"));
  };
  EXPECT_EQ(heading({"--layer", "1"}).substr(0, 7), "Layer 1");
  EXPECT_EQ(heading({"--head", "3"}).substr(9), "head 3");
  EXPECT_EQ(heading({"--layer", "1", "--head", "2"}), "Layer 1, head 2");
}

TEST(Look, ThreadsChangeNothing) {
  EXPECT_EQ(tiny_run({"look", engine::testing::kTired, "-t", "1"}).output,
            tiny_run({"look", engine::testing::kTired, "-t", "2"}).output);
}

TEST(Look, SetsSpecialTokensAsideAndSaysSo) {
  const std::string output = tiny_run({"look", "the cat sat", "--no-special"}).output;
  EXPECT_FALSE(contains(output, "[CLS]"));
  EXPECT_TRUE(contains(output, "set aside"));
}

TEST(Explain, ShowsTheFourSteps) {
  const Outcome outcome =
      tiny_run({"explain", engine::testing::kTired, "--token", "it", "--layer", "1", "--head", "2"});
  ASSERT_EQ(outcome.status, 0) << outcome.error;
  for (const char* part : {"query", "q·k", "÷√8", "softmax", "the sum", "fused kernel", "because", kCaveat}) {
    EXPECT_TRUE(contains(outcome.output, part)) << part;
  }
  for (const std::string& line : lines_of(outcome.output)) EXPECT_LE(display_width(line), 80) << line;
}

// Published measurement of all-MiniLM-L6-v2 on this sentence: in L4H2 `it` gives 0.677 of its weight to `animal`.
TEST(Explain, SeesTheAnimalInMiniLm) {
  if (!engine::testing::has_minilm()) GTEST_SKIP() << engine::testing::no_minilm();
  Start start;
  start.arguments = {
      "explain", engine::testing::kTired,           "--token", "it", "--layer", "4", "--head", "2", "--json",
      "-m",      engine::testing::minilm().string()};
  const Outcome outcome = run_program(start);
  ASSERT_EQ(outcome.status, 0) << outcome.error;
  const auto explanation = nlohmann::json::parse(outcome.output).at("explanations").at(0);
  EXPECT_NEAR(explanation.at("keys").at(2).at("weight").get<double>(), 0.677, 0.0005);
  EXPECT_LT(explanation.at("weight_difference").get<double>(), 1e-6);
}

TEST(Explain, ListsOnlyTheHeaviestKeys) {
  const std::string output =
      tiny_run({"explain", engine::testing::kTired, "--token", "it", "--layer", "1", "--head", "2", "--top", "3"})
          .output;
  EXPECT_TRUE(contains(output, "13 more")) << output;
}

TEST(Explain, TakesATopOfMoreKeysThanAReportHolds) {
  const std::vector<std::string> all = {"explain", "the cat sat", "--token", "cat"};
  std::vector<std::string> many = all;
  many.insert(many.end(), {"--top", "100"});
  EXPECT_EQ(tiny_run(many).status, 0);
  EXPECT_EQ(tiny_run(many).output, tiny_run(all).output);
}

TEST(Explain, WritesAReportAndSaysSo) {
  const TemporaryFolder folder;
  const std::string path = folder.path("report.safetensors");
  const Outcome outcome = tiny_run({"explain", "the cat sat", "--token", "cat", "-o", path});
  ASSERT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_EQ(outcome.error, "sightline: wrote " + path + "\n");
  EXPECT_EQ(folder.names(), std::vector<std::string>{"report.safetensors"});
}

TEST(Explain, LeavesTheDivisionOut) {
  const Outcome outcome =
      tiny_run({"explain", engine::testing::kTired, "--token", "it", "--layer", "1", "--head", "2", "--no-scale"});
  ASSERT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_TRUE(contains(outcome.output, "not divided"));
  EXPECT_FALSE(contains(outcome.output, "÷√8"));
}

TEST(Map, WritesEachKindWholeAndAlone) {
  for (const std::string name : {"map.png", "map.svg", "map.npy", "all.png", "all.svg", "all.npy"}) {
    const TemporaryFolder folder;
    std::vector<std::string> arguments = {"map", engine::testing::kTired, "-o", folder.path(name)};
    if (name.starts_with("all")) {
      arguments.push_back("--all");
    } else {
      arguments.insert(arguments.end(), {"--layer", "2", "--head", "1"});
    }
    const Outcome outcome = tiny_run(arguments);
    if (contains(outcome.error, "fonts-dejavu-core")) GTEST_SKIP() << outcome.error;
    ASSERT_EQ(outcome.status, 0) << name << ": " << outcome.error;
    EXPECT_EQ(folder.names(), std::vector<std::string>{name});
    EXPECT_TRUE(contains(outcome.output, kCaveat));
  }
}

// The floats of an .npy file whose header names `shape`.
std::vector<float> npy_values(const std::string& file, const std::string& shape) {
  EXPECT_TRUE(file.starts_with("\x93NUMPY"));
  const std::size_t header = 10 + static_cast<unsigned char>(file[8]) + 256 * static_cast<unsigned char>(file[9]);
  EXPECT_TRUE(contains(file.substr(0, header), "'<f4'")) << file.substr(0, header);
  EXPECT_TRUE(contains(file.substr(0, header), shape)) << file.substr(0, header);
  std::vector<float> values((file.size() - header) / sizeof(float));
  std::memcpy(values.data(), file.data() + header, values.size() * sizeof(float));
  return values;
}

TEST(Map, NpyHoldsTheReportsWeights) {
  const TemporaryFolder folder;
  const std::string text = "the cat's unhappiness", one = folder.path("one.npy"), all = folder.path("all.npy");
  const Outcome json = tiny_run({"look", text, "--layer", "2", "--head", "3", "--json"});
  ASSERT_EQ(tiny_run({"map", text, "--layer", "2", "--head", "3", "-o", one}).status, 0);
  ASSERT_EQ(tiny_run({"map", text, "--all", "-o", all}).status, 0);
  const auto grid = nlohmann::json::parse(json.output).at("maps").at(5).at("grid").at("weights");
  std::vector<float> expected;
  for (const auto& row : grid) {
    for (const auto& weight : row) expected.push_back(weight.get<float>());
  }
  const std::string side = std::to_string(grid.size());
  EXPECT_EQ(npy_values(testing::file_content(one), "(" + side + ", " + side + ")"), expected);
  const auto sheet = npy_values(testing::file_content(all), "(2, 3, " + side + ", " + side + ")");
  ASSERT_EQ(sheet.size(), 6 * expected.size());
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), sheet.end() - static_cast<std::ptrdiff_t>(expected.size())));
}

TEST(Map, SvgCarriesLabelsLegendAndCaveat) {
  const TemporaryFolder folder;
  const std::string path = folder.path("map.svg");
  const Outcome outcome = tiny_run({"map", "the <cat> & \"it\" sat", "-o", path});
  if (contains(outcome.error, "fonts-dejavu-core")) GTEST_SKIP() << outcome.error;
  ASSERT_EQ(outcome.status, 0) << outcome.error;
  const std::string svg = testing::file_content(path);
  for (const char* part : {kCaveat, ">cat<", "&lt;", "&amp;", "&quot;", "looks", "0.05", "<title>Layer"}) {
    EXPECT_TRUE(contains(svg, part)) << part;
  }
  if (std::system("command -v xmllint >/dev/null 2>&1") == 0) {
    EXPECT_EQ(std::system(("xmllint --noout '" + path + "'").c_str()), 0);
  }
}

TEST(Info, SaysWhatTheFilesHold) {
  Start start;
  start.arguments = {"info", tiny()};
  const Outcome outcome = run_program(start);
  ASSERT_EQ(outcome.status, 0) << outcome.error;
  for (const char* part : {"BertModel", "bert", "3 a layer, 8 numbers each", "24, 48 inside", "48 tokens", "F32",
                           "WordPiece, 136 tokens"}) {
    EXPECT_TRUE(contains(outcome.output, part)) << part << "\n" << outcome.output;
  }
}

TEST(Program, NamesItsVersionArithmeticAndTarget) {
  Start start;
  start.arguments = {"--version"};
  start.environment = {{"SIGHTLINE_TARGET", "scalar"}};
  const std::string cmake = testing::file_content(engine::testing::source_path("CMakeLists.txt").string());
  std::smatch version;
  ASSERT_TRUE(std::regex_search(cmake, version, std::regex("project\\(sightline VERSION ([0-9.]+)")));
  EXPECT_EQ(run_program(start).output, "sightline " + version.str(1) + ", arithmetic 1, SCALAR\n");
}

}  // namespace
}  // namespace sightline::cli
