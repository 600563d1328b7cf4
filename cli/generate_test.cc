// The command generate, as a user meets it: streams, terminals, signals.
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
using testing::tiny_decoder;
using Arguments = std::vector<std::string>;

Start start_with(Arguments arguments, const std::string& model = tiny_decoder()) {
  return testing::start_on("generate", model, std::move(arguments));
}

Outcome generate(Arguments arguments, const std::string& input = "") {
  Start start = start_with(std::move(arguments));
  start.input = input;
  return run_program(start);
}

// The same model with room for a text that takes far longer than a test waits, and without an end token, which random
// weights give anywhere.
class LongDecoder {
 public:
  LongDecoder() {
    std::filesystem::copy(tiny_decoder(), path());
    auto config = json::parse(testing::file_content(path() + "/config.json"));
    config["max_position_embeddings"] = 1'000'000;
    std::filesystem::permissions(path() + "/config.json", std::filesystem::perms::owner_all);
    std::ofstream(path() + "/config.json") << config;
    std::string tokenizer = testing::file_content(path() + "/tokenizer.json");
    tokenizer.replace(tokenizer.find("<|end|>"), 7, "<|mid|>");
    std::filesystem::permissions(path() + "/tokenizer.json", std::filesystem::perms::owner_all);
    std::ofstream(path() + "/tokenizer.json") << tokenizer;
  }
  std::string path() const { return folder_.path("model"); }

 private:
  TemporaryFolder folder_;
};

std::vector<json> json_lines(const std::string& text) {
  std::vector<json> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(json::parse(line));
  return lines;
}

TEST(Generate, WritesOnFromAnArgumentAFileOrStandardInput) {
  const Outcome argument = generate({"-p", "the cat", "-n", "12"});
  EXPECT_EQ(argument.status, 0) << argument.error;
  EXPECT_EQ(argument.error, "");
  EXPECT_FALSE(argument.output.empty());
  TemporaryFolder folder;
  std::ofstream(folder.path("prompt.txt")) << "the cat";
  EXPECT_EQ(generate({"-f", folder.path("prompt.txt"), "-n", "12"}).output, argument.output);
  EXPECT_EQ(generate({"-n", "12"}, "the cat").output, argument.output);
  EXPECT_EQ(generate({"-p", "-", "-n", "12", "-t", "1"}, "the cat").output, argument.output);
  testing::expect_failure(generate({"-p", "the cat", "-f", "x"}), 2, {"both given"});
}

TEST(Generate, TakesLlamaCppsSpellings) {
  const Outcome outcome = generate({"-p",
                                    "the cat",
                                    "-n",
                                    "9",
                                    "-c",
                                    "64",
                                    "-t",
                                    "2",
                                    "-s",
                                    "7",
                                    "--temp",
                                    "0.8",
                                    "--top-k",
                                    "40",
                                    "--top-p",
                                    "0.95",
                                    "--min-p",
                                    "0.05",
                                    "--repeat-penalty",
                                    "1.1",
                                    "-ctk",
                                    "q8_0",
                                    "-ctv",
                                    "q4_1"});
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_EQ(outcome.error, "sightline: seed 7\n");
  testing::expect_failure(generate({"-p", "a", "-ctk", "q5_0"}), 2, {"-ctk is q5_0", "q8_0"});
  testing::expect_failure(generate({"-p", "a", "--top-p", "1.5"}), 1, {"top-p is 1.5"});
  testing::expect_failure(generate({"-p", "a", "--temp", "1", "-s", "-3"}), 2, {"--seed is -3"});
  testing::expect_failure(generate({"-p", "a", "-c", "1000"}), 1, {"takes at most 256"});
  testing::expect_failure(generate({"-p", "a", "--stop", ""}), 2, {"--stop is empty"});
}

