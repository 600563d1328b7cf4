#include "src/engine/study.h"

#include <gtest/gtest.h>

#include <cmath>

#include "sightline/error.h"
#include "src/engine/report_testing.h"
#include "src/engine/study_report.h"

namespace sightline::engine {
namespace {

TEST(Studies, AreFoundByName) {
  for (const StudyEntry& entry : studies()) EXPECT_EQ(&find_study(entry.name), &entry);
  try {
    find_study("scales");
    FAIL();
  } catch (const BadArgument& error) {
    for (const StudyEntry& entry : studies()) {
      EXPECT_NE(std::string(error.what()).find(entry.name), std::string::npos) << error.what();
    }
  }
}

TEST(Studies, RefuseToRunWithoutTheModelThatTheyNeed) {
  for (const StudyEntry& entry : studies()) {
    if (entry.model == StudyNeed::needed) {
      EXPECT_THROW(run_study(entry, {}), BadArgument) << entry.name;
    }
  }
}

TEST(StudyReport, HoldsAllThatWasMeasured) {
  analysis::Study study;
  study.name = "scale";
  study.claim = "a claim";
  study.settings = {"a setting"};
  study.complete = false;
  study.figures.push_back({"ratio", "so many times", "x", 2.5, 1, true});
  analysis::Table& table =
      study.tables.emplace_back(analysis::Table{.key = "t", .title = "a table", .labels = {"a", "b"}, .columns = {}});
  table.columns.push_back(
      {.key = "ms", .heading = "time", .unit = "ms", .digits = 2, .timed = true, .values = {1.5, NAN}});
  const ReportJson json = study_report(nullptr, study, {});
  EXPECT_EQ(json.begin().key(), "sightline_study");
  EXPECT_EQ(json.at("sightline_study"), kReportVersion);
  EXPECT_TRUE(json.at("model").is_null());
  EXPECT_EQ(json.at("study"), "scale");
  EXPECT_EQ(json.at("seed"), 1);
  const ReportJson& column = json.at("tables")[0].at("columns")[0];
  EXPECT_EQ(column.at("timed"), true);
  EXPECT_EQ(column.at("values")[0], 1.5);
  EXPECT_TRUE(column.at("values")[1].is_null());
  EXPECT_EQ(json.at("tables")[0].at("labels")[1], "b");
  EXPECT_EQ(json.at("figures")[0].at("value"), 2.5);
  EXPECT_EQ(json.at("figures")[0].at("timed"), true);
  EXPECT_EQ(json.at("complete"), false);
  EXPECT_EQ(json.at("notes").size(), 1u);  // on the value that is none
  std::set<std::string> written = testing::fields_of(json);
  written.merge(testing::fields_of(study_list_report()));
  testing::expect_documented("## A study", written);
}

}  // namespace
}  // namespace sightline::engine
