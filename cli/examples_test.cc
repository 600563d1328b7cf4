// What the help texts and the README show is what happens.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "cli/run_program.h"
#include "src/engine/testing.h"

namespace sightline::cli {
namespace {

using testing::Outcome;
using testing::run_program;
using testing::Start;
using testing::TemporaryFolder;

// Splits a command as a shell would: at spaces, except within double quotes. The program's name is left out.
std::vector<std::string> arguments_of(const std::string& command) {
  std::vector<std::string> words;
  std::string word;
  bool quoted = false;
  for (const char c : command + " ") {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ' ' && !quoted) {
      if (!word.empty()) words.push_back(word);
      word.clear();
    } else {
      word += c;
    }
  }
  if (!words.empty() && words.front() == "./sightline") words.erase(words.begin());
  return words;
}

Start in_english(std::vector<std::string> arguments) {
  Start start;
  start.arguments = std::move(arguments);
  start.environment = {{"LC_ALL", "C.UTF-8"}};
  return start;
}

void replace(std::string& text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  if (at != std::string::npos) text.replace(at, from.size(), to);
}

std::string example_of(const std::string& command) {
  const Outcome help = run_program(in_english({command, "--help"}));
  EXPECT_EQ(help.status, 0);
  EXPECT_TRUE(help.error.empty());
  const std::size_t example = help.output.find("./sightline ");
  EXPECT_NE(example, std::string::npos) << command;
  std::istringstream lines(help.output.substr(example));
  std::string joined;
  for (std::string line; std::getline(lines, line);) {
    joined += line;
    if (!joined.ends_with('\\')) break;
    joined.pop_back();
  }
  return joined;
}

class Examples : public ::testing::TestWithParam<const char*> {};

// The examples speak of the default model's L4H2; the tiny model has two layers.
TEST_P(Examples, RunOnTheTinyModel) {
  std::string command = example_of(GetParam());
  const TemporaryFolder folder;
  replace(command, "--layer 4", "--layer 2");
  for (const char* picture : {"map.png", "heads.png", "scale.png"}) replace(command, picture, folder.path(picture));
  command += std::string(GetParam()) == std::string("info") ? " " : " -m ";
  const Outcome outcome = run_program(in_english(arguments_of(command + engine::testing::tiny_model().string())));
  EXPECT_EQ(outcome.status, 0) << command << ": " << outcome.error;
  EXPECT_FALSE(outcome.output.empty());
}

class Helps : public ::testing::TestWithParam<const char*> {};

TEST_P(Helps, FitEightyColumns) {
  std::istringstream help(run_program(in_english({GetParam(), "--help"})).output);
  for (std::string line; std::getline(help, line);) {
    const bool example = line.find("./sightline") != std::string::npos || line.ends_with('\\');
    EXPECT_TRUE(example || line.size() <= 80) << line;
  }
}

TEST_P(Examples, RunAsTheyStand) {
  if (!engine::testing::has_minilm()) GTEST_SKIP() << engine::testing::no_minilm();
  std::string command = example_of(GetParam());
  const TemporaryFolder folder;
  for (const char* picture : {"map.png", "heads.png", "scale.png"}) replace(command, picture, folder.path(picture));
  command += std::string(GetParam()) == std::string("info") ? " " : " -m ";
  const Outcome outcome = run_program(in_english(arguments_of(command + engine::testing::minilm().string())));
  EXPECT_EQ(outcome.status, 0) << command << ": " << outcome.error;
}

INSTANTIATE_TEST_SUITE_P(Commands, Examples,
                         ::testing::Values("look", "explain", "map", "info", "tokens", "compare", "heads", "why",
                                           "study"));
// The example of serve runs until it is asked to end: tests/serve has it.
INSTANTIATE_TEST_SUITE_P(Commands, Helps,
                         ::testing::Values("look", "explain", "map", "info", "tokens", "compare", "heads", "why",
                                           "study", "generate", "score", "bench", "serve", "models", "pull", "import"));

// A command of the README and what it says comes out.
struct Shown {
  std::string command, output;
};

// The blocks between ```console and ```; a line that begins with "$ " is a command, those after it are its output.
std::vector<Shown> shown_in(const std::string& markdown) {
  std::vector<Shown> all;
  bool within = false;
  std::istringstream stream(markdown);
  for (std::string line; std::getline(stream, line);) {
    if (line.starts_with("```")) {
      within = line == "```console";
    } else if (within && line.starts_with("$ ")) {
      all.push_back({line.substr(2), ""});
    } else if (within && !all.empty()) {
      all.back().output += line + "\n";
    }
  }
  return all;
}

TEST(Readme, ShowsWhatComesOut) {
  const auto shown = shown_in(testing::file_content(engine::testing::source_path("README.md").string()));
  ASSERT_FALSE(shown.empty()) << "README.md has no ```console block";
  if (!engine::testing::has_minilm()) GTEST_SKIP() << engine::testing::no_minilm();
  // Under the name by which the launcher keeps it, wherever it is.
  const TemporaryFolder folder;
  const std::string model = folder.path("all-MiniLM-L6-v2");
  std::filesystem::create_directory_symlink(std::filesystem::absolute(engine::testing::minilm()), model);
  for (const Shown& example : shown) {
    ASSERT_TRUE(example.command.starts_with("./sightline ")) << example.command;
    std::vector<std::string> arguments = arguments_of(example.command);
    const auto named = std::find(arguments.begin(), arguments.end(), "-m");
    if (named == arguments.end()) {
      arguments.insert(arguments.end(), {"-m", model});
    } else {
      *std::next(named) = engine::testing::source_path(*std::next(named)).string();
    }
    EXPECT_EQ(run_program(in_english(arguments)).output, example.output) << example.command;
  }
}

}  // namespace
}  // namespace sightline::cli
