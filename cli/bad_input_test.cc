// What goes wrong is said in one line and leaves nothing behind.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "cli/failure_testing.h"
#include "cli/run_program.h"
#include "src/engine/testing.h"

namespace sightline::cli {
namespace {

using testing::BrokenModel;
using testing::expect_failure;
using testing::Outcome;
using testing::run_program;
using testing::run_with;
using testing::Start;
using testing::TemporaryFolder;
using testing::tiny;

TEST(BadInput, EmptyText) {
  expect_failure(run_with({"look", "", "-m", tiny()}), 1, {"empty"});
  expect_failure(run_with({"look", "-m", tiny()}), 1, {"empty"});
  expect_failure(run_with({"look", "  \n", "-m", tiny()}), 1, {"white space"});
  expect_failure(run_with({"map", "", "-o", "/tmp/never.png", "-m", tiny()}), 1, {"empty"});
}

TEST(BadInput, TextOverTheModelsLength) {
  std::string text;
  for (int i = 0; i < 60; ++i) text += "cat ";
  expect_failure(run_with({"look", text, "-m", tiny()}), 1, {"62", "48", "--truncate"});
  const Outcome cut = run_with({"look", text, "--truncate", "-m", tiny()});
  EXPECT_EQ(cut.status, 0);
  EXPECT_NE(cut.error.find("14 tokens"), std::string::npos) << cut.error;
}

TEST(BadInput, TextThatIsNotUtf8) {
  expect_failure(run_with({"look", "the cat\xFF", "-m", tiny()}), 1, {"UTF-8", "7"});
  expect_failure(run_with({"look", "-m", tiny()}, "\xC3"), 1, {"UTF-8"});
}

TEST(BadInput, UnknownLayerHeadToken) {
  expect_failure(run_with({"look", "the cat", "--layer", "3", "-m", tiny()}), 1, {"3", "2"});
  expect_failure(run_with({"look", "the cat", "--layer", "0", "-m", tiny()}), 1, {"0"});
  expect_failure(run_with({"look", "the cat", "--head", "4", "-m", tiny()}), 1, {"4", "3"});
  expect_failure(run_with({"look", "the cat", "--layer", "-1", "-m", tiny()}), 1, {"-1"});
  expect_failure(run_with({"look", "the cat", "--token", "dog", "-m", tiny()}), 1, {"dog", "cat"});
  expect_failure(run_with({"look", "the cat the", "--token", "the", "-m", tiny()}), 1, {"the:1", "the:2"});
  expect_failure(run_with({"explain", "the cat", "--token", "#9", "-m", tiny()}), 1, {"#9"});
  expect_failure(run_with({"map", "the cat", "--layer", "9", "--head", "1", "-o", "/tmp/never.png", "-m", tiny()}), 1,
                 {"9"});
}

TEST(BadInput, MissingModel) {
  expect_failure(run_with({"look", "the cat", "-m", "/nowhere"}), 1, {"/nowhere"});
  expect_failure(run_with({"info", "/nowhere"}), 1, {"/nowhere"});
  const TemporaryFolder folder;
  Start start;
  start.arguments = {"look", "the cat"};
  start.environment = {{"XDG_CACHE_HOME", folder.path("")}};
  expect_failure(run_program(start), 1, {"default model", "-m"});
}

TEST(BadInput, MissingTruncatedOrMalformedModelFiles) {
  for (const std::string name : {"config.json", "model.safetensors", "tokenizer.json"}) {
    const BrokenModel missing;
    missing.remove(name);
    expect_failure(run_with({"look", "the cat", "-m", missing.directory()}), 1, {name});
    const BrokenModel cut;
    cut.cut(name);
    expect_failure(run_with({"look", "the cat", "-m", cut.directory()}), 1, {name});
    const BrokenModel malformed;
    malformed.replace(name, "{\"a\": [1, 2");
    expect_failure(run_with({"look", "the cat", "-m", malformed.directory()}), 1, {name});
    const BrokenModel empty;
    empty.replace(name, "");
    expect_failure(run_with({"look", "the cat", "-m", empty.directory()}), 1, {name});
    const BrokenModel pipe;  // must not keep the program waiting
    pipe.remove(name);
    ASSERT_EQ(mkfifo(pipe.file(name).c_str(), 0600), 0);
    expect_failure(run_with({"look", "the cat", "-m", pipe.directory()}), 1, {name, "not a regular file"});
  }
}

TEST(BadInput, ShapesThatDoNotFitTheConfig) {
  const BrokenModel model;
  std::string config = testing::file_content(model.file("config.json"));
  config.replace(config.find("\"intermediate_size\": 48"), 23, "\"intermediate_size\": 40");
  model.replace("config.json", config);
  expect_failure(run_with({"look", "the cat", "-m", model.directory()}), 1, {"intermediate"});
}

// One word more than the model embeds: its tokens would read past the embedding's end.
TEST(BadInput, TokenizerOfAnotherModel) {
  const BrokenModel model;
  std::string tokenizer = testing::file_content(model.file("tokenizer.json"));
  const std::string first = "\"[PAD]\": 0,";
  ASSERT_NE(tokenizer.find(first), std::string::npos);
  tokenizer.insert(tokenizer.find(first), "\"another\": 136, ");
  model.replace("tokenizer.json", tokenizer);
  expect_failure(run_with({"look", "the cat", "-m", model.directory()}), 1,
                 {"tokenizer.json", "\"another\"", "id 136", "136 tokens"});
  expect_failure(run_with({"info", model.directory()}), 1, {"tokenizer.json", "\"another\"", "id 136", "136 tokens"});
}

TEST(BadInput, OutputThatCannotBeWritten) {
  const TemporaryFolder folder;
  for (const std::string name : {"map.png", "map.svg", "map.npy"}) {
    expect_failure(run_with({"map", "the cat", "-o", "/nowhere/" + name, "-m", tiny()}), 1, {"/nowhere/" + name});
    std::filesystem::create_directory(folder.path(name));
    expect_failure(run_with({"map", "the cat", "-o", folder.path(name), "-m", tiny()}), 1, {name});
    EXPECT_TRUE(std::filesystem::is_directory(folder.path(name)));
  }
  EXPECT_EQ(folder.names().size(), 3u);
  expect_failure(run_with({"look", "the cat", "-o", "/nowhere/r.safetensors", "-m", tiny()}), 1,
                 {"/nowhere/r.safetensors"});
  expect_failure(run_with({"look", "the cat", "-o", "/dev/full", "-m", tiny()}), 1, {"/dev/full"});
}

TEST(BadInput, FailureLeavesTheOldFileAlone) {
  const TemporaryFolder folder;
  const std::string path = folder.path("map.png");
  { std::ofstream(path) << "old"; }
  expect_failure(run_with({"map", "the cat", "--layer", "99", "-o", path, "-m", tiny()}), 1, {"99"});
  EXPECT_EQ(testing::file_content(path), "old");
  EXPECT_EQ(folder.names().size(), 1u);
}

TEST(BadInput, FullStandardOutput) {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"look", "the cat", "-m", tiny()},
                                             {"look", "the cat", "--json", "-m", tiny()},
                                             {"info", tiny()},
                                             {"--help"},
                                             {"--version"}}) {
    Start start;
    start.arguments = arguments;
    start.output_to = "/dev/full";
    expect_failure(run_program(start), 1, {"standard output", "No space left"});
  }
}

