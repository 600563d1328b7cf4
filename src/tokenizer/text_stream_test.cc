#include "src/tokenizer/text_stream.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <vector>

#include "src/tokenizer/testing.h"

namespace sightline::tokenizer {
namespace {

std::filesystem::path conformance_directory() {
  const std::filesystem::path source = SIGHTLINE_SOURCE_DIR, whole = source / "../shared/conformance/tokenizers";
  return std::filesystem::exists(whole) ? whole : source / "tests/data/conformance/tokenizers";
}

// Unicode's own example (Core Specification, table 3-8 and its neighbours): one U+FFFD for each maximal subpart.
TEST(Utf8Stream, ReplacesWhatIsNone) {
  const auto all = [](std::string_view bytes) {
    Utf8Stream stream;
    std::string text;
    for (const char byte : bytes) text += stream.add({&byte, 1});
    return text + stream.finish();
  };
  const std::string r = "\xEF\xBF\xBD";
  EXPECT_EQ(all("\x61\xF1\x80\x80\xE1\x80\xC2\x62\x80\x63\x80\xBF\x64"), "a" + r + r + r + "b" + r + "c" + r + r + "d");
  EXPECT_EQ(all("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41"), r + r + r + r + r + r + r + r + "A");
  EXPECT_EQ(all("\xED\xA0\x80\xF4\x91\x92\x93\xFF\x41"), r + r + r + r + r + r + r + r + "A");
  EXPECT_EQ(all("\xF0\x9F\x98"), r);
  EXPECT_EQ(all("\xE1\xE1\x80\x80"), r + "\xE1\x80\x80");
}

// R9-10 of the reports: what each byte gives, and what the end gives.
TEST(Utf8Stream, GivesWhatTheReportExpects) {
  std::ifstream file(std::filesystem::path(SIGHTLINE_SOURCE_DIR) / "tests/data/cases/reports.jsonl");
  for (std::string line; std::getline(file, line);) {
    const auto report = nlohmann::json::parse(line);
    if (report.at("id") != "R9-10") continue;
    const auto& texts = report.at("case").at("token_bytes_hex");
    const auto& pieces = report.at("expected").at("pieces");
    for (std::size_t i = 0; i < texts.size(); ++i) {
      Utf8Stream stream;
      for (std::size_t j = 0; j < texts[i].size(); ++j) {
        const auto byte = static_cast<char>(std::stoi(texts[i][j].get<std::string>(), nullptr, 16));
        EXPECT_EQ(stream.add({&byte, 1}), pieces[i][j].get<std::string>()) << i << ", " << j;
      }
      EXPECT_EQ(stream.finish(), report.at("expected").at("flush")[i].get<std::string>()) << i;
    }
    return;
  }
  FAIL() << "no R9-10 in the reports";
}

std::string streamed(const Tokenizer& tokenizer, const std::vector<std::int32_t>& ids) {
  TextStream stream(tokenizer);
  std::string text;
  for (const std::int32_t id : ids) {
    const std::string part = stream.add(id);
    Utf8Stream whole;
    EXPECT_EQ(part, whole.add(part)) << "cut inside a character";
    text += part;
  }
  return text + stream.finish();
}

// Every tokenizer of the set, its own texts: the joined stream is the text that the reference decodes at once.
TEST(TextStream, IsDecodingAtOnce) {
  int tokenizers = 0;
  for (const auto& entry : std::filesystem::directory_iterator(conformance_directory())) {
    if (!std::filesystem::exists(entry.path() / "cases.jsonl")) continue;
    ++tokenizers;
    const Tokenizer tokenizer = Tokenizer::load(entry.path() / "tokenizer.json");
    std::ifstream cases(entry.path() / "cases.jsonl");
    int differ = 0, count = 0;
    for (std::string line; std::getline(cases, line); ++count) {
      const auto example = nlohmann::json::parse(line);
      const std::string want = example.at("decoded_skip");
      if (streamed(tokenizer, example.at("ids")) != want && ++differ == 1) {
        ADD_FAILURE() << entry.path() << ": " << line;
      }
    }
    EXPECT_EQ(differ, 0) << entry.path();
    EXPECT_GT(count, 5) << entry.path();
  }
  EXPECT_GE(tokenizers, 11);
}

// A text that goes on from another one: the two joined are the whole.
TEST(TextStream, GoesOnFromATextBefore) {
  for (const char* name : {"spbpe_llama2", "spbpe_gemma", "unigram_xlmr", "wordpiece_cased", "bpe_gpt2"}) {
    const Tokenizer tokenizer = Tokenizer::load(conformance_directory() / name / "tokenizer.json");
    const std::vector<std::int32_t> ids = ids_of(tokenizer.encode("the cat sat on the mat"));
    for (std::size_t cut = 0; cut <= ids.size(); ++cut) {
      const std::span<const std::int32_t> before = std::span(ids).first(cut);
      TextStream stream(tokenizer, before);
      std::string text = tokenizer.decode({before.begin(), before.end()}, true);
      for (const std::int32_t id : std::span(ids).subspan(cut)) text += stream.add(id);
      EXPECT_EQ(text + stream.finish(), tokenizer.decode(ids, true)) << name << ", " << cut;
    }
  }
}

// Ids in any order, so that characters are cut anywhere: of byte-level vocabularies all that decode() gives.
TEST(TextStream, IsDecodingAtOnceOfAnyBytes) {
  for (const char* name : {"bpe_gpt2", "bpe_llama3", "bpe_qwen"}) {
    const Tokenizer tokenizer = Tokenizer::load(conformance_directory() / name / "tokenizer.json");
    std::mt19937 random(1);
    for (int text = 0; text < 200; ++text) {
      std::vector<std::int32_t> ids;
      for (int i = 0; i < 30; ++i) ids.push_back(static_cast<std::int32_t>(random() % (text % 2 ? 256 : 1500)));
      EXPECT_EQ(streamed(tokenizer, ids), tokenizer.decode(ids, /*skip_special=*/true)) << name;
    }
  }
}

}  // namespace
}  // namespace sightline::tokenizer
