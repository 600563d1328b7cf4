#include "src/model/end_tokens.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "sightline/error.h"
#include "src/format/file.h"
#include "src/format/gguf_testing.h"
#include "src/format/testing.h"
#include "src/tokenizer/end_pieces.h"

namespace sightline::model {
namespace {

using format::error_of;
using Ids = std::vector<std::int32_t>;
using Json = nlohmann::json;

// Words "a" and "b", then added tokens: special where the value says so. Ids from 0 in this order.
Json tokenizer_file(const std::vector<std::pair<std::string, bool>>& added) {
  Json tokens = Json::array();
  for (const auto& [piece, special] : added) {
    tokens.push_back({{"id", tokens.size() + 2},
                      {"content", piece},
                      {"special", special},
                      {"normalized", false},
                      {"single_word", false},
                      {"lstrip", false},
                      {"rstrip", false}});
  }
  return {{"added_tokens", tokens},
          {"model", {{"type", "BPE"}, {"vocab", {{"a", 0}, {"b", 1}}}, {"merges", Json::array()}}}};
}

// A directory of files with these contents, and its end tokens.
Ids ends_of(const std::vector<std::pair<std::string, bool>>& added, const std::map<std::string, Json>& files = {}) {
  const format::TestDirectory directory;
  for (const auto& [name, content] : files) std::ofstream(directory.path() / name) << content;
  return end_tokens(directory.path(), tokenizer::Tokenizer::parse(tokenizer_file(added).dump(), "tokenizer.json"));
}

TEST(EndTokens, OfADirectoryAreItsGenerationConfigsElseItsConfigs) {
  const Json config = {{"eos_token_id", 5}};
  EXPECT_EQ(ends_of({}), Ids{});
  EXPECT_EQ(ends_of({}, {{"config.json", config}}), Ids{5});
  EXPECT_EQ(ends_of({}, {{"config.json", config}, {"generation_config.json", {{"eos_token_id", {9, 7, 9}}}}}),
            (Ids{7, 9}));
  EXPECT_EQ(ends_of({}, {{"config.json", config}, {"generation_config.json", {{"eos_token_id", nullptr}}}}), Ids{5});
  EXPECT_EQ(ends_of({}, {{"config.json", config}, {"generation_config.json", {{"top_k", 5}}}}), Ids{5});
}

// A chat model whose config has the end of a text alone: its turns end by another token.
TEST(EndTokens, AreFoundByTheirSpelling) {
  const std::map<std::string, Json> files = {{"config.json", {{"eos_token_id", 2}}}};
  EXPECT_EQ(ends_of({{"<|endoftext|>", true}, {"<|im_start|>", true}, {"<|im_end|>", true}}, files), (Ids{2, 4}));
  EXPECT_EQ(ends_of({{"<bos>", true}, {"<start_of_turn>", true}, {"<end_of_turn>", true}}), Ids{4});
  EXPECT_EQ(ends_of({{"<|eot_id|>", true}, {"<|eom_id|>", true}, {"<|start_header_id|>", true}}), (Ids{2, 3}));
  for (const std::string_view piece : tokenizer::end_pieces()) {
    EXPECT_EQ(ends_of({{std::string(piece), true}}), Ids{2}) << piece;
  }
}

TEST(EndTokens, AreListedInTheDocumentation) {
  const auto page = std::filesystem::path(SIGHTLINE_SOURCE_DIR) / "docs/generate.md";
  const std::string text = format::read_file(page, std::size_t{1} << 20);
  for (const std::string_view piece : tokenizer::end_pieces()) {
    EXPECT_NE(text.find(fmt::format("`{}`", piece)), std::string::npos) << piece;
  }
}

// Text that spells one is no end, nor are tags that other vocabularies have as text, or tokens that begin something.
TEST(EndTokens, NoTextIsOne) {
  EXPECT_EQ(ends_of({{"<|im_end|>", false}}), Ids{});
  for (const char* piece : {"</s>", "<|im_start|>", "<|assistant|>", "<|fim_middle|>", "</think>", "</tool_call>"}) {
    EXPECT_EQ(ends_of({{piece, true}}), Ids{}) << piece;
  }
}

// gpt-oss closes its thoughts, and goes on to the answer.
TEST(EndTokens, AMessageWithinATurnEndsNothing) {
  EXPECT_EQ(ends_of({{"<|end|>", true}}), Ids{2});
  EXPECT_EQ(ends_of({{"<|end|>", true}, {"<|return|>", true}}), (Ids{2, 3}));
  EXPECT_EQ(ends_of({{"<|end|>", true}, {"<|return|>", true}, {"<|call|>", true}}), (Ids{3, 4}));
  EXPECT_EQ(ends_of({{"<|end|>", true}, {"<|return|>", false}, {"<|call|>", true}}), (Ids{2, 4}));
}

TEST(EndTokens, OfTheTokenizersConfigIsOne) {
  const auto ends = [](const Json& token) {
    return ends_of({{"<turn/>", true}, {"b c", false}}, {{"tokenizer_config.json", {{"eos_token", token}}}});
  };
  EXPECT_EQ(ends("<turn/>"), Ids{2});
  EXPECT_EQ(ends({{"__type", "AddedToken"}, {"content", "<turn/>"}}), Ids{2});
  EXPECT_EQ(ends("<none>"), Ids{});
  EXPECT_EQ(ends(nullptr), Ids{});
  EXPECT_EQ(ends_of({{"<turn/>", true}},
                    {{"config.json", {{"eos_token_id", 1}}}, {"tokenizer_config.json", {{"eos_token", "<turn/>"}}}}),
            (Ids{1, 2}));
  for (const Json& token : {Json(5), Json::array(), Json::object(), Json({{"content", 1}})}) {
    const std::string error = error_of<BadFile>([&] { ends(token); });
    EXPECT_NE(error.find("tokenizer_config.json: \"eos_token"), std::string::npos) << error;
  }
}

TEST(EndTokens, RefusesWhatIsNone) {
  for (const char* value : {"\"2\"", "2.5", "[1, null]", "[[1]]", "4294967296", "-2", "{}"}) {
    const std::string error = error_of<BadFile>([&] {
      ends_of({}, {{"generation_config.json", {{"eos_token_id", Json::parse(value)}}}});
    });
    EXPECT_NE(error.find("generation_config.json: \"eos_token_id\""), std::string::npos) << error;
  }
}

// A GGUF file with a byte-level tokenizer; types as the format has them: 1 normal, 3 control, 4 user-defined.
Ids ends_of_gguf(const std::vector<std::string>& pieces, const std::vector<std::int32_t>& types,
                 const std::map<std::string, std::uint32_t>& named = {}) {
  const format::TestDirectory directory;
  const std::filesystem::path path = directory.path() / "model.gguf";
  format::GgufBuilder builder;
  builder.string("tokenizer.ggml.model", "gpt2")
      .strings("tokenizer.ggml.tokens", pieces)
      .strings("tokenizer.ggml.merges", {})
      .numbers("tokenizer.ggml.token_type", types);
  for (const auto& [name, id] : named) builder.number("tokenizer.ggml." + name + "_token_id", id);
  std::ofstream(path, std::ios::binary) << builder.bytes();
  return end_tokens(path, tokenizer::Tokenizer::open(path));
}

TEST(EndTokens, OfGgufFilesAreItsThreeKeysAndWhatIsSpelledSo) {
  const std::vector<std::string> pieces = {"a", "b", "c", "<|endoftext|>", "<|im_end|>", "<|eot_id|>"};
  EXPECT_EQ(ends_of_gguf(pieces, {1, 1, 1, 1, 1, 1}, {{"eos", 2}, {"eot", 1}, {"eom", UINT32_MAX}}), (Ids{1, 2}));
  EXPECT_EQ(ends_of_gguf(pieces, {1, 1, 1, 3, 3, 1}, {{"eos", 3}}), (Ids{3, 4}));
  EXPECT_EQ(ends_of_gguf(pieces, {1, 1, 1, 3, 4, 1}, {{"eos", 3}}), (Ids{3, 4}));  // some converters write 4
}

}  // namespace
}  // namespace sightline::model
