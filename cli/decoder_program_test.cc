// The program on decoders, and on many texts at once.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "cli/display_text.h"
#include "cli/run_program.h"
#include "src/engine/testing.h"

namespace sightline::cli {
namespace {

using nlohmann::json;
using testing::Outcome;
using testing::run_program;
using testing::Start;
using testing::TemporaryFolder;

// A decoder in a folder of its own.
class Decoder {
 public:
  explicit Decoder(const std::string& model, bool bos = false, std::int64_t positions = 0) {
    engine::testing::write_decoder(path(), model, bos, positions);
  }

  std::string path() const { return folder_.path("model"); }
  std::string file(const std::string& name) const { return folder_.path(name); }

  Outcome run(std::vector<std::string> arguments, const std::string& input = "") const {
    arguments.insert(arguments.end(), {"-m", path()});
    Start start;
    start.arguments = std::move(arguments);
    start.input = input;
    start.environment = {{"LC_ALL", "C.UTF-8"}};
    return run_program(start);
  }

 private:
  TemporaryFolder folder_;
};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::string repeated(const std::string& word, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += word;
  return text;
}

TEST(DecoderLook, MarksWhatRowsDoNotSee) {
  const Outcome outcome = Decoder("llama").run({"look", "the cat sat on the mat", "--layer", "1", "--head", "1"});
  ASSERT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_TRUE(contains(outcome.output, "·: not seen")) << outcome.output;
  EXPECT_TRUE(contains(outcome.output, "A row sees its own token and those before it"));
  EXPECT_FALSE(contains(outcome.output, "next token"));
  EXPECT_TRUE(contains(outcome.output, "% on first token"));
  const auto lines = lines_of(outcome.output);
  const auto row = std::ranges::find_if(lines, [](const std::string& line) { return line.starts_with("cat"); });
  ASSERT_NE(row, lines.end());
  std::size_t dots = 0;
  for (std::size_t at = row->find("·"); at != std::string::npos; at = row->find("·", at + 1)) ++dots;
  EXPECT_EQ(dots, 4u) << *row;  // sat on the mat
}

// Of two spaces byte-level BPE makes one a token of its own.
TEST(DecoderLook, ShowsATokenOfWhiteSpaceAndCountsItToNoWords) {
  const std::string model = engine::testing::source_path("tests/data/tiny-decoder").string();
  Start start;
  start.environment = {{"LC_ALL", "C.UTF-8"}};
  start.arguments = {"look", "the cat  sat", "--layer", "1", "--head", "1", "-m", model};
  const Outcome map = run_program(start);
  ASSERT_EQ(map.status, 0) << map.error;
  EXPECT_TRUE(contains(map.output, ": 3 words, 4 tokens")) << map.output;
  const auto lines = lines_of(map.output);
  EXPECT_TRUE(std::ranges::any_of(lines, [](const std::string& line) { return line.starts_with("  ␣ "); }))
      << map.output;
  start.arguments = {"look", "the cat  sat", "--token", "sat", "-m", model};
  EXPECT_TRUE(contains(run_program(start).output, "of 3 words"));
  start.environment = {{"LC_ALL", "C"}};
  start.arguments = {"look", "the cat  sat", "--layer", "1", "--head", "1", "-m", model};
  EXPECT_TRUE(contains(run_program(start).output, "\n \\s ")) << run_program(start).output;
}

TEST(DecoderLook, SetsTheFirstTokenAsideWhereThereIsNoSpecialOne) {
  EXPECT_TRUE(contains(Decoder("llama", false).run({"look", "the cat sat"}).output, "the first token set aside"));
  const std::string with = Decoder("llama", true).run({"look", "the cat sat"}).output;
  EXPECT_TRUE(contains(with, "special tokens set aside"));
  EXPECT_TRUE(contains(with, "% on special tokens"));
}

TEST(DecoderLook, SaysWhatSinksTakeAndHowFarWindowsReach) {
  const Decoder decoder("gpt_oss");
  const std::string output = decoder.run({"look", engine::testing::kTired, "--layer", "1", "--head", "2"}).output;
  EXPECT_TRUE(contains(output, "% on the head's sink")) << output;
  EXPECT_TRUE(contains(output, "The head's sink takes"));
  EXPECT_TRUE(contains(output, "A row sees its own token and the 7 before it"));
  const std::string steps =
      decoder.run({"explain", engine::testing::kTired, "--token", "tired", "--layer", "1"}).output;
  EXPECT_TRUE(contains(steps, "(sink)")) << steps;
  EXPECT_TRUE(contains(steps, "are not seen by this row"));
}

TEST(DecoderLook, ShowsTheSoftcapAsAStep) {
  const std::string output =
      Decoder("gemma2", true).run({"explain", engine::testing::kTired, "--token", "tired", "--layer", "2"}).output;
  EXPECT_TRUE(contains(output, "and cap")) << output;
  EXPECT_TRUE(contains(output, "at 5"));
  EXPECT_TRUE(contains(output, "×0.2041"));  // 1 / sqrt(24), where heads are 16 wide
  for (const std::string& line : lines_of(output)) EXPECT_LE(display_width(line), 80) << line;
}

TEST(DecoderLook, ShowsALongTextInFewLines) {
  const Decoder decoder("mistral", true, 5000);
  std::ofstream(decoder.file("text.txt")) << repeated("the cat sat on the mat. ", 600);
  for (const std::vector<std::string>& more : std::vector<std::vector<std::string>>{
           {}, {"--rows", "100:120"}, {"--rows", "4000:", "--keys", "1:10"}, {"--pieces"}, {"--token", "cat:300"}}) {
    std::vector<std::string> arguments = {"look", "-f", decoder.file("text.txt")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = decoder.run(arguments);
    ASSERT_EQ(outcome.status, 0) << outcome.error;
    const auto lines = lines_of(outcome.output);
    EXPECT_LT(lines.size(), more.size() == 4 ? 400u : 100u);
    for (const std::string& line : lines) EXPECT_LE(display_width(line), 80) << line;
  }
  EXPECT_EQ(decoder.run({"look", "-f", decoder.file("text.txt"), "--rows", "9000"}).status, 1);
  EXPECT_EQ(decoder.run({"look", "-f", decoder.file("text.txt"), "--rows", "9:3"}).status, 2);
  EXPECT_EQ(decoder.run({"look", "-f", decoder.file("text.txt"), "--rows", "cat"}).status, 2);
}

TEST(DecoderLook, ReportsLeaveAGridOutThatWouldBeHuge) {
  const Decoder decoder("mistral", true, 5000);
  std::ofstream(decoder.file("text.txt")) << repeated("cat ", 4000);
  const auto report = json::parse(decoder.run({"look", "-f", decoder.file("text.txt"), "--json"}).output);
  EXPECT_TRUE(contains(report.at("notes").dump(), "the grid is left out"));
  const auto part = json::parse(decoder
                                    .run({"look", "-f", decoder.file("text.txt"), "--json", "--rows", "100:109",
                                          "--keys", "50:", "--layer", "1", "--head", "1"})
                                    .output);
  const auto& grid = part.at("maps").at(0).at("grid");
  EXPECT_EQ(grid.at("row_items").front(), 99);
  EXPECT_EQ(grid.at("weights").size(), 10u);
  EXPECT_EQ(grid.at("weights").at(0).size(), 4001u - 49u);
}

TEST(DecoderMap, DrawsAndWritesCausalMaps) {
  const Decoder decoder("llama");
  const Outcome outcome = decoder.run({"map", "the cat sat on the mat", "-o", decoder.file("map.svg")});
  if (contains(outcome.error, "fonts-dejavu-core")) GTEST_SKIP() << outcome.error;
  ASSERT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_TRUE(contains(testing::file_content(decoder.file("map.svg")), "A row sees its own token and those before it"));
  const Decoder oss("gpt_oss");
  EXPECT_EQ(oss.run({"map", "the cat sat", "-o", oss.file("map.svg")}).status, 0);
  EXPECT_TRUE(contains(testing::file_content(oss.file("map.svg")), "sink takes"));
  EXPECT_EQ(decoder.run({"map", "the cat sat", "--all", "-o", decoder.file("all.npy")}).status, 0);
  EXPECT_EQ(decoder.run({"look", "the cat sat", "--html", decoder.file("page.html")}).status, 0);
}

TEST(DecoderInfo, SaysWhatTheModelIs) {
  Start start;
  start.environment = {{"LC_ALL", "C.UTF-8"}};
  const Decoder oss("gpt_oss"), gemma("gemma2");
  start.environment["COLUMNS"] = "200";  // no line is broken
  start.arguments = {"info", oss.path()};
  const std::string experts = run_program(start).output;
  for (const char* part :
       {"4 a layer, 16 numbers each, 2 for keys and values", "causal", "the last 8 tokens in layer 1", "a sink a head",
        "yarn, factor 4, from 32 tokens", "4 experts of which 2 are used", "RMSNorm", "128 tokens"}) {
    EXPECT_TRUE(contains(experts, part)) << part << "\n" << experts;
  }
  start.arguments = {"info", gemma.path()};
  const std::string capped = run_program(start).output;
  for (const char* part :
       {"scores capped at 5", "before and after each block", "gated GELU (tanh)", "logits capped at"}) {
    EXPECT_TRUE(contains(capped, part)) << part << "\n" << capped;
  }
}

TEST(Context, LimitsTheText) {
  const Decoder decoder("llama");
  const Outcome longer = decoder.run({"look", "the cat sat on the mat", "-c", "3"});
  EXPECT_EQ(longer.status, 1);
  EXPECT_TRUE(contains(longer.error, "texts were limited to 3: raise that limit")) << longer.error;
  EXPECT_EQ(decoder.run({"look", "the cat sat on the mat", "-c", "3", "--truncate"}).status, 0);
  const Outcome beyond = decoder.run({"look", "the cat", "-c", "4000"});
  EXPECT_EQ(beyond.status, 1);
  EXPECT_TRUE(contains(beyond.error, "takes at most 128")) << beyond.error;
}

TEST(Lines, GiveAReportEach) {
  const Decoder decoder("llama");
  std::ofstream(decoder.file("texts.txt")) << "the cat\r\n\n  \nthe mat sat\n";
  const Outcome outcome = decoder.run({"look", "--lines", decoder.file("texts.txt"), "--jsonl"});
  ASSERT_EQ(outcome.status, 0) << outcome.error;
  const auto lines = lines_of(outcome.output);
  ASSERT_EQ(lines.size(), 2u);
  const json first = json::parse(lines[0]), second = json::parse(lines[1]);
  EXPECT_EQ(first.at("line"), 1);
  EXPECT_EQ(second.at("line"), 4);
  EXPECT_EQ(first.at("text"), "the cat");
  EXPECT_EQ(first.at("maps").size(), 12u);
  json alone = json::parse(decoder.run({"look", "the mat sat", "--json", "--layer", "1", "--head", "1"}).output);
  json again = second;
  again.erase("line");
  for (auto& map : alone.at("maps")) map.erase("grid");
  EXPECT_EQ(again, alone);
  const Outcome input = decoder.run({"look", "--lines", "-", "--jsonl", "--layer", "2"}, "the cat\nthe mat sat");
  ASSERT_EQ(lines_of(input.output).size(), 2u);
  EXPECT_EQ(json::parse(lines_of(input.output)[1]).at("maps").size(), 4u);
}

TEST(Lines, TellOfTextsThatCannotBeLookedAt) {
  const Decoder decoder("llama");
  std::ofstream(decoder.file("texts.txt")) << "the cat\n" << repeated("cat ", 500) << "\nthe mat\n";
  const std::vector<std::string> stop = {"look", "--lines", decoder.file("texts.txt"), "--jsonl"};
  const Outcome stopped = decoder.run(stop);
  EXPECT_EQ(stopped.status, 1);
  ASSERT_EQ(lines_of(stopped.output).size(), 2u);
  const json error = json::parse(lines_of(stopped.output)[1]);
  EXPECT_EQ(error.at("line"), 2);
  EXPECT_TRUE(contains(error.at("error"), "takes at most 128"));
  EXPECT_TRUE(contains(stopped.error, "line 2"));
  std::vector<std::string> going = stop;
  going.push_back("--keep-going");
  const Outcome gone = decoder.run(going);
  EXPECT_EQ(gone.status, 1);
  ASSERT_EQ(lines_of(gone.output).size(), 3u);
  EXPECT_EQ(json::parse(lines_of(gone.output)[2]).at("text"), "the mat");
  EXPECT_TRUE(contains(gone.error, "1 of 3 texts")) << gone.error;
}

TEST(Lines, RefuseWhatGoesWithOneText) {
  const Decoder decoder("llama");
  std::ofstream(decoder.file("texts.txt")) << "the cat\n";
  for (const std::vector<std::string>& more : std::vector<std::vector<std::string>>{
           {}, {"--jsonl", "--json"}, {"--jsonl", "-o", decoder.file("x")}, {"--jsonl", "--html", decoder.file("y")}}) {
    std::vector<std::string> arguments = {"look", "--lines", decoder.file("texts.txt")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    EXPECT_EQ(decoder.run(arguments).status, 2);
  }
  std::ofstream(decoder.file("texts.txt")) << "\n \n";
  EXPECT_EQ(decoder.run({"look", "--lines", decoder.file("texts.txt"), "--jsonl"}).status, 1);
  EXPECT_EQ(decoder.run({"look", "the cat", "--save", "q"}).status, 2);
  EXPECT_EQ(decoder.run({"look", "the cat", "--save", "keys", "-o", decoder.file("z")}).status, 1);
}

// The reader of docs/report.md, as it stands there.
TEST(Save, IsReadByTheProgramInTheDocs) {
  if (std::system("/usr/bin/python3 -c 'import numpy' 2>/dev/null") != 0)
    GTEST_SKIP() << "python3-numpy is not installed";
  const Decoder decoder("mistral", true);
  const std::string docs = testing::file_content(engine::testing::source_path("docs/report.md").string());
  const std::size_t begin = docs.find("```python\n") + 10;
  std::ofstream(decoder.file("read.py")) << docs.substr(begin, docs.find("```", begin) - begin)
                                         << "print(abs(tensors['self.attn'].sum(axis=2) - 1).max() < 1e-5)\n";
  const std::string saved = decoder.file("report.safetensors");
  const Outcome outcome =
      decoder.run({"look", "the cat sat", "-o", saved, "--save", "q,k,v,attn,hidden", "--layer", "2"});
  ASSERT_EQ(outcome.status, 0) << outcome.error;
  const std::string command =
      "/usr/bin/python3 '" + decoder.file("read.py") + "' '" + saved + "' > '" + decoder.file("out") + "'";
  ASSERT_EQ(std::system(command.c_str()), 0);
  const std::string said = testing::file_content(decoder.file("out"));
  for (const char* part : {"'self.q': (1, 4, 4, ", "'self.k': (1, 2, 4, ", "'self.attn': (4, 4, 4)",
                           "'hidden': (4, 4, ", "'self.row.entropy': (12, 4)", "True"}) {
    EXPECT_TRUE(contains(said, part)) << part << "\n" << said;
  }
}

}  // namespace
}  // namespace sightline::cli