TEST(Generate, DropsKeysAndSaysSo) {
  const Outcome full = generate({"-p", "the cat", "-n", "40"});
  const Outcome all_kept = generate({"-p", "the cat", "-n", "40", "--drop", "mass,keep=100", "--audit"});
  EXPECT_EQ(all_kept.status, 0) << all_kept.error;
  EXPECT_EQ(all_kept.output, full.output);
  EXPECT_TRUE(all_kept.error.starts_with("sightline: mass,keep=100,recent=50: 0 keys were evicted, with 0.00 % of all"))
      << all_kept.error;
  EXPECT_NE(all_kept.error.find("given evicted keys 0.00 % of their weight\n"), std::string::npos) << all_kept.error;
  EXPECT_TRUE(all_kept.error.ends_with("the text is the one that all keys give\n")) << all_kept.error;
  const Outcome dropped = generate({"-p", "the cat", "-n", "40", "--drop", "window,keep=3"});
  EXPECT_EQ(dropped.status, 0) << dropped.error;
  EXPECT_EQ(std::ranges::count(dropped.error, '\n'), 1) << dropped.error;
  const Outcome audited = generate({"-p", "the cat", "-n", "40", "--drop", "window,keep=3", "--audit", "-t", "1"});
  EXPECT_EQ(audited.output, dropped.output);
  EXPECT_EQ(audited.output == full.output, audited.error.ends_with("all keys give\n")) << audited.error;
}

TEST(Generate, TellsOfDroppedKeysInJson) {
  const Outcome outcome =
      generate({"-p", "the cat", "-n", "30", "--json", "--drop", "sinks+window,keep=5,sinks=1", "--audit"});
  ASSERT_EQ(outcome.status, 0) << outcome.error;
  const std::vector<json> lines = json_lines(outcome.output);
  EXPECT_EQ(lines.front()["cache"]["drop"], "sinks+window,keep=5,sinks=1");
  EXPECT_EQ(lines.front()["cache"]["audit"], true);
  const json& dropped = lines.back()["eviction"];
  const std::int64_t tokens = lines.back()["prompt_tokens"].get<std::int64_t>() + 29;  // the last one is not read
  const auto layers = std::ssize(dropped["layers"]);
  EXPECT_EQ(layers, lines.front()["model"]["layers"]);
  const std::int64_t kv_heads = lines.front()["model"]["kv_heads"];
  // Each head keeps 5, and position 0 left the layers' windows of 16 keys.
  EXPECT_EQ(dropped["evicted_keys"], layers * kv_heads * (tokens - 6));
  double evicted = 0, missed = 0;
  for (const json& layer : dropped["layers"]) {
    EXPECT_EQ(layer["kept_keys"], 5);
    EXPECT_EQ(layer["evicted_keys"], kv_heads * (tokens - 6));
    evicted += layer["evicted_mass"].get<double>() / static_cast<double>(layers);
    missed += layer["audit_mass"].get<double>() / static_cast<double>(layers);
  }
  EXPECT_NEAR(evicted, dropped["evicted_mass"].get<double>(), 1e-12);
  EXPECT_NEAR(missed, dropped["audit"]["mass"].get<double>(), 1e-12);
  EXPECT_GT(dropped["audit"]["largest"]["mass"].get<double>(), missed);
  double of_lines = 0;
  for (std::size_t i = 1; i + 1 < lines.size(); ++i) {
    of_lines += lines[i]["evicted_mass"].get<double>();
    for (const json& map : lines[i]["maps"]) {
      for (const std::int64_t key : map["top_key"]) {
        const std::int64_t row = lines[i]["row"];
        EXPECT_TRUE(i == 1 || (key == 0 && row < 16) || key >= row - 5) << key << " of row " << row;
      }
    }
  }
  EXPECT_NEAR(of_lines / dropped["audit"]["rows"].get<double>(), missed, 1e-9);
  EXPECT_EQ(dropped["audit"]["rows"], 29);
}

TEST(Generate, RefusesRulesThatMeanNothing) {
  const auto refused = [](Arguments arguments, const std::vector<std::string>& says) {
    arguments.insert(arguments.begin(), {"-p", "a", "-n", "3"});
    testing::expect_failure(generate(std::move(arguments)), 2, says);
  };
  refused({"--audit"}, {"--audit tells what --drop loses"});
  refused({"--drop", "h2o,keep=4"}, {"--drop h2o,keep=4", "window,keep=N"});
  refused({"--drop", "mass"}, {"how many keys to keep", "mass,keep=N"});
  refused({"--drop", "window,keep=0"}, {"keep=0"});
  refused({"--drop", "sinks+window,keep=4"}, {"sinks can be 0 to 3"});
  refused({"--drop", "mass,keep=4,sinks=1"}, {"knows no \"sinks=1\""});
}

