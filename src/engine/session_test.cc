#include "src/engine/session.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sightline/error.h"
#include "src/engine/testing.h"

namespace sightline::engine {
namespace {

const Session& tiny() {
  static const Session session = Session::open(testing::tiny_model());
  return session;
}

template <class Fault>
std::string refusal(std::string_view text, const LookOptions& options = {}) {
  try {
    tiny().look(text, options);
  } catch (const Fault& error) {
    return error.what();
  }
  return "accepted";
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST(Session, SaysWhatIsWrongWithAText) {
  EXPECT_TRUE(has(refusal<BadArgument>(""), "the text is empty"));
  EXPECT_TRUE(has(refusal<BadArgument>(" \t\n"), "nothing in the text becomes a token"));
  EXPECT_TRUE(has(refusal<BadArgument>("caf\xe9 noir"), "byte 3")) << refusal<BadArgument>("caf\xe9 noir");
  EXPECT_EQ(refusal<BadArgument>("\xff").find('\n'), std::string::npos);
}

TEST(Session, RefusesATextOverTheLimitUnlessItMayCut) {
  std::string text;
  for (int i = 0; i < 60; ++i) text += "cat ";
  const std::string message = refusal<BadArgument>(text);
  EXPECT_TRUE(has(message, "62 tokens")) << message;
  EXPECT_TRUE(has(message, "at most 48")) << message;
  EXPECT_TRUE(has(message, "--truncate")) << message;

  const Look look = tiny().look(text, {.truncate = true});
  EXPECT_EQ(look.tokens().size(), 48u);
  EXPECT_EQ(look.cut_tokens(), 14u);
  EXPECT_EQ(look.tokens().back().piece, "[SEP]");
  EXPECT_EQ(look.words().size(), 48u);
  EXPECT_TRUE(look.dropped().empty());
  EXPECT_EQ(tiny().look("cat", {.truncate = true}).cut_tokens(), 0u);
}

TEST(Session, RefusesATopThatTheKernelCannotKeep) {
  EXPECT_TRUE(has(refusal<BadArgument>("cat", {.top = 63}), "1 to 62"));
  EXPECT_TRUE(has(refusal<BadArgument>("cat", {.top = 0}), "1 to 62"));
  EXPECT_EQ(refusal<BadArgument>("cat", {.top = 62}), "accepted");
}

// Special tokens are kept on top of `top`, and the kernel keeps 64 keys a row.
TEST(Session, RefusesMoreSpecialTokensThanTheKernelCanSetAside) {
  const std::filesystem::path directory = testing::temporary_path("special");
  testing::write_long_model(directory, 100);
  auto json = nlohmann::json::parse(std::ifstream(directory / "tokenizer.json"));
  nlohmann::json& single = json["post_processor"]["single"];
  const nlohmann::json separator = single.back();
  const auto with_special = [&](std::size_t count) {
    while (single.size() < count + 1) single.push_back(separator);
    std::ofstream(directory / "tokenizer.json") << json;
    return Session::open(directory);
  };
  EXPECT_EQ(with_special(63).look("cat", {.top = 1}).top(), 1);
  try {
    with_special(64).look("cat", {.top = 1});
    ADD_FAILURE() << "64 special tokens were accepted";
  } catch (const BadArgument& error) {
    EXPECT_TRUE(has(error.what(), "64 special tokens")) << error.what();
    EXPECT_TRUE(has(error.what(), "at most 63")) << error.what();
  }
  std::filesystem::remove_all(directory);
}

TEST(Session, DescribesTheModel) {
  const ModelFacts& model = tiny().model();
  EXPECT_EQ(model.name, "tiny-bert");
  EXPECT_EQ(model.config.layers, 2);
  EXPECT_EQ(model.config.query_heads, 3);
  EXPECT_EQ(model.config.head_width, 8);
  ASSERT_TRUE(model.tokenizer);
  EXPECT_EQ(model.tokenizer->kind, "WordPiece");
  // Sum of the shapes in the file: embeddings with their norm, 2 layers, pooler.
  const std::int64_t square = 24 * 24 + 24, norm = 2 * 24;
  const std::int64_t layer = 4 * square + (48 * 24 + 48) + (24 * 48 + 24) + 2 * norm;
  const std::int64_t total = (model.config.vocabulary + 48 + 2) * 24 + norm + 2 * layer + square;
  EXPECT_EQ(inspect_model(testing::tiny_model()).parameters, model.parameters);
  EXPECT_EQ(model.parameters, total);
  const WeightFacts weights = inspect_weights(testing::tiny_model());
  EXPECT_EQ(weights.dtypes, (std::map<std::string, std::int64_t>{{"F32", total}}));
  EXPECT_EQ(weights.bytes, 4 * total);
}

TEST(Session, InspectsAModelWithoutATokenizer) {
  const ModelFacts facts = inspect_model(testing::source_path("tests/data/conformance/models/bert"));
  EXPECT_EQ(facts.name, "bert");
  EXPECT_FALSE(facts.tokenizer);
  EXPECT_EQ(facts.config.layers, 3);
}

TEST(Session, RefusesADirectoryThatIsNoModel) {
  EXPECT_THROW(Session::open(testing::source_path("tests/data/no-such-model")), BadFile);
  EXPECT_THROW(Session::open(testing::source_path("tests/data/conformance/models/bert")), BadFile);  // no tokenizer
}

TEST(Session, ReadsTokensWordsAndOffsets) {
  const std::string text = "D\u00eedn't \u52d5\u7269 \ue000 cat.";
  const Look look = tiny().look(text);
  std::vector<std::string> pieces, words;
  for (const LookToken& token : look.tokens()) pieces.push_back(token.piece);
  for (const AxisItem& word : look.words()) words.push_back(word.label);
  EXPECT_EQ(pieces, (std::vector<std::string>{"[CLS]", "didn", "'", "t", "\u52d5", "\u7269", "cat", ".", "[SEP]"}));
  EXPECT_EQ(words, (std::vector<std::string>{"[CLS]", "D\u00eedn't", "\u52d5", "\u7269", "cat", ".", "[SEP]"}));
  const LookToken& cat = look.tokens()[6];
  EXPECT_EQ(text.substr(cat.byte_begin, cat.byte_end - cat.byte_begin), "cat");
  EXPECT_EQ(cat.char_begin, 12u);
  EXPECT_EQ(cat.char_end, 15u);
  EXPECT_EQ(cat.word, 4);
  EXPECT_TRUE(look.tokens()[0].special);
  EXPECT_FALSE(cat.special);
  ASSERT_EQ(look.dropped().size(), 1u);
  EXPECT_EQ(look.dropped()[0].byte_begin, text.find("\ue000"));
}

TEST(Session, KeepsSpecialTokensTypedInTheTextAsText) {
  const Look look = tiny().look("the [MASK] sat");
  EXPECT_EQ(look.words()[2].label, "[MASK]");
  EXPECT_FALSE(look.words()[2].special);
}

}  // namespace
}  // namespace sightline::engine