TEST(Signals, ClosedPipeEndsWithoutAWord) {
  for (const bool ignored : {false, true}) {
    Start start;
    start.arguments = {"look", "the cat", "-m", tiny()};
    start.output_closed = true;
    start.ignore_pipe_signal = ignored;
    const Outcome outcome = run_program(start);
    EXPECT_EQ(outcome.status, 128 + SIGPIPE);
    EXPECT_TRUE(outcome.error.empty()) << outcome.error;
  }
}

TEST(Signals, InterruptsEndTheProgram) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    Start start;
    start.arguments = {"look", "-m", tiny()};
    start.signal = signal;  // while it waits for its input
    const Outcome outcome = run_program(start);
    EXPECT_EQ(outcome.status, 128 + signal);
    EXPECT_TRUE(outcome.output.empty());
    EXPECT_TRUE(outcome.error.empty()) << outcome.error;
  }
}

// The map of a long text takes so long to draw that the signal meets the program with its picture's file begun.
TEST(Signals, InterruptWhileWritingLeavesNothing) {
  const TemporaryFolder models, folder;
  engine::testing::write_long_model(models.path("long"), 4100);
  std::string text;
  for (int i = 0; i < 4000; ++i) text += "cat ";
  Start start;
  start.arguments = {"map", text, "-o", folder.path("map.png"), "-m", models.path("long")};
  start.signal = SIGINT;
  start.signal_at_file_in = folder.path("");
  const Outcome outcome = run_program(start);
  EXPECT_EQ(outcome.status, 128 + SIGINT) << outcome.output << outcome.error;
  EXPECT_TRUE(outcome.output.empty());
  EXPECT_TRUE(folder.names().empty());
}

TEST(BadInput, FileThatCannotBeRead) {
  expect_failure(run_with({"look", "-f", "/nowhere.txt", "-m", tiny()}), 1, {"/nowhere.txt"});
  expect_failure(run_with({"look", "-f", "/", "-m", tiny()}), 1, {"/"});
}

TEST(Usage, WrongUsageEndsWithTwo) {
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {},
           {"watch"},
           {"look", "the cat", "--nonsense"},
           {"look", "the cat", "another"},
           {"look", "the cat", "-f", "file.txt"},
           {"look", "the cat", "--layer", "four"},
           {"look", "the cat", "--color", "pink"},
           {"look", "the cat", "-t", "0"},
           {"explain", "the cat"},
           {"map", "the cat"},
           {"map", "the cat", "-o", "map.jpg"},
           {"map", "the cat", "-o", "map"},
           {"map", "the cat", "--all", "--layer", "1", "-o", "map.png"},
       }) {
    expect_failure(run_with(arguments), 2, {});
  }
}

TEST(BadInput, MessagesCannotDriveTheTerminal) {
  for (const Outcome& outcome :
       {run_with({"look", "the cat", "--token", "\x1b[2J\xE2\x80\xAE", "-m", tiny()}),
        run_with({"look", "the cat", "-m", "/no\x1b[31mwhere"}), run_with({"look", "-f", "/no\nwhere", "-m", tiny()}),
        run_with({"look", "the cat", "--\x1b[31m"}),
        run_with({"map", "the cat", "-o", "/no\x1bwhere/map.png", "-m", tiny()})}) {
    EXPECT_NE(outcome.status, 0);
    EXPECT_EQ(outcome.error.find('\x1b'), std::string::npos) << outcome.error;
    EXPECT_EQ(std::count(outcome.error.begin(), outcome.error.end(), '\n'), 1) << outcome.error;
  }
}

TEST(BadInput, UnknownSimdTarget) {
  Start start;
  start.arguments = {"look", "the cat", "-m", tiny()};
  start.environment = {{"SIGHTLINE_TARGET", "avx9000"}};
  expect_failure(run_program(start), 1, {"avx9000"});
}

}  // namespace
}  // namespace sightline::cli
