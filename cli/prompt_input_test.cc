// Conversations and segments on the command line: --messages, --segment, --markers, --segments.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/display_text.h"
#include "cli/failure_testing.h"

namespace sightline::cli {
namespace {

using nlohmann::json;
using testing::expect_failure;
using testing::Outcome;
using testing::run_program;
using testing::Start;
using testing::TemporaryFolder;
using Arguments = std::vector<std::string>;

constexpr const char* kTemplate =
    "{% for m in messages %}{% if m.role == 'tool' %}{{ raise_exception('no tools here') }}{% endif %}"
    "{{ m.role }}:{{ m.content }}\n{% endfor %}{% if add_generation_prompt %}assistant:{% endif %}";

// A model with a template, and files to give to it.
class PromptInputTest : public ::testing::Test {
 protected:
  PromptInputTest() {
    std::filesystem::copy(engine::testing::source_path("tests/data/tiny-decoder"), path("model"));
    write("model/chat_template.jinja", kTemplate);
    write("chat.json",
          R"([{"role": "system", "content": "cats sat."}, {"role": "user", "content": "the cat. On the mat. </s>"}])");
  }
  std::string path(const std::string& name) const { return folder_.path(name); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name)) << text;
    return path(name);
  }
  Start start(const std::string& command, Arguments arguments) const {
    Start start;
    arguments.insert(arguments.begin(), {command, "-m", path("model")});
    start.arguments = std::move(arguments);
    start.environment = {{"LC_ALL", "C.UTF-8"}};
    return start;
  }
  Outcome run(const std::string& command, Arguments arguments, const std::string& input = "") const {
    Start with_input = start(command, std::move(arguments));
    with_input.input = input;
    return run_program(with_input);
  }
  std::vector<json> lines(Arguments arguments) const {
    arguments.push_back("--json");
    const Outcome outcome = run("generate", std::move(arguments));
    EXPECT_EQ(outcome.status, 0) << outcome.error;
    std::vector<json> lines;
    std::istringstream stream(outcome.output);
    for (std::string line; std::getline(stream, line);) lines.push_back(json::parse(line));
    return lines;
  }

 private:
  TemporaryFolder folder_;
};

std::string text_of_segment(const json& start, const std::string& name) {
  std::string text;
  for (const json& token : start.at("tokens")) {
    if (start.at("segments")[token.at("segment").get<std::size_t>()] == name)
      text += token.at("text").get<std::string>() + "|";
  }
  return text;
}

TEST_F(PromptInputTest, AConversationBecomesThePromptOfItsTemplate) {
  const auto all = lines({"--messages", path("chat.json"), "-n", "4"});
  ASSERT_EQ(all.size(), 6U);
  const json& start = all.front();
  EXPECT_EQ(start.at("text"), "system:cats sat.\nuser:the cat. On the mat. </s>\nassistant:");
  EXPECT_EQ(start.at("segments"), json({"special", "text", "first", "template", "system", "user", "generated"}));
  std::string user = text_of_segment(start, "user");
  std::erase(user, '|');
  EXPECT_NE(user.find("</s>"), std::string::npos);
  EXPECT_EQ(user.find("assistant"), std::string::npos);
  // The same from standard input, and with a template of a file.
  EXPECT_EQ(run("generate", {"--messages", "-", "-n", "4"}, testing::file_content(path("chat.json"))).output,
            all.back().at("text"));
  write("own.jinja", "{{ messages[0].content }}");
  EXPECT_EQ(lines({"--messages", path("chat.json"), "-n", "1", "--chat-template", path("own.jinja")})[0].at("text"),
            "cats sat.");
}

TEST_F(PromptInputTest, TheLastLineSumsUpWhatTheOthersSay) {
  const auto all = lines({"--messages", path("chat.json"), "-n", "6", "--layer", "2"});
  std::vector<double> sum(7);
  for (std::size_t i = 1; i <= 6; ++i) {
    std::vector<double> of_maps(7);
    for (const json& map : all[i].at("maps")) {
      for (std::size_t s = 0; s < 7; ++s) of_maps[s] += map.at("segment_mass")[s].get<double>() / 4;
    }
    for (std::size_t s = 0; s < 7; ++s) {
      EXPECT_NEAR(all[i].at("segment_mass")[s].get<double>(), of_maps[s], 1e-6);
      sum[s] += of_maps[s] / 6;
    }
  }
  for (std::size_t s = 0; s < 7; ++s)
    EXPECT_NEAR(all.back().at("answer").at("segment_mass")[s].get<double>(), sum[s], 1e-6);
  std::string text;
  for (const json& sentence : all.back().at("sentences")) text += sentence.at("text").get<std::string>();
  EXPECT_EQ(text, all.back().at("text"));
}

TEST_F(PromptInputTest, FilesAndMarkersNameParts) {
  const std::string doc = write("doc.txt", "the cat\n");
  const auto named = lines({"-p", "see the cat and the cat", "--segment", "doc=" + doc, "-n", "1"}).front();
  EXPECT_EQ(named.at("segments"), json({"special", "text", "first", "doc", "generated"}));
  std::string text = text_of_segment(named, "doc");
  std::erase(text, '|');
  EXPECT_EQ(text, "thecatthecat");  // its tokens leave spaces to what is before them
  const auto marked = lines({"-p", "see [[doc]]the cat[[/doc]] and", "--markers", "-n", "1"}).front();
  EXPECT_EQ(marked.at("text"), "see the cat and");
  EXPECT_EQ(marked.at("segments"), named.at("segments"));
  // In messages they cut parts out of the message.
  const auto both = lines({"--messages", path("chat.json"), "--segment", "doc=" + doc, "-n", "1"}).front();
  EXPECT_EQ(both.at("segments"), json({"special", "text", "first", "template", "system", "doc", "user", "generated"}));
}