TEST(Generate, TakesNoNumberForAnother) {
  const auto refused = [](Arguments arguments, const std::vector<std::string>& says) {
    arguments.insert(arguments.begin(), {"-p", "a"});
    testing::expect_failure(generate(std::move(arguments)), 2, says);
  };
  for (const std::string option : {"-n", "--seed", "--top-k", "--repeat-last-n", "-c", "-t", "--layer", "--top"}) {
    for (const std::string number : {"9223372036854775808", "99999999999999999999", "-9223372036854775809"}) {
      refused({option, number, "--temp", "1", "--json"}, {option, number});
    }
  }
  refused({"-n", "1", "--seed", "-2"}, {"--seed is -2"});
  refused({"-n", "1", "--seed", "-2", "--temp", "1"}, {"--seed is -2"});
  EXPECT_NE(generate({"-p", "a", "-n", "1", "--temp", "1", "--seed", "9223372036854775807"})
                .error.find("seed 9223372036854775807"),
            std::string::npos);
}

TEST(Generate, WritesNoTwoThingsIntoOneFile) {
  const TemporaryFolder folder;
  const std::string file = folder.path("file");
  for (const std::string& other : {file, folder.path("./file"), folder.path("none/../file")}) {
    testing::expect_failure(generate({"-p", "a", "-n", "1", "-o", file, "--save-state", other}), 2,
                            {"--output and --save-state are both"});
  }
  EXPECT_FALSE(std::filesystem::exists(file));
  EXPECT_EQ(generate({"-p", "a", "-n", "1", "-o", file, "--save-state", folder.path("state")}).status, 0);
}

TEST(Generate, SaysItsSeedWhichGivesTheTextAgain) {
  const Outcome first = generate({"-p", "the cat", "-n", "30", "--temp", "1"});
  ASSERT_TRUE(first.error.starts_with("sightline: seed ")) << first.error;
  const std::string seed = first.error.substr(16, first.error.size() - 17);
  const Outcome again = generate({"-p", "the cat", "-n", "30", "--temp", "1", "-s", seed, "-t", "1"});
  EXPECT_EQ(again.output, first.output);
  EXPECT_EQ(again.error, first.error);
}

TEST(Generate, AFullContextIsAnErrorBesideTheText) {
  const Outcome outcome = generate({"-p", "the cat", "-c", "12"});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_FALSE(outcome.output.empty());
  EXPECT_TRUE(outcome.error.starts_with("sightline: the context is full: it holds 12 tokens")) << outcome.error;
}

TEST(Generate, EndsBeforeAStopText) {
  const std::string whole = generate({"-p", "the cat", "-n", "30"}).output;
  const std::string stop = whole.substr(whole.size() / 2, 3);
  const Outcome outcome = generate({"-p", "the cat", "-n", "30", "--stop", "nothing", "--stop", stop});
  EXPECT_EQ(outcome.output, whole.substr(0, whole.find(stop)));
}

TEST(Generate, WritesALineOfJsonAToken) {
  const Outcome outcome = generate({"-p", "the cat", "-n", "5", "--json", "--top", "3"});
  ASSERT_EQ(outcome.status, 0) << outcome.error;
  const std::vector<json> lines = json_lines(outcome.output);
  ASSERT_EQ(lines.size(), 7u);
  const json& start = lines.front();
  EXPECT_EQ(start.at("sightline_generation"), 1);
  EXPECT_EQ(start.at("segments"), json({"special", "text", "first", "generated"}));
  const std::size_t prompt = start.at("tokens").size();
  std::string text;
  for (std::size_t i = 1; i <= 5; ++i) {
    const json& line = lines[i];
    EXPECT_EQ(line.at("position"), prompt + i - 1);
    EXPECT_EQ(line.at("row"), prompt + i - 2);
    EXPECT_LE(line.at("log_probability"), 0);
    ASSERT_EQ(line.at("maps").size(), 8u);  // 2 layers of 4 heads
    for (const json& map : line.at("maps")) {
      double sum = 0;
      for (const json& share : map.at("segment_mass")) sum += share.get<double>();
      EXPECT_NEAR(sum, 1, 1e-5);
      EXPECT_EQ(map.at("top_key").size(), std::min<std::size_t>(3, prompt + i - 1));
      EXPECT_GE(map.at("top_weight")[0], map.at("top_weight").back());
    }
    double mass = 0;  // every row so far gave 1
    for (const json& received : line.at("key_mass")) mass += received.get<double>();
    EXPECT_NEAR(mass, static_cast<double>(prompt + i - 1), 1e-4);
    text += line.at("text");
  }
  EXPECT_EQ(lines.back().at("end"), "length");
  EXPECT_EQ(lines.back().at("generated_tokens"), 5);
  EXPECT_EQ(lines.back().at("text"), text);
  EXPECT_EQ(text, generate({"-p", "the cat", "-n", "5"}).output);
}

