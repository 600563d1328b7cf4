#include "src/engine/session.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sightline/error.h"
#include "src/engine/explain.h"
#include "src/engine/report.h"
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

TEST(Session, CountsTokensWithoutAPass) {
  EXPECT_EQ(tiny().token_count(testing::kTired), 16);
  EXPECT_THROW(tiny().token_count(""), BadArgument);
  std::string text;
  for (int i = 0; i < 60; ++i) text += "cat ";
  EXPECT_THROW(tiny().token_count(text), BadArgument);
  EXPECT_EQ(tiny().token_count(text, true), 48);
}

TEST(Session, KeepsTheLayersThatAreAskedFor) {
  const Look all = tiny().look(testing::kTired), second = tiny().look(testing::kTired, {.keep_layers = {2, 2}});
  EXPECT_EQ(all.kept_layers(), (std::vector<int>{1, 2}));
  EXPECT_EQ(second.kept_layers(), (std::vector<int>{2}));
  EXPECT_EQ(second.maps(), all.maps());
  EXPECT_EQ(second.kept_maps(), (std::vector<MapId>{{2, 1}, {2, 2}, {2, 3}}));
  EXPECT_EQ(second.sharpest(), all.sharpest(second.kept_maps()));
  for (const MapId& id : all.maps()) {
    EXPECT_EQ(second.summary(id).entropy, all.summary(id).entropy);
    EXPECT_EQ(second.summary(id).sharpness, all.summary(id).sharpness);
  }
  const Axis words = all.words();
  for (const MapId& id : second.kept_maps()) {
    EXPECT_EQ(second.grid(id, words, words).weights, all.grid(id, words, words).weights);
    EXPECT_TRUE(std::ranges::equal(second.observations(id).top_index, all.observations(id).top_index));
  }
  EXPECT_LT(second.bytes(), all.bytes());
}

TEST(Session, RefusesToLookIntoALayerThatWasNotKept) {
  const Look look = tiny().look(testing::kTired, {.keep_layers = {2}});
  const MapId gone{1, 2};
  BlockRequest block;
  block.maps = {{2, 1}, gone};
  block.row_end = block.key_end = 1;
  const std::vector<std::function<void()>> questions = {
      [&] { look.observations(gone); },
      [&] {
        look.tile(gone, {0, 0, 0, 1, 0, 1}, Stage::raw);
      },
      [&] { look.block(block); },
      [&] { look.grid(gone, look.words(), look.words()); },
      [&] { look.special_share(gone, look.words()[1]); },
      [&] { explain(look, 1, gone, true); },
      [&] { build_report(look, {.grid = gone}); },
  };
  for (std::size_t i = 0; i < questions.size(); ++i) {
    try {
      questions[i]();
      ADD_FAILURE() << "question " << i << " was answered";
    } catch (const BadArgument& error) {
      EXPECT_TRUE(has(error.what(), "layer 1 was not kept, only 2")) << i << ": " << error.what();
    }
  }
  EXPECT_TRUE(has(refusal<BadArgument>("cat", {.keep_layers = {1, 3}}), "no layer 3 to keep"));
  EXPECT_TRUE(has(refusal<BadArgument>("cat", {.keep_layers = {0}}), "layers 1 to 2"));
}

// Counts, and says stop at one of the calls.
class StopAt : public Progress {
 public:
  explicit StopAt(int call) : left_(call) {}
  bool advance(std::int64_t done, std::int64_t total) override {
    EXPECT_GE(done, last_);
    EXPECT_LE(done, total);
    EXPECT_EQ(total, total_ == 0 ? total : total_);
    last_ = done;
    total_ = total;
    ++calls_;
    return left_-- != 0;
  }
  int calls() const { return calls_; }
  bool finished() const { return last_ == total_; }

 private:
  int left_, calls_ = 0;
  std::int64_t last_ = 0, total_ = 0;
};

TEST(Session, TellsOfItsProgressAndStopsWhereItIsTold) {
  StopAt never(-1);
  const Look look = tiny().look(testing::kTired, {.progress = &never});
  EXPECT_TRUE(never.finished());
  EXPECT_GE(never.calls(), 4);  // two passes of attention a layer
  EXPECT_EQ(look.summary({2, 2}).entropy, tiny().look(testing::kTired).summary({2, 2}).entropy);
  for (int call = 0; call < never.calls(); ++call) {
    StopAt stop(call);
    EXPECT_THROW(tiny().look(testing::kTired, {.progress = &stop}), Cancelled) << "call " << call;
    EXPECT_EQ(stop.calls(), call + 1) << "asked again after it said stop";
  }
}

TEST(Session, DescribesTheModel) {
  const ModelFacts& model = tiny().model();
  EXPECT_EQ(model.name, "tiny-bert");
  EXPECT_EQ(model.config.layers, 2);
  EXPECT_EQ(model.config.query_heads, 3);
  EXPECT_EQ(model.config.head_width, 8);
  ASSERT_TRUE(model.tokenizer);
  EXPECT_EQ(model.tokenizer->kind, "WordPiece");
  EXPECT_EQ(model.tokenizer->special_tokens, 2);
  // Sum of the shapes in the file: embeddings with their norm, 2 layers, pooler.
  const std::int64_t square = 24 * 24 + 24, norm = 2 * 24;
  const std::int64_t layer = 4 * square + (48 * 24 + 48) + (24 * 48 + 24) + 2 * norm;
  const std::int64_t total = (model.config.vocabulary + 48 + 2) * 24 + norm + 2 * layer + square;
  EXPECT_EQ(inspect_model(testing::tiny_model()).parameters, model.parameters);
  EXPECT_EQ(model.parameters, total);
  const WeightFacts weights = inspect_weights(testing::tiny_model());
  ASSERT_EQ(weights.types.size(), 1u);
  EXPECT_EQ(weights.types.at("F32").elements, total);
  EXPECT_EQ(weights.types.at("F32").bytes, 4 * total);
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
  EXPECT_EQ(look.words()[2].label, "[");
  EXPECT_FALSE(look.words()[2].special);
}

}  // namespace
}  // namespace sightline::engine
