// The command heads, as a user meets it.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/failure_testing.h"

namespace sightline::cli {
namespace {

using nlohmann::json;
using testing::Outcome;
using testing::TemporaryFolder;
using Arguments = std::vector<std::string>;

Outcome heads(Arguments arguments, const char* locale = "C.UTF-8") {
  return testing::run_program(testing::start_on("heads", testing::tiny_decoder(), std::move(arguments), locale));
}

json report(Arguments arguments) {
  arguments.emplace_back("--json");
  const Outcome outcome = heads(std::move(arguments));
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  return json::parse(outcome.output);
}

void expect_refused(const Arguments& arguments, int status, const std::string& says) {
  const Outcome outcome = heads(arguments);
  EXPECT_EQ(outcome.status, status) << outcome.error;
  EXPECT_NE(outcome.error.find(says), std::string::npos) << outcome.error;
  EXPECT_EQ(std::ranges::count(outcome.error, '\n'), 1) << outcome.error;
}

TEST(HeadsCommand, ReportsEveryRoleAndHead) {
  const json all = report({"--length", "64", "--min", "5"});
  const std::int64_t maps = all.at("layers").get<std::int64_t>() * all.at("heads").get<std::int64_t>();
  EXPECT_EQ(all.at("sightline_heads"), 1);
  EXPECT_TRUE(all.at("complete"));
  EXPECT_EQ(std::ssize(all.at("maps")), maps);
  for (const json& role : all.at("roles")) {
    EXPECT_EQ(std::ssize(role.at("heads")), maps);
    EXPECT_NE(role.at("role"), "next token") << "the model is causal";
  }
  const json one = report({"--length", "64", "--min", "5", "--layer", "1", "--head", "2"});
  ASSERT_EQ(one.at("maps").size(), 1U);
  EXPECT_EQ(one.at("maps")[0].at("head"), 2);
}

TEST(HeadsCommand, SeedsDecideAndThreadsDoNot) {
  const auto output = [](const char* seed, const char* threads) {
    return heads({"--length", "64", "--min", "5", "--json", "--seed", seed, "-t", threads}).output;
  };
  const std::string first = output("1", "1");
  EXPECT_EQ(first, output("1", "1"));
  EXPECT_EQ(first, output("1", "2"));
  EXPECT_EQ(first, output("1", "3"));
  EXPECT_NE(first, output("2", "1"));
}

TEST(HeadsCommand, WritesTablesAndPictures) {
  const TemporaryFolder folder;
  const Outcome outcome =
      heads({"--length", "64", "--min", "5", "--csv", folder.path("heads.csv"), "-o", folder.path("heads.svg")});
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_NE(outcome.output.find("not why"), std::string::npos);
  const json all = report({"--length", "64", "--min", "5"});
  const std::string csv = testing::file_content(folder.path("heads.csv"));
  EXPECT_EQ(std::ranges::count(csv, '\n'), 1 + std::ssize(all.at("roles")) * std::ssize(all.at("maps")));
  EXPECT_TRUE(csv.starts_with("role,direction,layer,head,score,"));
  EXPECT_NE(testing::file_content(folder.path("heads.svg")).find("<svg"), std::string::npos);
}

// Names of the longest relations too, with the rule of the baseline where there is room for it.
TEST(HeadsCommand, FitsTheTerminalWithATreebank) {
  const TemporaryFolder folder;
  std::ofstream treebank(folder.path("long.conllu"));
  for (int i = 0; i < 40; ++i) {
    treebank << "1\tthe\tthe\tDET\t_\t_\t2\tflat:foreign\t_\t_\n2\tcat\tcat\tNOUN\t_\t_\t0\troot\t_\t_\n\n";
  }
  treebank.close();
  for (const char* columns : {"60", "80"}) {
    testing::Start start =
        testing::start_on("heads", testing::tiny(), {"--treebank", folder.path("long.conllu"), "--length", "48"}, "C");
    start.environment["COLUMNS"] = columns;
    const Outcome outcome = testing::run_program(start);
    EXPECT_EQ(outcome.status, 0) << outcome.error;
    std::istringstream lines(outcome.output);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), std::stoul(columns)) << line;
  }
}

TEST(HeadsCommand, FitsEightyColumns) {
  std::istringstream lines(heads({"--length", "64", "--min", "5"}, "C").output);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
}

TEST(HeadsCommand, SaysWhatIsWrong) {
  const TemporaryFolder folder;
  std::ofstream(folder.path("empty.txt"));
  std::ofstream(folder.path("one.txt")) << "A paragraph.\n";
  expect_refused({"--layer", "99"}, 1, "no layer 99");
  expect_refused({"--length", "100000"}, 1, "takes at most");
  expect_refused({"--length", "8"}, 1, "too short");
  expect_refused({"-f", folder.path("empty.txt")}, 1, "nothing in the text");
  expect_refused({"--length", "64", "--min", "100000"}, 1, "--no-holdout");
  expect_refused({"--treebank", folder.path("empty.txt")}, 1, "empty.txt");
  expect_refused({"--coref", folder.path("empty.txt")}, 1, "empty.txt");
  expect_refused({"--relations", "nsubj"}, 2, "--treebank");
  expect_refused({"-o", folder.path("heads.gif")}, 2, ".png or .svg");
  expect_refused({"-o", folder.path("one.svg"), "--csv", folder.path("one.svg")}, 2, "name two files");
  expect_refused({"--top", "0"}, 2, "--top is 0: it can be 1 or more");
}

}  // namespace
}  // namespace sightline::cli