TEST(Generate, JsonTellsOfTheMapsThatWereAskedFor) {
  const auto lines = json_lines(generate({"-p", "the cat", "-n", "1", "--json", "--layer", "2", "--head", "3"}).output);
  ASSERT_EQ(lines.at(1).at("maps").size(), 1u);
  EXPECT_EQ(lines.at(1).at("maps")[0].at("name"), "L2H3");
  testing::expect_failure(generate({"-p", "a", "--json", "--layer", "3"}), 1, {"there is no layer 3", "1 to 2"});
  testing::expect_failure(generate({"-p", "a", "--layer", "1"}), 2, {"--layer", "--json, --watch"});
  testing::expect_failure(generate({"-p", "a", "--json", "--top", "65"}), 2, {"--top is 65"});
}

TEST(Generate, AnEncoderIsRefused) {
  testing::expect_failure(testing::run_with({"generate", "-m", testing::tiny(), "-p", "a"}), 1, {"writes no text"});
}

// Ctrl-C typed while text comes, again and again, so that it also falls inside characters: random bytes of a vocabulary
// of bytes.
TEST(Generate, CtrlCLeavesWholeCharacters) {
  const LongDecoder decoder;
  for (int run = 0; run < 5; ++run) {
    Start start =
        start_with({"-p", "the cat", "-c", "1000000", "--temp", "3", "-s", std::to_string(run)}, decoder.path());
    start.terminal_columns = 80;
    start.keys = "\x03";
    start.keys_after = 300 + 100 * static_cast<std::size_t>(run);
    const Outcome outcome = run_program(start);
    EXPECT_EQ(outcome.status, 130) << outcome.output;
    EXPECT_TRUE(tokenizer::is_utf8(outcome.output));
    EXPECT_TRUE(outcome.output.ends_with("\n"));
  }
}

TEST(Generate, CtrlCEndsJsonWithItsLastLine) {
  const LongDecoder decoder;
  Start start = start_with({"-p", "the cat", "-c", "100000", "--json", "--top", "1", "--layer", "1"}, decoder.path());
  start.signal = SIGINT;
  const Outcome outcome = run_program(start);
  EXPECT_EQ(outcome.status, 130) << outcome.error;
  if (outcome.output.empty()) return;  // the signal came before the model was open
  const auto lines = json_lines(outcome.output);
  EXPECT_EQ(lines.back().at("end"), "cancelled");
}

TEST(Generate, EndsWhereNobodyReads) {
  const LongDecoder decoder;
  for (const bool ignored : {false, true}) {
    Start start = start_with({"-p", "the cat", "-c", "100000"}, decoder.path());
    start.output_closed = true;
    start.ignore_pipe_signal = ignored;
    const Outcome outcome = run_program(start);
    EXPECT_EQ(outcome.status, 141);
    EXPECT_EQ(outcome.error, "");
  }
}

TEST(Generate, NothingOfTheTextActsOnATerminal) {
  for (const char* locale : {"C.UTF-8", "C"}) {
    Start start = start_with({"-p", "the cat", "-n", "200", "--temp", "9", "-s", "1"});
    start.terminal_columns = 80;
    start.environment = {{"LC_ALL", locale}};
    const Outcome outcome = run_program(start);
    EXPECT_EQ(outcome.status, 0);
    for (const char byte : outcome.output) {
      const auto code = static_cast<unsigned char>(byte);
      EXPECT_TRUE(code >= 0x20 || byte == '\n' || byte == '\t') << static_cast<int>(code);
      EXPECT_TRUE(code < 0x7f || std::string(locale) != "C") << static_cast<int>(code);
    }
  }
}

}  // namespace
}  // namespace sightline::cli