TEST_F(PromptInputTest, LookReplaysAConversation) {
  write("whole.json", R"({"messages": [{"role": "user", "content": "the cat"},
                                       {"role": "assistant", "content": "It sat. It sat on the mat."}]})");
  const Outcome outcome = run("look", {"--messages", path("whole.json"), "--json"});
  ASSERT_EQ(outcome.status, 0) << outcome.error;
  const json report = json::parse(outcome.output);
  EXPECT_EQ(report.at("segments"), json({"special", "text", "first", "template", "user", "assistant"}));
  ASSERT_EQ(report.at("answers").size(), 1U);
  const json& answer = report.at("answers")[0];
  EXPECT_EQ(answer.at("name"), "assistant");
  ASSERT_EQ(answer.at("sentences").size(), 2U);
  EXPECT_EQ(answer.at("sentences")[1].at("text"), "It sat on the mat.");
  double sum = 0;
  for (const json& mass : answer.at("segment_mass")) sum += mass.get<double>();
  EXPECT_NEAR(sum, 1, 1e-5);
  const Outcome shown = run("look", {"--messages", path("whole.json")});
  EXPECT_NE(shown.output.find("Where the answer looked"), std::string::npos);
  EXPECT_NE(shown.output.find("It sat on the mat."), std::string::npos);
}

TEST_F(PromptInputTest, TheTableGoesBesideATextInAPipe) {
  const Outcome plain = run("generate", {"--messages", path("chat.json"), "-n", "6"});
  EXPECT_EQ(plain.error, "");
  const Outcome with = run("generate", {"--messages", path("chat.json"), "-n", "6", "--segments"});
  EXPECT_EQ(with.status, 0);
  EXPECT_EQ(with.output, plain.output);
  EXPECT_NE(with.error.find("Where the answer looked"), std::string::npos);
  EXPECT_NE(with.error.find("shares of the rest"), std::string::npos);
  EXPECT_EQ(with.error.find('\x1b'), std::string::npos);
  for (const int columns : {40, 80}) {
    Start terminal = start("generate", {"--messages", path("chat.json"), "-n", "6", "--segments", "--layer", "1"});
    terminal.terminal_columns = columns;
    const Outcome outcome = run_program(terminal);
    EXPECT_NE(outcome.output.find("layer 1"), std::string::npos) << outcome.output;
  }
}

// Sentences are cut before segments are summed up as others.
TEST_F(PromptInputTest, TheTableHasRoomForTheSegmentsOfAConversation) {
  const Outcome outcome = run("generate", {"-p",
                                           "[[guidance]]see the cat[[/guidance]] [[system]]sat[[/system]] "
                                           "[[user]]on[[/user]] [[contract]]the mat[[/contract]] "
                                           "[[question]]was it[[/question]]",
                                           "--markers", "-n", "2", "--segments"});
  EXPECT_EQ(outcome.status, 0);
  for (const char* name : {"guidance", "system", "user", "contract", "question", "generated", "aside"}) {
    EXPECT_NE(outcome.error.find(std::string(" ") + name), std::string::npos) << name << '\n' << outcome.error;
  }
  EXPECT_EQ(outcome.error.find("others"), std::string::npos) << outcome.error;
  std::istringstream lines(outcome.error);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
}

TEST_F(PromptInputTest, SaysWhatDoesNotFit) {
  const std::string chat = path("chat.json"), doc = write("doc.txt", "a dog");
  expect_failure(run("generate", {"--messages", chat, "-p", "a"}), 2, {"--messages and a text were both given"});
  expect_failure(run("generate", {"--messages", chat, "--special"}), 2, {"--messages and --special"});
  expect_failure(run("generate", {"-p", "a", "--chat-template", "x"}), 2, {"--chat-template", "add --messages"});
  expect_failure(run("generate", {"-p", "a", "--tools", "x"}), 2, {"--tools", "add --messages"});
  expect_failure(run("generate", {"-p", "a", "--segment", "doc"}), 2, {"--segment is doc", "NAME=FILE"});
  expect_failure(run("generate", {"-p", "a", "--segment", "doc=" + path("none")}), 1, {"none"});
  expect_failure(run("generate", {"-p", "a", "--segment", "doc=" + doc}), 1,
                 {"\"doc\" does not stand in the prompt", "white space included"});
  expect_failure(run("generate", {"-p", "x[[a]]y", "--markers"}), 1, {"line 1, column 2", "[[a]] is not closed"});
  expect_failure(run("generate", {"-p", "a", "--json", "--segments"}), 2, {"--segments"});
  expect_failure(run("generate", {"-p", "a", "--layer", "1"}), 2, {"--json, --watch or --segments"});
  expect_failure(run("generate", {"--messages", chat, "--chat-template", "rag"}), 1,
                 {"no chat template named", "default"});
  expect_failure(run("generate", {"--messages", write("bad.json", "{}")}), 1, {"bad.json: is no conversation"});
  expect_failure(run("generate", {"--messages", write("tool.json", R"([{"role": "tool", "content": "a"}])")}), 1,
                 {"no tools here"});
  std::filesystem::remove(path("model/chat_template.jinja"));
  expect_failure(run("look", {"--messages", chat}), 1, {"has no chat template", "--chat-template FILE"});
}

}  // namespace
}  // namespace sightline::cli
