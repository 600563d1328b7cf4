// What generate keeps in files: states that it goes on from, and whole runs.
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/failure_testing.h"
#include "src/format/safetensors.h"

namespace sightline::cli {
namespace {

using format::SafetensorsFile;
using nlohmann::json;
using testing::expect_failure;
using testing::Outcome;
using testing::run_program;
using testing::Start;
using testing::TemporaryFolder;
using testing::tiny_decoder;
using Arguments = std::vector<std::string>;

Start start_with(Arguments arguments) { return testing::start_on("generate", tiny_decoder(), std::move(arguments)); }

Outcome generate(Arguments arguments) { return run_program(start_with(std::move(arguments))); }

std::vector<json> json_lines(const std::string& text) {
  std::vector<json> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(json::parse(line));
  return lines;
}

// Lines of tokens alone.
std::vector<json> token_lines(const std::string& text) {
  std::vector<json> lines = json_lines(text);
  return {lines.begin() + 1, lines.end() - 1};
}

TEST(GenerateState, GoesOnAsIfItHadNeverStopped) {
  const TemporaryFolder folder;
  const std::string file = folder.path("state");
  for (const Arguments& more : {Arguments{}, {"-ctk", "q8_0", "-ctv", "f16"}, {"--temp", "1", "-s", "9"}}) {
    const auto with = [&](Arguments arguments) {
      arguments.insert(arguments.end(), more.begin(), more.end());
      arguments.push_back("--json");
      return generate(arguments);
    };
    const std::vector<json> whole = token_lines(with({"-p", "the cat", "-n", "14"}).output);
    const Outcome first = with({"-p", "the cat", "-n", "5", "--save-state", file});
    ASSERT_EQ(first.status, 0) << first.error;
    EXPECT_NE(first.error.find("saved the state of"), std::string::npos) << first.error;
    const Outcome rest = generate(
        {"--load-state", file, "-n", "9", "--json", "--temp", more.size() == 4 && more[0] == "--temp" ? "1" : "0"});
    ASSERT_EQ(rest.status, 0) << rest.error;
    EXPECT_NE(rest.error.find("resumed after"), std::string::npos) << rest.error;
    const std::vector<json> lines = token_lines(rest.output);
    ASSERT_EQ(lines.size(), 9u);
    for (std::size_t i = 0; i < 9; ++i) EXPECT_EQ(lines[i], whole[5 + i]) << i;
    const json header = json_lines(rest.output).front();
    EXPECT_EQ(header.at("resumed_tokens"), header.at("tokens").size() - 1);
  }
}

TEST(GenerateState, OfAPromptThatWasOnlyReadGoesOnWithAnother) {
  const TemporaryFolder folder;
  const std::string one = folder.path("one"), two = folder.path("two");
  const Outcome read = generate({"-p", "the cat sat on", "-n", "0", "--save-state", one});
  ASSERT_EQ(read.status, 0) << read.error;
  EXPECT_EQ(read.output, "");
  const std::string whole = generate({"-p", "the cat sat on", "-n", "12"}).output;
  EXPECT_EQ(generate({"--load-state", one, "-n", "12"}).output, whole);
  // A text behind it, saved again without any new token, and the two read at once.
  ASSERT_EQ(generate({"--load-state", one, "-p", " the mat", "-n", "0", "--save-state", two}).status, 0);
  const Outcome both = generate({"--load-state", two, "-n", "8", "--json"});
  ASSERT_EQ(both.status, 0) << both.error;
  EXPECT_NE(both.error.find("all its tokens run again"), std::string::npos) << both.error;
  EXPECT_EQ(json_lines(both.output).front().at("text"), "the cat sat on the mat");
  EXPECT_EQ(generate({"--load-state", two, "-n", "8"}).output, json_lines(both.output).back().at("text"));
}

TEST(GenerateState, RefusesWhatDoesNotFit) {
  const TemporaryFolder folder;
  const std::string file = folder.path("state");
  ASSERT_EQ(generate({"-p", "the cat", "-n", "5", "--save-state", file}).status, 0);
  expect_failure(generate({"--load-state", file, "-ctk", "f16"}), 1, {"cache of F32", "-ctk asks for F16"});
  expect_failure(generate({"--load-state", file, "-c", "4"}), 1, {"the context holds 4", "-c"});
  for (const Arguments& about_a_prompt : std::vector<Arguments>{{"--markers"},
                                                                {"--segment", "name=" + file},
                                                                {"--special"},
                                                                {"--chat-template", "default"},
                                                                {"--tools", file}}) {
    Arguments arguments = {"--load-state", file};
    arguments.insert(arguments.end(), about_a_prompt.begin(), about_a_prompt.end());
    expect_failure(generate(std::move(arguments)), 2, {about_a_prompt.front(), "add -p"});
  }
  expect_failure(generate({"--load-state", folder.path("none")}), 1, {"none"});
  expect_failure(generate({"--load-state", tiny_decoder() + "/model.safetensors"}), 1, {"not a saved state"});
  expect_failure(generate({"-p", "the cat", "-n", "5", "--save-state", "/nowhere/state"}), 1, {"/nowhere/state"});
  std::string damaged = testing::file_content(file);
  damaged[damaged.size() - 40] ^= 4;
  std::ofstream(folder.path("damaged")) << damaged;
  expect_failure(generate({"--load-state", folder.path("damaged")}), 1, {"is damaged"});
}

TEST(GenerateState, CtrlCSavesWhatThereIs) {
  const TemporaryFolder folder;
  const std::string file = folder.path("state");
  Start start = start_with({"-p", "the cat", "-c", "256", "--temp", "3", "-s", "1", "--save-state", file});
  start.terminal_columns = 80;
  start.keys = "\x03";
  start.keys_after = 60;
  const Outcome outcome = run_program(start);
  EXPECT_TRUE(outcome.status == 130 || outcome.status == 1) << outcome.output;  // 1: the context was full before
  EXPECT_NE(outcome.output.find("saved the state of"), std::string::npos) << outcome.output;
  EXPECT_EQ(generate({"--load-state", file, "-n", "0"}).status, 0);
}

TEST(GenerateFile, HoldsWhatTheLinesSay) {
  const TemporaryFolder folder;
  const std::string file = folder.path("run.safetensors");
  const Outcome outcome =
      generate({"-p", "the cat", "-n", "6", "--json", "--top", "3", "--layer", "2", "--head", "3", "-o", file});
  ASSERT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_EQ(outcome.error, "sightline: wrote " + file + "\n");
  const std::vector<json> lines = json_lines(outcome.output);
  const SafetensorsFile run = SafetensorsFile::open(file);
  EXPECT_EQ(json::parse(run.metadata().at("sightline_generation")), lines.front());
  EXPECT_EQ(json::parse(run.metadata().at("sightline_generation_end")), lines.back());
  const auto floats = [&](const char* name) { return format::to_f32(run.at(name), name); };
  EXPECT_EQ(run.at("step.entropy").shape, (std::vector<std::int64_t>{6, 2, 4}));
  EXPECT_EQ(run.at("step.top_key").shape, (std::vector<std::int64_t>{6, 2, 4, 3}));
  EXPECT_EQ(run.find("step.sink_weight"), nullptr);
  const std::vector<float> entropy = floats("step.entropy"), mass = floats("step.segment_mass");
  for (std::size_t step = 0; step < 6; ++step) {
    const json& map = lines[1 + step].at("maps")[0];  // L2H3, number 6 of 8
    EXPECT_EQ(map.at("entropy").get<float>(), entropy[step * 8 + 6]);
    for (std::size_t s = 0; s < 4; ++s) EXPECT_EQ(map.at("segment_mass")[s].get<float>(), mass[(step * 8 + 6) * 4 + s]);
  }
  const std::int64_t keys = lines[6].at("row").get<std::int64_t>() + 1;
  EXPECT_EQ(run.at("col.mass").shape, (std::vector<std::int64_t>{2, 4, keys}));
  const std::vector<float> received = floats("col.mass");
  for (std::int64_t key = 0; key < keys; ++key) {
    EXPECT_EQ(lines[6].at("key_mass")[static_cast<std::size_t>(key)].get<float>(),
              received[static_cast<std::size_t>(6 * keys + key)]);
  }
  // The same without lines.
  const std::string other = folder.path("other.safetensors");
  ASSERT_EQ(generate({"-p", "the cat", "-n", "6", "--top", "3", "-o", other}).status, 0);
  for (const auto& [name, tensor] : run.tensors()) {
    EXPECT_TRUE(std::ranges::equal(tensor.bytes, SafetensorsFile::open(other).at(name).bytes)) << name;
  }
}

TEST(GenerateFile, IsReadByTheProgramInTheDocs) {
  if (std::system("/usr/bin/python3 -c 'import numpy' 2>/dev/null") != 0)
    GTEST_SKIP() << "python3-numpy is not installed";
  const TemporaryFolder folder;
  const std::string docs = testing::file_content(engine::testing::source_path("docs/report.md").string());
  const std::size_t begin = docs.rfind("```python\n") + 10;
  std::ofstream(folder.path("read.py")) << docs.substr(begin, docs.find("```", begin) - begin);
  ASSERT_EQ(generate({"-p", "the cat", "-n", "3", "-o", folder.path("run")}).status, 0);
  const std::string command =
      "/usr/bin/python3 '" + folder.path("read.py") + "' '" + folder.path("run") + "' > '" + folder.path("out") + "'";
  ASSERT_EQ(std::system(command.c_str()), 0);
  const std::string said = testing::file_content(folder.path("out"));
  EXPECT_EQ(std::ranges::count(said, '\n'), 3) << said;
  EXPECT_NE(said.find("'generated': "), std::string::npos) << said;
}

TEST(GenerateFile, IsThereAfterCtrlC) {
  const TemporaryFolder folder;
  const std::string file = folder.path("run");
  Start start = start_with({"-p", "the cat", "-c", "256", "--temp", "3", "-s", "1", "-o", file});
  start.terminal_columns = 80;
  start.keys = "\x03";
  start.keys_after = 60;
  run_program(start);
  const SafetensorsFile run = SafetensorsFile::open(file);
  const json end = json::parse(run.metadata().at("sightline_generation_end"));
  EXPECT_EQ(run.at("step.token").shape[0], end.at("generated_tokens"));
  EXPECT_GT(end.at("generated_tokens"), 0);
  expect_failure(generate({"-p", "the cat", "-n", "2", "-o", "/nowhere/run"}), 1, {"/nowhere/run"});
}

}  // namespace
}  // namespace sightline::cli
