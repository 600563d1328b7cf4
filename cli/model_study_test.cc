// The studies that look at a model, as a user meets them.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/failure_testing.h"

namespace sightline::cli {
namespace {

using nlohmann::json;
using testing::Outcome;
using testing::run_program;
using testing::TemporaryFolder;
using Arguments = std::vector<std::string>;

constexpr char kText[] = "the cat sat on the mat, because the animal was too tired";

Outcome study(const std::string& model, const Arguments& arguments) {
  return run_program(testing::start_on("study", model, arguments, "C"));
}

const json& of_key(const json& list, const std::string& key) {
  return *std::ranges::find_if(list, [&](const json& item) { return item.at("key") == key; });
}

TEST(ModelStudyCommand, LooksAtEveryHeadOfEveryLayer) {
  for (const std::string& model : {testing::tiny(), testing::tiny_decoder()}) {
    for (const std::string name : {"context", "many"}) {
      const Outcome shown = study(model, {name, kText});
      ASSERT_EQ(shown.status, 0) << shown.error;
      std::istringstream lines(shown.output);
      for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
      const json report = json::parse(study(model, {name, kText, "--json"}).output);
      EXPECT_EQ(report.at("study"), name);
      EXPECT_TRUE(report.at("complete"));
      const json& layers = of_key(report.at("tables"), "layers");
      EXPECT_GT(layers.at("labels").size(), 0u);
      EXPECT_EQ(json::parse(study(model, {name, kText, "--json", "-t", "1"}).output), report);
    }
  }
}

TEST(ModelStudyCommand, DecodesWithAndWithoutACache) {
  const json report = json::parse(study(testing::tiny_decoder(), {"cache", "--max", "24", "--json"}).output);
  const json& figures = report.at("figures");
  EXPECT_EQ(of_key(figures, "same").at("value"), of_key(figures, "checked").at("value"));
  EXPECT_EQ(of_key(figures, "rows_changed").at("value"), 0);
  EXPECT_EQ(of_key(figures, "exponent_with").at("timed"), true);
  EXPECT_EQ(of_key(figures, "work_exponent_with").at("timed"), false);
  for (const json& column : of_key(report.at("tables"), "lengths").at("columns")) {
    const std::string unit = column.at("unit");
    EXPECT_EQ(column.at("timed"), unit == "ms" || unit == "tokens/s" || column.at("key") == "ratio");
  }
}

TEST(ModelStudyCommand, Draws) {
  TemporaryFolder folder;
  for (const std::string name : {"context", "many", "cache"}) {
    Arguments arguments = {name, "-o", folder.path(name + ".svg"), kText};
    if (name == "cache") arguments.insert(arguments.end(), {"--max", "16"});
    const Outcome drawn = study(testing::tiny_decoder(), arguments);
    EXPECT_EQ(drawn.status, 0) << drawn.error;
    const std::string picture = testing::file_content(folder.path(name + ".svg"));
    EXPECT_NE(picture.find("<svg"), std::string::npos);
    EXPECT_NE(picture.find("Attention weights show where information flowed, not why."), std::string::npos);
    EXPECT_EQ(picture.find("nan"), std::string::npos);
  }
}

TEST(ModelStudyCommand, SaysWhatIsWrongInOneLine) {
  const std::tuple<std::string, Arguments, const char*> cases[] = {
      {testing::tiny(), {"cache"}, "needs a model that writes text"},
      {testing::tiny_decoder(), {"cache", "--max", "3"}, "--max is 3"},
      {testing::tiny_decoder(), {"cache", "--max", "1000000"}, "--max is 1000000"},
      {testing::tiny(), {"context", ""}, "the text is empty"},
      {testing::tiny(), {"many", ""}, "the text is empty"},
  };
  for (const auto& [model, arguments, message] : cases) {
    testing::expect_failure(study(model, arguments), 1, {message});
  }
}

}  // namespace
}  // namespace sightline::cli
