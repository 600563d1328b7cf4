// look --html: what it writes, what it refuses. What the page shows is tested in a browser (tests/page).
#include "cli/page_output.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "cli/run_program.h"
#include "src/engine/testing.h"

namespace sightline::cli {
namespace {

using testing::Outcome;
using testing::run_program;
using testing::TemporaryFolder;

constexpr char kCaveat[] = "Attention weights show where information flowed, not why.";

Outcome tiny_run(std::vector<std::string> arguments) {
  arguments.insert(arguments.end(), {"-m", engine::testing::tiny_model().string()});
  testing::Start start;
  start.arguments = std::move(arguments);
  start.environment = {{"LC_ALL", "C.UTF-8"}};
  return run_program(start);
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

void write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

TEST(PageOutput, WritesThePageBesideWhatItPrints) {
  const TemporaryFolder folder;
  const std::string path = folder.path("page.html");
  const Outcome plain = tiny_run({"look", "the cat sat"}), outcome = tiny_run({"look", "the cat sat", "--html", path});
  ASSERT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_EQ(outcome.output, plain.output);
  EXPECT_TRUE(contains(outcome.error, "wrote " + path)) << outcome.error;
  EXPECT_EQ(folder.names(), std::vector<std::string>{"page.html"});
  const std::string page = testing::file_content(path);
  for (const char* part : {"<!doctype html>", "the cat sat", "\"type\":\"I16\"", kCaveat}) {
    EXPECT_TRUE(contains(page, part)) << part;
  }
  ASSERT_EQ(tiny_run({"look", "the cat sat", "--html", path, "--html-exact", "--head", "2"}).status, 0);
  const std::string exact = testing::file_content(path);
  EXPECT_TRUE(contains(exact, "\"type\":\"F32\""));
  EXPECT_TRUE(contains(exact, "\"heads\":[2]"));
}

TEST(PageOutput, TakesATextALine) {
  const TemporaryFolder folder;
  write(folder.path("lines.txt"), "the cat\r\n\n  \nit sat");
  const std::string page = folder.path("page.html");
  const Outcome outcome = tiny_run({"look", "--lines", folder.path("lines.txt"), "--html", page});
  ASSERT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_EQ(outcome.output, "2 texts in " + page + "\n" + kCaveat + "\n");
  EXPECT_TRUE(contains(testing::file_content(page), "\"text\":\"the cat\""));
  EXPECT_TRUE(contains(testing::file_content(page), "\"text\":\"it sat\""));
}

TEST(PageOutput, NamesTheLineThatCannotBeLookedAt) {
  const TemporaryFolder folder;
  std::string lines = "the cat\n\n";
  for (int i = 0; i < 60; ++i) lines += "sat ";
  write(folder.path("lines.txt"), lines);
  write(folder.path("blank.txt"), " \n\t\n");
  const std::string page = folder.path("page.html");
  const Outcome outcome = tiny_run({"look", "--lines", folder.path("lines.txt"), "--html", page});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_TRUE(contains(outcome.error, "lines.txt, line 3: the text has")) << outcome.error;
  EXPECT_TRUE(contains(tiny_run({"look", "--lines", folder.path("blank.txt"), "--html", page}).error, "has no text"));
  EXPECT_TRUE(contains(tiny_run({"look", "--lines", folder.path("none.txt"), "--html", page}).error, "none.txt"));
  EXPECT_EQ(folder.names().size(), 2u);
}

TEST(PageOutput, RefusesWhatDoesNotGoTogether) {
  const TemporaryFolder folder;
  const std::string lines = folder.path("lines.txt"), page = folder.path("page.html");
  write(lines, "the cat\n");
  const std::vector<std::vector<std::string>> wrong = {{"the cat", "--html-exact"},
                                                       {"the cat", "--html-max", "5"},
                                                       {"the cat", "--html", page, "--html-max", "0"},
                                                       {"--lines", lines},
                                                       {"the cat", "--lines", lines, "--html", page},
                                                       {"--lines", lines, "--html", page, "--json"},
                                                       {"--lines", lines, "--html", page, "--token", "cat"},
                                                       {"the cat", "--html", ""}};
  for (std::vector<std::string> arguments : wrong) {
    arguments.insert(arguments.begin(), "look");
    const Outcome outcome = tiny_run(arguments);
    EXPECT_EQ(outcome.status, 2) << arguments[1] << " " << arguments[2] << ": " << outcome.error;
  }
  EXPECT_EQ(folder.names(), std::vector<std::string>{"lines.txt"});
}

TEST(PageOutput, SaysWhatToChooseWhereAPageIsTooLarge) {
  const TemporaryFolder folder;
  std::string lines;
  for (int i = 0; i < 600; ++i) lines += "the cat sat because it was too tired and the street was too wide\n";
  write(folder.path("lines.txt"), lines);
  const std::string page = folder.path("page.html");
  const Outcome outcome = tiny_run({"look", "--lines", folder.path("lines.txt"), "--html", page, "--html-max", "1"});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_TRUE(contains(outcome.error, "MB and --html-max allows 1: choose a layer or a head")) << outcome.error;
  EXPECT_EQ(folder.names(), std::vector<std::string>{"lines.txt"});
}

}  // namespace
}  // namespace sightline::cli
