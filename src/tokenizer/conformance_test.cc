#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "src/tokenizer/tokenizer.h"
#include "src/tokenizer/unicode.h"

// Both WordPiece tokenizers of the conformance set, which the Hugging Face library encoded: everything must be equal.
namespace sightline::tokenizer {
namespace {

using Json = nlohmann::json;

std::filesystem::path folder_of(const std::string& name) {
  return std::filesystem::path(SIGHTLINE_SOURCE_DIR) / "tests/data/conformance/tokenizers" / name;
}

std::vector<Json> read_lines(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::vector<Json> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(Json::parse(line));
  return lines;
}

// The set counts offsets in characters, a Token in bytes.
std::size_t chars_before(std::string_view text, std::size_t byte) { return to_chars(text.substr(0, byte)).size(); }

// An encoding in the words of the set.
Json describe(const Encoding& encoding, const std::string& text, const std::string& pair) {
  Json described = {{"ids", Json::array()},
                    {"tokens", Json::array()},
                    {"offsets", Json::array()},
                    {"special", Json::array()},
                    {"type_ids", Json::array()}};
  for (const Token& token : encoding.tokens) {
    const std::string& source = token.sequence == 1 ? pair : text;
    described["ids"].push_back(token.id);
    described["tokens"].push_back(token.piece);
    described["offsets"].push_back({chars_before(source, token.begin), chars_before(source, token.end)});
    described["special"].push_back(token.special ? 1 : 0);
    described["type_ids"].push_back(token.type_id);
  }
  return described;
}

void expect_equal(const Json& expected, const Json& got) {
  for (const char* key : {"ids", "tokens", "offsets", "special"}) EXPECT_EQ(expected[key], got[key]) << key;
  const Json zeros = std::vector<int>(expected["ids"].size(), 0);
  EXPECT_EQ(expected.value("type_ids", zeros), got["type_ids"]);
}

std::vector<std::int32_t> ids_of(const Encoding& encoding) {
  std::vector<std::int32_t> ids;
  for (const Token& token : encoding.tokens) ids.push_back(token.id);
  return ids;
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
    const Encoding encoding = tokenizer.encode(text);
    expect_equal(expected, describe(encoding, text, ""));
    EXPECT_EQ(expected["ids_plain"], Json(ids_of(tokenizer.encode(text, {.add_special = false}))));
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
    expect_equal(expected, describe(tokenizer.encode(text, pair, {}), text, pair));
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
    const EncodeOptions options = {.max_length = expected["max_length"], .cut = side};
    const Encoding encoding =
        expected.contains("pair") ? tokenizer.encode(text, pair, options) : tokenizer.encode(text, options);
    expect_equal(expected, describe(encoding, text, pair));
  }
}

INSTANTIATE_TEST_SUITE_P(WordPiece, Conformance, testing::Values("wordpiece_minilm", "wordpiece_cased"));

}  // namespace
}  // namespace sightline::tokenizer
