// --block, as a user meets it.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "cli/run_program.h"
#include "src/engine/testing.h"

namespace sightline::cli {
namespace {

using nlohmann::json;
using testing::Outcome;
using testing::Start;
using testing::TemporaryFolder;
using Arguments = std::vector<std::string>;

Outcome run(Arguments arguments, const std::string& model) {
  arguments.insert(arguments.end(), {"-m", engine::testing::source_path("tests/data/" + model).string()});
  Start start;
  start.arguments = std::move(arguments);
  start.environment = {{"LC_ALL", "C.UTF-8"}};
  return testing::run_program(start);
}

Outcome look(Arguments arguments) {
  arguments.insert(arguments.begin(), {"look", engine::testing::kTired});
  return run(std::move(arguments), "tiny-bert");
}

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

std::string line_that_begins(const std::string& text, std::string_view start) {
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    if (line.starts_with(start)) return line;
  }
  return "";
}

TEST(Block, LeavesACellUnseenAndSaysSo) {
  const Arguments map = {"--layer", "2", "--head", "1"};
  Arguments arguments = {"--block", "it->animal@L2H1"};
  arguments.insert(arguments.end(), map.begin(), map.end());
  const Outcome outcome = look(arguments);
  ASSERT_EQ(0, outcome.status) << outcome.error;
  EXPECT_TRUE(outcome.error.empty()) << outcome.error;
  EXPECT_TRUE(contains(outcome.output, "Knocked out: it->animal@L2H1: 1 row, 1 key, 1 map")) << outcome.output;
  EXPECT_TRUE(contains(outcome.output, "·: not seen")) << outcome.output;
  EXPECT_TRUE(contains(line_that_begins(outcome.output, "     it "), "·")) << outcome.output;
  EXPECT_FALSE(contains(line_that_begins(outcome.output, "    was "), "·")) << outcome.output;
  EXPECT_FALSE(contains(look(map).output, "Knocked out"));
}

TEST(Block, IsInTheReportAndItsWeights) {
  const json report = json::parse(
      look({"--block", "it->animal@L2H1", "--block", "*->:special@L1", "--json", "--layer", "2", "--head", "1"})
          .output);
  ASSERT_EQ(2U, report["blocked"].size());
  EXPECT_EQ("it->animal@L2H1", report["blocked"][0]["spec"]);
  EXPECT_EQ(json::parse("[[0, 1], [15, 16]]"), report["blocked"][1]["keys"]);
  std::size_t it = 0, animal = 0;
  for (std::size_t w = 0; w < report["words"].size(); ++w) {
    if (report["words"][w]["label"] == "it") it = w;
    if (report["words"][w]["label"] == "animal") animal = w;
  }
  for (const json& map : report["maps"]) {
    if (map["name"] == "L2H1") {
      EXPECT_EQ(0, map["grid"]["weights"][it][animal]);
    }
    if (map["layer"] == 1) {
      EXPECT_EQ(0, map["summary"]["special_share"]);
    }
  }
}

// Values in brackets, and in quotes, arrive as they stand.
TEST(Block, TakesWhatItIsGiven) {
  const json report = json::parse(look({"--block", "[CLS]->[SEP]", "--block", R"("it"->"animal")", "--json"}).output);
  ASSERT_EQ(2U, report["blocked"].size());
  EXPECT_EQ("[CLS]->[SEP]", report["blocked"][0]["spec"]);
  EXPECT_EQ(json::parse("[[15, 16]]"), report["blocked"][0]["keys"]);
  EXPECT_EQ(R"("it"->"animal")", report["blocked"][1]["spec"]);
}

TEST(Block, WorksInExplainAndMap) {
  const Outcome explained = run({"explain", engine::testing::kTired, "--token", "it", "--layer", "2", "--head", "1",
                                 "--block", "it->animal", "--json"},
                                "tiny-bert");
  ASSERT_EQ(0, explained.status) << explained.error;
  const json row = json::parse(explained.output)["explanations"][0];
  int unseen = 0;
  for (const json& key : row["keys"]) unseen += key["score"].is_null();
  EXPECT_EQ(1, unseen);
  EXPECT_LT(row["weight_difference"].get<double>(), 1e-6);
  const TemporaryFolder folder;
  const Outcome drawn = run({"map", engine::testing::kTired, "--layer", "2", "--head", "1", "--block", "it->animal",
                             "-o", folder.path("map.png")},
                            "tiny-bert");
  EXPECT_EQ(0, drawn.status) << drawn.error;
}

TEST(Block, ErrorsSayWhatThereIs) {
  const std::pair<const char*, const char*> cases[] = {
      {"it", "there is no -> in it"},
      {"it->streeet", "there is no \"streeet\" in the text"},
      {"it->street@L9", "there is no layer 9: tiny-bert has layers 1 to 2"},
      {"it->:generated", "there is no segment \"generated\": there are :special, :text, :first"},
  };
  for (const auto& [spec, want] : cases) {
    const Outcome outcome = look({"--block", spec});
    EXPECT_EQ(1, outcome.status) << spec;
    EXPECT_TRUE(contains(outcome.error, want)) << outcome.error;
    EXPECT_TRUE(outcome.output.empty()) << outcome.output;
  }
  EXPECT_EQ(2, look({"--block", ""}).status);
}

TEST(Block, NotesWhatChangesNothing) {
  const Arguments text = {"look", "one two three"};
  const auto with = [&](Arguments blocks) {
    blocks.insert(blocks.begin(), text.begin(), text.end());
    return run(blocks, "tiny-decoder");
  };
  const Outcome both = with({"--block", "one->three", "--block", "three->one"});
  EXPECT_EQ(0, both.status) << both.error;
  EXPECT_TRUE(contains(both.error, "knock-out \"one->three\" changes nothing")) << both.error;
  EXPECT_EQ(1, with({"--block", "one->three"}).status);
}

TEST(Block, HoldsForTokensThatAreGenerated) {
  const Arguments arguments = {"generate", "-p", "one two three", "-n", "6", "--json"};
  Arguments blocked = arguments;
  blocked.insert(blocked.end(), {"--block", ":generated->two@L1"});
  const Outcome outcome = run(blocked, "tiny-decoder");
  ASSERT_EQ(0, outcome.status) << outcome.error;
  std::istringstream stream(outcome.output);
  std::string line;
  std::getline(stream, line);
  const json first = json::parse(line);
  ASSERT_EQ(1U, first["blocked"].size());
  EXPECT_TRUE(first["blocked"][0]["rows"][0][1].is_null());
  const int from = first["blocked"][0]["keys"][0][0], to = first["blocked"][0]["keys"][0][1],
            prompt = first["blocked"][0]["rows"][0][0];
  int rows = 0;
  while (std::getline(stream, line)) {
    const json token = json::parse(line);
    if (!token.contains("row")) continue;
    for (const json& map : token["maps"]) {
      for (const int key : map["top_key"]) {
        EXPECT_FALSE(token["row"] >= prompt && map["layer"] == 1 && from <= key && key < to) << line;
      }
    }
    rows += token["row"] >= prompt;
  }
  EXPECT_EQ(5, rows);
  EXPECT_NE(run(arguments, "tiny-decoder").output, outcome.output);
}

}  // namespace
}  // namespace sightline::cli
