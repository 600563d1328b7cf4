// The tokens command: what it shows of texts and ids, and how it fails.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "cli/display_text.h"
#include "cli/failure_testing.h"

namespace sightline::cli {
namespace {

using testing::expect_failure;
using testing::Outcome;
using testing::run_program;
using testing::Start;
using testing::TemporaryFolder;
using Json = nlohmann::json;

// A folder that holds no more of a model than this tokenizer.json of the conformance set.
class TokenizerAlone {
 public:
  explicit TokenizerAlone(const std::string& name) {
    std::filesystem::create_directory(folder_.path(name));
    std::filesystem::copy(engine::testing::source_path("tests/data/conformance/tokenizers/" + name + "/tokenizer.json"),
                          folder_.path(name));
    path_ = folder_.path(name);
  }
  const std::string& path() const { return path_; }

 private:
  TemporaryFolder folder_;
  std::string path_;
};

Outcome run_tokens(std::vector<std::string> arguments, const std::string& input = "",
                   const std::string& locale = "C.UTF-8") {
  Start start;
  start.arguments = {"tokens"};
  start.arguments.insert(start.arguments.end(), arguments.begin(), arguments.end());
  start.input = input;
  start.environment = {{"LC_ALL", locale}};
  return run_program(start);
}

Outcome tokens_of(const std::string& tokenizer, std::vector<std::string> arguments, const std::string& input = "",
                  const std::string& locale = "C.UTF-8") {
  const TokenizerAlone model(tokenizer);
  arguments.insert(arguments.end(), {"-m", model.path()});
  return run_tokens(arguments, input, locale);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Tokens, ShowsATable) {
  const Outcome outcome = tokens_of("wordpiece_minilm", {"The Müller"});
  ASSERT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_TRUE(outcome.error.empty()) << outcome.error;
  EXPECT_EQ(outcome.output,
            "wordpiece_minilm: WordPiece, 30522 pieces\n"
            "4 tokens (2 special), 10 characters, 11 bytes\n"
            "#     id  text      bytes  characters  piece\n"
            "1    101  [CLS]                                special\n"
            "2   1996  The       0–3    0–3         the\n"
            "3  12304  Müller    4–11   4–10        muller\n"
            "4    102  [SEP]                                special\n"
            "decoded: the␣muller\n");
}

// R10-03: no glyph of a byte-level vocabulary, no ▁ and no ## stands for the text.
TEST(Tokens, LabelsAreTextWithVisibleSpaces) {
  const auto labels = [](const std::string& tokenizer, const std::string& text) {
    std::vector<std::string> labels;
    for (const std::string& line : lines_of(tokens_of(tokenizer, {text, "--no-special"}).output)) {
      std::istringstream words(line);
      std::string number, id, label;
      if (words >> number >> id >> label && id.find_first_not_of("0123456789") == std::string::npos)
        labels.push_back(label);
    }
    return labels;
  };
  std::string joined;
  for (const std::string& label : labels("bpe_gpt2", "An on Murray,\n")) joined += label;
  EXPECT_EQ(joined, "An␣on␣Murray,⏎");
  joined.clear();
  for (const std::string& label : labels("spbpe_llama2", "a b")) joined += label;
  EXPECT_TRUE(joined.starts_with("a") && joined.ends_with("b") && !has(joined, "▁")) << joined;
}

TEST(Tokens, PartsOfACharacterAreBytes) {
  const Outcome outcome = tokens_of("spbpe_llama2", {"🦙", "--no-special"});
  EXPECT_TRUE(has(outcome.output, "byte F0")) << outcome.output;
  EXPECT_TRUE(has(outcome.output, "<0xF0>")) << outcome.output;
  EXPECT_TRUE(has(outcome.output, "decoded: the text, byte for byte")) << outcome.output;
}

TEST(Tokens, FitsEightyColumnsInEveryLocale) {
  const std::string text = "日本語のテキスト 👩‍🚒 supercalifragilistic \x1b[31m e\u0301 end";
  for (const char* tokenizer : {"wordpiece_minilm", "bpe_gpt2", "unigram_xlmr", "spbpe_gemma"}) {
    for (const char* locale : {"C.UTF-8", "C"}) {
      const Outcome outcome = tokens_of(tokenizer, {text}, "", locale);
      ASSERT_EQ(outcome.status, 0) << outcome.error;
      EXPECT_FALSE(has(outcome.output, "\x1b"));
      for (const std::string& line : lines_of(outcome.output)) {
        if (!line.starts_with("decoded: ")) {
          EXPECT_LE(display_width(line), 80) << line;
        }
        if (std::string(locale) == "C") {
          EXPECT_EQ(line.find_first_of("\xE2\xE3"), std::string::npos) << line;
        }
      }
    }
  }
}

TEST(Tokens, PrintsIdsThatDecodeAgain) {
  EXPECT_EQ(tokens_of("wordpiece_minilm", {"the cat", "--ids"}).output, "101 1996 4937 102\n");
  EXPECT_EQ(tokens_of("wordpiece_minilm", {"the cat", "--ids", "--no-special"}).output, "1996 4937\n");
  EXPECT_EQ(tokens_of("wordpiece_minilm", {"", "--ids", "--no-special"}).output, "\n");
  const std::string all = tokens_of("wordpiece_minilm", {"--decode", "101, 1996 4937,102"}).output;
  EXPECT_TRUE(has(all, "4 tokens (2 special)\n")) << all;
  EXPECT_TRUE(all.ends_with("decoded: [CLS]␣the␣cat␣[SEP]\n")) << all;
  const std::string plain = tokens_of("wordpiece_minilm", {"--decode", "101,1996,4937", "--no-special"}).output;
  EXPECT_TRUE(plain.ends_with("decoded: the␣cat\n")) << plain;
}

TEST(Tokens, WritesJson) {
  const std::string text = "Größe \u00e9";
  const Json json = Json::parse(tokens_of("bpe_gpt2", {text, "--json"}).output);
  EXPECT_EQ(json["model"], "bpe_gpt2");
  EXPECT_EQ(json["tokenizer"], "BPE");
  EXPECT_EQ(json["text"], text);
  EXPECT_EQ(json["decoded"], text);
  std::string bytes;
  for (const Json& token : json["tokens"]) {
    if (token.contains("text")) bytes += token["text"].get<std::string>();
    for (const Json& byte : token.value("bytes", Json::array())) bytes += static_cast<char>(byte.get<int>());
    EXPECT_LE(token["byte_range"][1], text.size());
    EXPECT_LE(token["character_range"][1], 7);
  }
  EXPECT_EQ(bytes, text);
  const Json decoded = Json::parse(tokens_of("bpe_gpt2", {"--decode", "5", "--json"}).output);
  EXPECT_FALSE(decoded.contains("text"));
  EXPECT_EQ(decoded["tokens"].size(), 1u);
}

TEST(Tokens, SpecialTokensOfTheTextAreTextUnlessAskedFor) {
  const auto ids = [](std::vector<std::string> more) {
    more.insert(more.begin(), {"a [SEP]", "--ids", "--no-special"});
    return tokens_of("wordpiece_minilm", more).output;
  };
  EXPECT_EQ(ids({}), "1037 1031 19802 1033\n");
  EXPECT_EQ(ids({"--special"}), "1037 102\n");
}

TEST(Tokens, UnknownWordsAreMarked) {
  const std::string output = tokens_of("wordpiece_cased", {"\u0d85"}).output;
  EXPECT_TRUE(has(output, "[UNK]") && has(output, "unknown")) << output;
  EXPECT_TRUE(has(output, "3 tokens (2 special)")) << output;
  EXPECT_TRUE(has(tokens_of("unigram_xlmr", {"\u0d85"}).output, "unknown"));
}

TEST(Tokens, ReadsFileAndInput) {
  const TemporaryFolder folder;
  std::ofstream(folder.path("text")) << "the cat";
  EXPECT_EQ(tokens_of("wordpiece_minilm", {"--ids", "-f", folder.path("text")}).output, "101 1996 4937 102\n");
  EXPECT_EQ(tokens_of("wordpiece_minilm", {"--ids", "-"}, "the cat").output, "101 1996 4937 102\n");
  EXPECT_EQ(tokens_of("wordpiece_minilm", {"--ids"}, "the cat").output, "101 1996 4937 102\n");
}

// Time in proportion to the text: a quadratic step would take minutes.
TEST(Tokens, TakesLongTexts) {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += "the ";
  for (const char* tokenizer : {"wordpiece_minilm", "unigram_t5"}) {
    const Outcome outcome = tokens_of(tokenizer, {}, text);
    ASSERT_EQ(outcome.status, 0) << outcome.error;
    EXPECT_GE(lines_of(outcome.output).size(), 100'000u);
  }
}

TEST(Tokens, EndsWhereItsReaderWentAway) {
  const TokenizerAlone model("wordpiece_minilm");
  Start start;
  start.arguments = {"tokens", "the cat", "-m", model.path()};
  start.output_closed = true;
  const Outcome outcome = run_program(start);
  EXPECT_EQ(outcome.status, 141);
  EXPECT_TRUE(outcome.error.empty()) << outcome.error;
}

TEST(Tokens, SaysWhatIsWrong) {
  const TokenizerAlone model("wordpiece_minilm");
  const TemporaryFolder empty;
  const auto fails = [&](std::vector<std::string> arguments, int status, const std::vector<std::string>& parts) {
    expect_failure(run_tokens(arguments), status, parts);
  };
  fails({"a", "-m", "/nowhere"}, 1, {"/nowhere"});
  fails({"a", "-m", empty.path("")}, 1, {"tokenizer.json"});
  fails({"a", "--pre", "gpt-2", "-m", model.path()}, 1, {"--pre", "GGUF"});
  fails({"--decode", "1,x", "-m", model.path()}, 2, {"--decode", "x"});
  fails({"--decode", "-1", "-m", model.path()}, 2, {"--decode"});
  fails({"--decode", "99999", "-m", model.path()}, 1, {"99999", "vocabulary"});
  fails({"a", "--decode", "1", "-m", model.path()}, 2, {"--decode"});
  fails({"a", "--ids", "--json", "-m", model.path()}, 2, {"--ids"});
  fails({"a\xFF", "-m", model.path()}, 1, {"UTF-8"});
  fails({"--decode", "", "-m", model.path()}, 2, {"--decode"});
}

}  // namespace
}  // namespace sightline::cli
