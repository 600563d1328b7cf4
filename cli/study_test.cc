// The command study, as a user meets it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/display_text.h"
#include "cli/failure_testing.h"
#include "cli/study_view.h"

namespace sightline::cli {
namespace {

using nlohmann::json;
using testing::Outcome;
using testing::run_program;
using testing::Start;
using testing::TemporaryFolder;
using Arguments = std::vector<std::string>;

constexpr char kText[] = "the cat sat on the mat, because the animal was too tired";

Outcome study(Arguments arguments, const char* locale = "C.UTF-8") {
  arguments.insert(arguments.begin(), "study");
  Start start;
  start.arguments = std::move(arguments);
  start.environment = {{"LC_ALL", locale}};
  return run_program(start);
}

TEST(StudyCommand, ListsTheStudiesWithTheirClaims) {
  const Outcome list = study({});
  EXPECT_EQ(list.status, 0) << list.error;
  const json report = json::parse(study({"--json"}).output);
  EXPECT_GE(report.at("studies").size(), 3u);
  for (const json& entry : report.at("studies")) {
    for (const char* part : {"study", "claim"}) {
      EXPECT_NE(list.output.find(entry.at(part).get<std::string>()), std::string::npos) << list.output;
    }
  }
}

TEST(StudyCommand, ShowsTheNumbersOfItsJson) {
  const json report = json::parse(study({"scale", "--json"}).output);
  EXPECT_EQ(report.at("sightline_study"), 1);
  EXPECT_TRUE(report.at("complete"));
  const Outcome shown = study({"scale"});
  EXPECT_EQ(shown.status, 0) << shown.error;
  int seen = 0;
  for (const json& column : report.at("tables")[0].at("columns")) {
    if (column.at("key") != "entropy_plain") continue;
    for (const json& value : column.at("values")) {
      EXPECT_NE(shown.output.find(study_number(value.get<double>(), 3)), std::string::npos) << shown.output;
      ++seen;
    }
  }
  EXPECT_EQ(seen, 9);
  EXPECT_NE(study({"scale", "--json", "--seed", "2"}).output, study({"scale", "--json"}).output);
  EXPECT_EQ(study({"scale", "--json", "--seed", "1"}).output, study({"scale", "--json"}).output);
}

TEST(StudyCommand, MeasuresAModelOnAText) {
  const Outcome scale = run_program(testing::start_on("study", testing::tiny_decoder(), {"scale", kText, "--json"}));
  ASSERT_EQ(scale.status, 0) << scale.error;
  const json report = json::parse(scale.output);
  EXPECT_EQ(report.at("tables").size(), 2u);
  EXPECT_FALSE(report.at("model").is_null());
}

TEST(StudyCommand, FitsTheTerminalInEveryLocale) {
  for (const char* locale : {"C", "C.UTF-8"}) {
    for (const Arguments& arguments : {Arguments{}, {"scale"}, {"cost", "--max", "2048"}}) {
      std::istringstream lines(study(arguments, locale).output);
      for (std::string line; std::getline(lines, line);) EXPECT_LE(display_width(line), 80) << line;
    }
  }
}

TEST(StudyCommand, DrawsPicturesAndNothingElse) {
  TemporaryFolder folder;
  for (const std::string name : {"scale.png", "scale.svg"}) {
    const Outcome drawn = study({"scale", "-o", folder.path(name)});
    EXPECT_EQ(drawn.status, 0) << drawn.error;
    EXPECT_NE(drawn.error.find("wrote"), std::string::npos);
    EXPECT_GT(testing::file_content(folder.path(name)).size(), 1000u);
  }
  const Outcome list = study({"-o", folder.path("list.png")});
  EXPECT_EQ(list.status, 2);
  EXPECT_NE(list.error.find("-o draws one study"), std::string::npos) << list.error;
  const Outcome text = study({"scale", "-o", folder.path("scale.txt")});
  EXPECT_EQ(text.status, 2);
  EXPECT_NE(text.error.find(".png or .svg"), std::string::npos) << text.error;
}

TEST(StudyCommand, SaysWhatIsWrongInOneLine) {
  const std::pair<Arguments, const char*> cases[] = {
      {{"scales"}, "there is no study \"scales\": there are scale, distance, cost"},
      {{"distance", "-m", testing::tiny_decoder()}, "leave the model out"},
      {{"cost", "--max", "100"}, "--max is 100"},
      {{"distance", "--max", "100"}, "--max is 100"},
      {{"scale", "", "-m", testing::tiny_decoder()}, "the text is empty"},
  };
  for (const auto& [arguments, message] : cases) {
    const Outcome wrong = study(arguments);
    EXPECT_EQ(wrong.status, 1) << message;
    EXPECT_NE(wrong.error.find(message), std::string::npos) << wrong.error;
    EXPECT_EQ(std::ranges::count(wrong.error, '\n'), 1) << wrong.error;
    EXPECT_TRUE(wrong.output.empty()) << wrong.output;
  }
}

// Lengths that take minutes: a signal shows those that were measured.
TEST(StudyCommand, KeepsWhatIsDoneWhenASignalComes) {
  Start start;
  start.arguments = {"study", "cost", "--max", "1048576", "--json"};
  start.signal = SIGINT;
  const Outcome stopped = run_program(start);
  EXPECT_EQ(stopped.status, 130) << stopped.error;
  const json report = json::parse(stopped.output);
  EXPECT_FALSE(report.at("complete"));
}

TEST(StudyView, WritesNumbersAsColumnsAsk) {
  EXPECT_EQ(study_number(1234.5678, 2), "1234.57");
  EXPECT_EQ(study_number(0.000123456, -3), "0.000123");
  EXPECT_EQ(study_number(1234567, 0), "1234567");
  EXPECT_EQ(study_number(11634, -3), "11600");
  EXPECT_EQ(study_number(999.6, -3), "1000");
  EXPECT_EQ(study_number(999.4, -3), "999");
  EXPECT_EQ(study_number(-5962, -3), "-5960");
  EXPECT_EQ(study_number(3.2e9, -3), "3.2e+09");
  EXPECT_EQ(study_number(NAN, 3), "-");
}

// A table that is wider than the terminal goes on below with its first column.
TEST(StudyView, BreaksWideTables) {
  analysis::Study wide;
  wide.name = "wide";
  wide.claim = "it fits";
  analysis::Table& table = wide.tables.emplace_back(
      analysis::Table{.key = "t", .title = "a table", .labels = {"first", "second"}, .columns = {}});
  for (int i = 0; i < 20; ++i) {
    table.columns.push_back({.key = "k", .heading = "heading", .digits = 0, .values = {1000.0 + i, 2000.0 + i}});
  }
  Terminal terminal;
  Painter painter(terminal);
  add_study_view(painter, wide, "");
  std::istringstream lines(painter.result());
  int firsts = 0;
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 80u) << line;
    firsts += line.starts_with("first");
  }
  EXPECT_EQ(firsts, 3);  // 20 columns of 7 and a gap of 2 beside 6: 8 fit
  for (int i = 0; i < 20; ++i) EXPECT_NE(painter.result().find(std::to_string(2000 + i)), std::string::npos);
}

}  // namespace
}  // namespace sightline::cli
