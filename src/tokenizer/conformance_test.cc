#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "src/tokenizer/testing.h"

// Tokenizers of the conformance set, which the Hugging Face library encoded: everything must be equal.
namespace sightline::tokenizer {
namespace {

std::filesystem::path folder_of(const std::string& name) {
  return std::filesystem::path(SIGHTLINE_SOURCE_DIR) / "tests/data/conformance/tokenizers" / name;
}

std::vector<Json> read_lines(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::vector<Json> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(Json::parse(line));
  return lines;
}

// An encoding in the words of the set.
Json describe(const Encoding& encoding, const std::string& text, const std::string& pair) {
  Json special = Json::array(), type_ids = Json::array();
  for (const Token& token : encoding.tokens) {
    special.push_back(token.special ? 1 : 0);
    type_ids.push_back(token.type_id);
  }
  return {{"ids", ids_of(encoding)},
          {"tokens", pieces_of(encoding)},
          {"offsets", char_offsets(encoding, text, pair)},
          {"special", special},
          {"type_ids", type_ids}};
}

void expect_equal(const Json& expected, const Json& got) {
  for (const char* key : {"ids", "tokens", "offsets", "special"}) EXPECT_EQ(expected[key], got[key]) << key;
  const Json zeros = std::vector<int>(expected["ids"].size(), 0);
  EXPECT_EQ(expected.value("type_ids", zeros), got["type_ids"]);
}

class Conformance : public testing::TestWithParam<std::string> {
 protected:
  const std::filesystem::path folder = folder_of(GetParam());
  const Tokenizer tokenizer = Tokenizer::load(folder / "tokenizer.json");
};

TEST_P(Conformance, Texts) {
  const std::vector<Json> cases = read_lines(folder / "cases.jsonl");
  ASSERT_EQ(cases.size(), 400u);
  for (const Json& expected : cases) {
    const std::string text = expected["text"];
    SCOPED_TRACE(expected["text"].dump());
    const Encoding encoding = tokenizer.encode(text, {.parse_special = true});
    expect_equal(expected, describe(encoding, text, ""));
    EXPECT_EQ(expected["ids_plain"],
              Json(ids_of(tokenizer.encode(text, {.add_special = false, .parse_special = true}))));
    EXPECT_EQ(expected["decoded"], tokenizer.decode(ids_of(encoding), false));
    EXPECT_EQ(expected["decoded_skip"], tokenizer.decode(ids_of(encoding), true));
  }
}

TEST_P(Conformance, Pairs) {
  const std::vector<Json> cases = read_lines(folder / "pairs.jsonl");
  ASSERT_EQ(cases.size(), 25u);
  for (const Json& expected : cases) {
    const std::string text = expected["text"];
    const std::string pair = expected["pair"];
    SCOPED_TRACE(expected["text"].dump());
    expect_equal(expected, describe(tokenizer.encode(text, pair, {.parse_special = true}), text, pair));
  }
}

TEST_P(Conformance, Truncated) {
  const std::vector<Json> cases = read_lines(folder / "truncated.jsonl");
  ASSERT_EQ(cases.size(), 15u);
  for (const Json& expected : cases) {
    const std::string text = expected["text"];
    const std::string pair = expected.value("pair", "");
    SCOPED_TRACE(expected.dump());
    const auto side = expected["direction"] == "left" ? EncodeOptions::Side::left : EncodeOptions::Side::right;
    const EncodeOptions options = {.max_length = expected["max_length"], .cut = side, .parse_special = true};
    const Encoding encoding =
        expected.contains("pair") ? tokenizer.encode(text, pair, options) : tokenizer.encode(text, options);
    expect_equal(expected, describe(encoding, text, pair));
  }
}

INSTANTIATE_TEST_SUITE_P(Bpe, Conformance,
                         testing::Values("bpe_gpt2", "bpe_roberta", "bpe_llama3", "bpe_qwen", "bpe_o200k",
                                         "spbpe_llama2", "spbpe_gemma"));
INSTANTIATE_TEST_SUITE_P(WordPiece, Conformance, testing::Values("wordpiece_minilm", "wordpiece_cased"));
INSTANTIATE_TEST_SUITE_P(Unigram, Conformance, testing::Values("unigram_t5", "unigram_xlmr"));

}  // namespace
}  // namespace sightline::tokenizer
