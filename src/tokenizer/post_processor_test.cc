#include "src/tokenizer/post_processor.h"

#include "src/tokenizer/testing.h"
#include "src/tokenizer/truncation.h"

namespace sightline::tokenizer {
namespace {

using Ids = std::vector<std::int32_t>;

Json sequence(const char* id, int type_id) { return {{"Sequence", {{"id", id}, {"type_id", type_id}}}}; }
Json special(const char* id, int type_id) { return {{"SpecialToken", {{"id", id}, {"type_id", type_id}}}}; }

Json token(const char* name, const std::vector<int>& ids, const std::vector<std::string>& pieces) {
  return {{"id", name}, {"ids", ids}, {"tokens", pieces}};
}

Json bert_template() {
  return {{"type", "TemplateProcessing"},
          {"single", {special("[CLS]", 0), sequence("A", 0), special("[SEP]", 0)}},
          {"pair", {special("[CLS]", 0), sequence("A", 0), special("[SEP]", 0), sequence("B", 1), special("[SEP]", 1)}},
          {"special_tokens", {{"[CLS]", token("[CLS]", {1}, {"[CLS]"})}, {"[SEP]", token("[SEP]", {2}, {"[SEP]"})}}}};
}

Json bert_processing() { return {{"type", "BertProcessing"}, {"sep", {"[SEP]", 2}}, {"cls", {"[CLS]", 1}}}; }

// Words a (3) and b (4).
Json file_with(const Json& post_processor) {
  Json file = wordpiece_file({"a", "b"});
  file["pre_tokenizer"] = {{"type", "WhitespaceSplit"}};
  file["post_processor"] = post_processor;
  return file;
}

Tokenizer with(const Json& post_processor) { return parse(file_with(post_processor)); }

Ids type_ids_of(const Encoding& encoding) {
  Ids ids;
  for (const Token& token : encoding.tokens) ids.push_back(token.type_id);
  return ids;
}

Ids sequences_of(const Encoding& encoding) {
  Ids ids;
  for (const Token& token : encoding.tokens) ids.push_back(token.sequence);
  return ids;
}

class BertLike : public testing::TestWithParam<Json> {};

TEST_P(BertLike, PutsSpecialTokensAroundTheTexts) {
  const Tokenizer tokenizer = with(GetParam());
  const Encoding single = tokenizer.encode("a b");
  EXPECT_EQ(ids_of(single), (Ids{1, 3, 4, 2}));
  EXPECT_EQ(type_ids_of(single), (Ids{0, 0, 0, 0}));
  EXPECT_EQ(sequences_of(single), (Ids{-1, 0, 0, -1}));
  EXPECT_TRUE(single.tokens[0].special);
  EXPECT_FALSE(single.tokens[1].special);
  EXPECT_EQ(single.tokens[3].piece, "[SEP]");
  EXPECT_EQ(single.tokens[3].word, -1);
  EXPECT_EQ(single.tokens[3].end, 0u);

  const Encoding pair = tokenizer.encode("a", "b a", {});
  EXPECT_EQ(ids_of(pair), (Ids{1, 3, 2, 4, 3, 2}));
  EXPECT_EQ(type_ids_of(pair), (Ids{0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(sequences_of(pair), (Ids{-1, 0, -1, 1, 1, -1}));

  const Encoding plain = tokenizer.encode("a", "b", {.add_special = false});
  EXPECT_EQ(ids_of(plain), (Ids{3, 4}));
  EXPECT_EQ(type_ids_of(plain), (Ids{0, 1}));
  EXPECT_EQ(ids_of(tokenizer.encode("")), (Ids{1, 2}));
}

TEST_P(BertLike, CountsSpecialTokensInTheLength) {
  const Tokenizer tokenizer = with(GetParam());
  const Encoding right = tokenizer.encode("a b a", {.max_length = 4});
  EXPECT_EQ(ids_of(right), (Ids{1, 3, 4, 2}));
  EXPECT_EQ(right.cut, 1u);
  const Encoding left = tokenizer.encode("a b a", {.max_length = 4, .cut = EncodeOptions::Side::left});
  EXPECT_EQ(ids_of(left), (Ids{1, 4, 3, 2}));
  EXPECT_EQ(left.tokens[1].begin, 2u);
  EXPECT_EQ(left.tokens[1].word, 1);
  EXPECT_EQ(ids_of(tokenizer.encode("a b a", {.max_length = 2})), (Ids{1, 2}));
  EXPECT_EQ(ids_of(tokenizer.encode("a b a", {.add_special = false, .max_length = 2})), (Ids{3, 4}));
  EXPECT_EQ(tokenizer.encode("a b a", {.max_length = 5}).cut, 0u);
  EXPECT_EQ(error_of<BadArgument>([&] { tokenizer.encode("a", "b", {.max_length = 2}); }),
            "a length of 2 has no room for the 3 special tokens; allow at least 3");
}

INSTANTIATE_TEST_SUITE_P(PostProcessor, BertLike,
                         testing::Values(bert_template(), bert_processing(),
                                         Json{{"type", "Sequence"}, {"processors", Json::array({bert_template()})}}));

TEST(PostProcessor, TemplatesMayDoAnything) {
  Json json = bert_template();
  json["single"] = {sequence("A", 3), special("x", 7), sequence("A", 4)};
  json["pair"] = {sequence("B", 0), sequence("A", 1)};
  json["special_tokens"] = {{"x", token("x", {2, 1}, {"p", "q"})}};
  const Tokenizer tokenizer = with(json);
  const Encoding single = tokenizer.encode("a");
  EXPECT_EQ(ids_of(single), (Ids{3, 2, 1, 3}));
  EXPECT_EQ(type_ids_of(single), (Ids{3, 7, 7, 4}));
  EXPECT_EQ(single.tokens[2].piece, "q");
  const Encoding pair = tokenizer.encode("a", "b", {});
  EXPECT_EQ(ids_of(pair), (Ids{4, 3}));
  EXPECT_EQ(sequences_of(pair), (Ids{1, 0}));
}

TEST(PostProcessor, NoneLeavesTheTextsAlone) {
  const Encoding encoding = with(nullptr).encode("a", "b", {});
  EXPECT_EQ(ids_of(encoding), (Ids{3, 4}));
  EXPECT_EQ(type_ids_of(encoding), (Ids{0, 1}));
}

TEST(PostProcessor, SequenceAddsUp) {
  const Json both = {{"type", "Sequence"}, {"processors", {bert_processing(), bert_template()}}};
  EXPECT_EQ(ids_of(with(both).encode("a")), (Ids{1, 1, 3, 2, 2}));
  EXPECT_EQ(ids_of(with(both).encode("a b a", {.max_length = 5})), (Ids{1, 1, 3, 2, 2}));
  const Json wrong = {{"type", "Sequence"}, {"processors", {bert_template(), bert_processing()}}};
  EXPECT_EQ(
      error_of<UnsupportedModel>([&] { with(wrong); }),
      R"(tokenizer.json: "post_processor.processors" has a template before the last one, which is not supported)");
}

TEST(PostProcessor, RefusesMalformedTemplates) {
  const auto refusal = [](const char* pointer, const Json& value) {
    Json json = bert_template();
    json[Json::json_pointer(pointer)] = value;
    return error_of<BadFile>([&] { with(json); });
  };
  EXPECT_EQ(refusal("/single/0", special("[X]", 0)),
            R"(tokenizer.json: "single[0].SpecialToken.id" is "[X]", which is not in "special_tokens")");
  EXPECT_EQ(refusal("/single/1", sequence("B", 0)),
            R"(tokenizer.json: "single[1].Sequence.id" is "B", which this template has not)");
  EXPECT_EQ(refusal("/pair/1", sequence("C", 0)),
            R"(tokenizer.json: "pair[1].Sequence.id" is "C", which this template has not)");
  EXPECT_EQ(refusal("/pair/1", Json::object()),
            R"(tokenizer.json: "pair[1].Sequence" or "SpecialToken": a template's part must be one of them)");
  EXPECT_EQ(refusal("/single/1/Sequence/type_id", -1),
            R"(tokenizer.json: "single[1].Sequence.type_id" must be a whole number from 0 to 2147483647, not -1)");
  EXPECT_EQ(refusal("/special_tokens/[CLS]/ids", {1, 2}),
            R"(tokenizer.json: "post_processor.special_tokens.[CLS].ids" and "tokens" must be as many, from 1 to 256)");
  EXPECT_EQ(refusal("/special_tokens/[CLS]/ids", {-1}),
            R"(tokenizer.json: "post_processor.special_tokens.[CLS].ids" must be token ids, "tokens" strings)");
  EXPECT_EQ(refusal("/single", std::vector<Json>(257, sequence("A", 0))),
            R"(tokenizer.json: "post_processor.single" has 257 parts; a template may have 256)");
  EXPECT_EQ(refusal("/single", nullptr), R"(tokenizer.json: "post_processor.single" must not be null)");
}

// Small files that would otherwise make the shortest text long.
TEST(PostProcessor, BoundsTheSpecialTokens) {
  Json json = bert_template();
  json["special_tokens"]["[CLS]"] = token("[CLS]", std::vector<int>(257, 1), std::vector<std::string>(257, "[CLS]"));
  EXPECT_EQ(error_of<BadFile>([&] { with(json); }),
            R"(tokenizer.json: "post_processor.special_tokens.[CLS].ids" and "tokens" must be as many, from 1 to 256)");
  json["special_tokens"]["[CLS]"] = token("[CLS]", std::vector<int>(256, 1), std::vector<std::string>(256, "[CLS]"));
  EXPECT_EQ(with(json).encode("a").tokens.size(), 258u);
  json["single"] = std::vector<Json>(5, special("[CLS]", 0));
  const std::string too_many = R"(tokenizer.json: "post_processor.type" adds more than 1024 special tokens to a text)";
  EXPECT_EQ(error_of<BadFile>([&] { with(json); }), too_many);
  const auto repeated = [](std::size_t times) {
    return Json{{"type", "Sequence"}, {"processors", std::vector<Json>(times, bert_processing())}};
  };
  EXPECT_EQ(error_of<BadFile>([&] { with(repeated(342)); }), too_many);  // 3 a pair
  EXPECT_EQ(with(repeated(341)).encode("a").tokens.size(), 683u);
}

TEST(PostProcessor, RefusesWhatItCannotDo) {
  EXPECT_EQ(error_of<UnsupportedModel>([] {
              with({{"type", "Sideways"}});
            }),
            R"(tokenizer.json: "post_processor.type" is "Sideways", which is not supported)");
  EXPECT_EQ(error_of<BadFile>([] {
              with({{"type", "BertProcessing"}, {"sep", {"[SEP]"}}, {"cls", {"[CLS]", 1}}});
            }),
            R"(tokenizer.json: "post_processor.sep" must be a token and its id)");
  Json stray = bert_template();
  stray["single"][0]["SpecialToken"]["weight"] = 1;
  EXPECT_EQ(error_of<UnsupportedModel>([&] { with(stray); }),
            R"(tokenizer.json: "single[0].SpecialToken.weight" is a setting that is not supported)");
}

// Lengths that the Hugging Face library leaves of two texts, longest first.
TEST(Truncation, TakesFromTheLongerTextFirst) {
  const auto left = [](std::size_t first, std::size_t second, std::size_t limit) {
    Sequences sequences = {std::vector<Token>(first), std::vector<Token>(second)};
    const std::size_t cut = truncate(sequences, limit, EncodeOptions::Side::right);
    EXPECT_EQ(cut, first + second - sequences[0].size() - sequences[1].size());
    return std::pair(sequences[0].size(), sequences[1].size());
  };
  using Lengths = std::pair<std::size_t, std::size_t>;
  EXPECT_EQ(left(3, 4, 7), Lengths(3, 4));
  EXPECT_EQ(left(2, 9, 7), Lengths(2, 5));
  EXPECT_EQ(left(9, 2, 7), Lengths(5, 2));
  EXPECT_EQ(left(5, 5, 7), Lengths(3, 4));
  EXPECT_EQ(left(6, 5, 7), Lengths(4, 3));
  EXPECT_EQ(left(9, 9, 1), Lengths(0, 1));
  EXPECT_EQ(left(9, 9, 0), Lengths(0, 0));
}

// What models take as indexes: ids of the vocabulary (up to "b", 4), of added tokens and of the template.
TEST(TokenRange, HoldsTheLargestNumbers) {
  const TokenRange plain = with(bert_processing()).range();
  EXPECT_EQ(plain.largest_id, 4);
  EXPECT_EQ(plain.largest_piece, "b");
  EXPECT_EQ(plain.largest_type_id, 0);
  EXPECT_TRUE(plain.keeps_text);
  EXPECT_EQ(with(bert_template()).range().largest_type_id, 0);  // 1 in pairs alone

  Json hole = file_with(bert_template());
  hole["model"]["vocab"]["a"] = 70;
  EXPECT_EQ(parse(hole).range().largest_id, 70);
  EXPECT_EQ(parse(hole).range().largest_piece, "a");

  Json added = file_with(nullptr);
  added["added_tokens"] = {{{"id", 5},
                            {"content", "[NEW]"},
                            {"single_word", false},
                            {"lstrip", false},
                            {"rstrip", false},
                            {"normalized", false},
                            {"special", true}}};
  EXPECT_EQ(parse(added).range().largest_id, 5);
  EXPECT_EQ(parse(added).range().largest_piece, "[NEW]");

  Json far = bert_template();
  far["special_tokens"]["[SEP]"] = token("[SEP]", {2, 99}, {"[SEP]", "[FAR]"});
  far["single"] = {sequence("A", 3), special("[SEP]", 2)};
  const Json processors = {{"type", "Sequence"}, {"processors", {bert_processing(), far}}};
  for (const Json& processor : {far, processors}) {
    EXPECT_EQ(with(processor).range().largest_id, 99);
    EXPECT_EQ(with(processor).range().largest_piece, "[FAR]");
    EXPECT_EQ(with(processor).range().largest_type_id, 3);
  }
}

TEST(TokenRange, TellsATemplateThatLeavesTheTextOut) {
  Json empty = bert_template();
  empty["single"] = Json::array();
  EXPECT_FALSE(with(empty).range().keeps_text);
  empty["single"] = Json::array({special("[CLS]", 0)});  // = {one element} is a copy to some compilers
  EXPECT_FALSE(with(empty).range().keeps_text);
}

}  // namespace
}  // namespace sightline::tokenizer
