// What can go wrong for compare, heads, why and study alike: files that cannot be written, texts that are not read
// whole, weights that are no numbers.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/failure_testing.h"

namespace sightline::cli {
namespace {

using testing::BrokenModel;
using testing::expect_failure;
using testing::Outcome;
using testing::run_with;
using testing::TemporaryFolder;
using testing::tiny;
using Arguments = std::vector<std::string>;

constexpr char kCat[] = "the cat sat on the mat", kDog[] = "the dog sat on the mat";

// Each of the four on that model, as briefly as it can be had.
std::vector<Arguments> commands_on(const std::string& model) {
  return {{"compare", kCat, kDog, "-m", model},
          {"heads", "--length", "40", "--min", "1", "-m", model},
          {"why", kCat, "--token", "cat", "-m", model},
          {"study", "many", kCat, "-m", model}};
}

Arguments with(Arguments arguments, const Arguments& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST(AnalysisInput, UnwritableFilesAreSaidBeforeTheRun) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.path("folder.png"));
  std::filesystem::create_symlink("loop.svg", folder.path("loop.svg"));
  for (const Arguments& command : commands_on("/nowhere")) {  // a run would fail for want of its model
    for (const std::string& path :
         {std::string("/nowhere/a.png"), folder.path("folder.png"), folder.path("loop.svg")}) {
      expect_failure(run_with(with(command, {"-o", path})), 1, {path, "cannot be written"});
      expect_failure(run_with(with(command, {"--json", "-o", path})), 1, {path, "cannot be written"});
    }
  }
  expect_failure(run_with({"heads", "-m", "/nowhere", "--csv", "/nowhere/a.csv"}), 1, {"/nowhere/a.csv"});
  EXPECT_EQ(folder.names().size(), 2u);
}

TEST(AnalysisInput, NothingOfAFailedRunIsLeft) {
  const TemporaryFolder folder;
  std::ofstream(folder.path("old.png")) << "old";
  for (const Arguments& command : commands_on("/nowhere")) {
    expect_failure(run_with(with(command, {"-o", folder.path("old.png")})), 1, {"/nowhere"});
    expect_failure(run_with(with(command, {"-o", folder.path("new.png")})), 1, {"/nowhere"});
  }
  EXPECT_EQ(testing::file_content(folder.path("old.png")), "old");
  EXPECT_EQ(folder.names().size(), 1u);
}

TEST(AnalysisInput, NoFileTakesThePlaceOfAnother) {
  const TemporaryFolder folder;
  const std::string text = folder.path("text.png");  // a text may be called so
  std::ofstream(text) << kCat;
  std::filesystem::create_symlink(text, folder.path("link.png"));
  std::filesystem::create_hard_link(text, folder.path("hard.png"));
  for (const std::string& output :
       {text, folder.path("./text.png"), folder.path("link.png"), folder.path("hard.png")}) {
    for (const Arguments& command : std::vector<Arguments>{{"compare", kDog, "-f", text, "-o", output},
                                                           {"heads", "-f", text, "-o", output},
                                                           {"heads", "--treebank", text, "--csv", output},
                                                           {"heads", "--coref", text, "--csv", output},
                                                           {"why", "--token", "cat", "-f", text, "-o", output},
                                                           {"study", "many", "-f", text, "-o", output}}) {
      expect_failure(run_with(with(command, {"-m", tiny()})), 2, {output, "is read"});
      EXPECT_EQ(testing::file_content(text), kCat);
    }
  }
  for (const std::string& table : {folder.path("new.png"), folder.path("./new.png")}) {
    expect_failure(run_with({"heads", "-m", tiny(), "-o", folder.path("new.png"), "--csv", table}), 2,
                   {table, "two outputs"});
  }
  EXPECT_EQ(folder.names().size(), 3u);
}

TEST(AnalysisInput, WhatWasNotReadIsSaid) {
  std::string cat, dog;
  for (int i = 0; i < 60; ++i) cat += "the cat ";
  dog = "the dog " + cat;
  const std::string was_cut = "was cut: its last ";
  for (const Arguments& command : std::vector<Arguments>{{"why", cat, "--token", "#2"}, {"study", "many", cat}}) {
    const Outcome cut = run_with(with(command, {"--truncate", "-m", tiny()}));
    EXPECT_EQ(cut.status, 0) << cut.error;
    EXPECT_TRUE(has(cut.output, "The text " + was_cut)) << cut.output;
    const auto report = nlohmann::json::parse(run_with(with(command, {"--truncate", "--json", "-m", tiny()})).output);
    EXPECT_TRUE(has(report.at("notes").dump(), was_cut)) << report.at("notes");
  }
  const Outcome both = run_with({"compare", cat, dog, "--truncate", "-m", tiny()});
  EXPECT_TRUE(has(both.error, "first text " + was_cut)) << both.error;
  EXPECT_TRUE(has(both.error, "second text " + was_cut)) << both.error;
  const Outcome second = run_with({"compare", "the cat", dog, "--truncate", "-m", tiny()});
  EXPECT_FALSE(has(second.error, "first text")) << second.error;
  EXPECT_TRUE(has(second.error, "second text " + was_cut)) << second.error;
}

TEST(AnalysisInput, WhatTheTokenizerDropsIsSaidAndEscaped) {
  const std::string text = "the \x1b\x07 cat";
  for (const Arguments& command : std::vector<Arguments>{{"why", text, "--token", "cat"}, {"study", "many", text}}) {
    const Outcome outcome = run_with(with(command, {"-m", tiny()}));
    EXPECT_TRUE(has(outcome.output, "The tokenizer drops this part of the text: \\x1b\\x07")) << outcome.output;
    EXPECT_FALSE(has(outcome.output, "\x1b\x07")) << outcome.output;
  }
}

TEST(AnalysisInput, TextsThatShareNothingAreOneLineWhateverWasDropped) {
  std::string longer;
  for (int i = 0; i < 60; ++i) longer += "dog ";
  expect_failure(run_with({"compare", "cat \x1b", longer, "--truncate", "-m", tiny()}), 1, {"no word in common"});
}

// Of either sign: infinity less infinity has the other one on some processors.
TEST(AnalysisInput, WeightsThatAreNoNumbers) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  for (const float spoiled : {kNan, -kNan}) {
    const BrokenModel model;
    testing::spoil(model, spoiled);
    const TemporaryFolder folder;
    const std::string svg = folder.path("drawn.svg"), csv = folder.path("scores.csv");
    for (const Arguments& command : commands_on(model.directory())) {
      const Outcome shown = run_with(with(command, {"-o", svg}));
      EXPECT_EQ(shown.status, 0) << shown.error;
      for (const std::string& text : {shown.output, testing::file_content(svg)}) {
        EXPECT_FALSE(has(text, "nan ") || has(text, "nan<") || has(text, "-nan")) << text;
      }
      const Outcome report = run_with(with(command, {"--json"}));
      EXPECT_EQ(report.status, 0) << report.error;
      EXPECT_TRUE(has(nlohmann::json::parse(report.output).dump(), "null")) << report.output;
    }
    const Outcome heads = run_with(with(commands_on(model.directory())[1], {"--csv", csv}));
    EXPECT_TRUE(has(heads.output, "6 of 6 heads have weights that are no numbers")) << heads.output;
    EXPECT_TRUE(has(testing::file_content(csv), ",nan,"));
    EXPECT_FALSE(has(testing::file_content(csv), "-nan"));
  }
}

}  // namespace
}  // namespace sightline::cli
