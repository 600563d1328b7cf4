#include "src/model/config.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "src/format/testing.h"
#include "src/model/family.h"

namespace sightline::model {
namespace {

using format::error_of;
using nlohmann::json;

json bert_config() {
  return json::parse(R"({
    "architectures": ["BertForMaskedLM"], "model_type": "bert", "hidden_act": "gelu", "hidden_size": 48,
    "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 80, "max_position_embeddings": 50,
    "type_vocab_size": 2, "vocab_size": 280, "layer_norm_eps": 1e-5, "is_decoder": false, "pad_token_id": 0,
    "position_embedding_type": "absolute", "classifier_dropout": null})");
}

TransformerConfig parse(const json& config) { return parse_config(config.dump(), "config.json"); }

// The case of the reported faults with this id.
json reported_case(const std::string& id) {
  std::ifstream file(SIGHTLINE_SOURCE_DIR "/tests/data/cases/reports.jsonl");
  for (std::string line; std::getline(file, line);) {
    if (json report = json::parse(line); report.at("id") == id) return report;
  }
  throw std::runtime_error("no case " + id);
}

TEST(Config, ReadsBert) {
  const TransformerConfig config = parse(bert_config());
  EXPECT_EQ("bert", config.family);
  EXPECT_EQ("BertForMaskedLM", config.architecture);
  EXPECT_EQ(280, config.vocabulary);
  EXPECT_EQ(48, config.width);
  EXPECT_EQ(2, config.layers);
  EXPECT_EQ(3, config.query_heads);
  EXPECT_EQ(3, config.kv_heads);
  EXPECT_EQ(16, config.head_width);
  EXPECT_EQ(80, config.inner_width);
  EXPECT_EQ(50, config.max_positions);
  EXPECT_EQ(2, config.token_types);
  EXPECT_EQ(1e-5f, config.norm_epsilon);
  EXPECT_EQ(Activation::gelu, config.activation);
  EXPECT_FALSE(config.causal);
  EXPECT_EQ(48, config.embedding_width);
  EXPECT_EQ(2, config.layer_groups);
  EXPECT_EQ(2u, config.pattern.size());
  EXPECT_TRUE(config.ropes.empty());
  EXPECT_FALSE(config.pooler);
  EXPECT_EQ(LanguageHead::transform, config.language_head);
  EXPECT_TRUE(config.tied_embeddings);
  EXPECT_TRUE(config.unknown_keys.empty());
}

TEST(Config, TellsTheArchitecturesOfBertApart) {
  const auto flags = [](const char* architecture) {
    json config = bert_config();
    config["architectures"] = {architecture};
    const TransformerConfig parsed = parse(config);
    return std::pair(parsed.pooler, parsed.language_head);
  };
  EXPECT_EQ(std::pair(true, LanguageHead::none), flags("BertModel"));
  EXPECT_EQ(std::pair(true, LanguageHead::transform), flags("BertForPreTraining"));
  EXPECT_EQ(std::pair(true, LanguageHead::none), flags("BertForSequenceClassification"));
  EXPECT_EQ(std::pair(false, LanguageHead::none), flags("BertForTokenClassification"));
}

TEST(Config, NamesTheKeyThatItCannotFollow) {
  const struct {
    const char* key;
    json value;
  } changes[] = {{"position_embedding_type", "relative_key"},
                 {"is_decoder", true},
                 {"add_cross_attention", true},
                 {"pruned_heads", {{"1", {0, 2}}}},
                 {"hidden_act", "quick_gelu"},
                 {"quantization_config", {{"bits", 4}}},
                 {"architectures", {"BertLMHeadModel"}},
                 {"architectures", {"line\nbreak"}}};
  for (const auto& change : changes) {
    json config = bert_config();
    config[change.key] = change.value;
    const std::string message = error_of<UnsupportedModel>([&] { parse(config); });
    EXPECT_NE(message.find(change.key), message.npos) << message;
  }
}

TEST(Config, CollectsKeysThatItDoesNotKnow) {
  json config = bert_config();
  config["a_new_switch"] = 1;
  EXPECT_EQ(std::vector<std::string>{"a_new_switch"}, parse(config).unknown_keys);
}

TEST(Config, RefusesOtherModelTypes) {
  for (const char* type : {"t5", "made_up"}) {
    json config = bert_config();
    config["model_type"] = type;
    const std::string message = error_of<UnsupportedModel>([&] { parse(config); });
    EXPECT_NE(message.find(type), message.npos) << message;
    EXPECT_NE(message.find("bert"), message.npos) << message;
  }
}

TEST(Config, RefusesSizesThatMakeNoModel) {
  const struct {
    const char* key;
    json value;
  } changes[] = {{"hidden_size", 0},         {"hidden_size", -48},           {"hidden_size", "48"},
                 {"hidden_size", 1.5},       {"hidden_size", nullptr},       {"hidden_size", 49},
                 {"vocab_size", 1LL << 40},  {"num_hidden_layers", 0},       {"num_hidden_layers", 1e9},
                 {"num_attention_heads", 0}, {"layer_norm_eps", -1},         {"layer_norm_eps", "small"},
                 {"intermediate_size", {1}}, {"architectures", {1}},         {"model_type", 3},
                 {"tie_word_embeddings", 1}, {"max_position_embeddings", -1}};
  for (const auto& change : changes) {
    json config = bert_config();
    config[change.key] = change.value;
    const std::string message = error_of<BadFile>([&] { parse(config); });
    EXPECT_NE(message.find(change.key), message.npos) << message;
  }
  for (const char* text : {"", "[]", "{", "null", "{\"model_type\": \"bert\"}", "{\"a\":1,\"a\":2}"}) {
    error_of<BadFile>([&] { parse_config(text, "config.json"); });
  }
}

TEST(Config, DefaultsAreThoseOfTheFamily) {
  json config = bert_config();
  for (const char* key : {"hidden_act", "type_vocab_size", "layer_norm_eps", "architectures"}) config.erase(key);
  const TransformerConfig parsed = parse(config);
  EXPECT_EQ(Activation::gelu, parsed.activation);
  EXPECT_EQ(2, parsed.token_types);
  EXPECT_EQ(1e-12f, parsed.norm_epsilon);
}

TEST(Config, ResolvesTheReportedHeadSizes) {
  const json report = reported_case("R8-12");
  const json& configs = report.at("case").at("configs");
  const json& rows = report.at("expected").at("rows");
  for (std::size_t i = 0; i < configs.size(); ++i) {
    const auto resolve = [&] { return parse_head_sizes(configs[i].dump(), "config.json"); };
    if (rows[i].is_string()) {
      error_of<BadFile>(resolve);
      continue;
    }
    const HeadSizes heads = resolve();
    EXPECT_EQ(rows[i], json({heads.query_heads, heads.kv_heads, heads.head_width, heads.query_heads * heads.head_width,
                             heads.kv_heads * heads.head_width}))
        << configs[i];
  }
}

TEST(Config, ChoosesTheReportedOutputMatrix) {
  const json report = reported_case("R8-11");
  const json& rows = report.at("case").at("rows");
  const json& expected = report.at("expected").at("output_matrix");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const json& tie = rows[i].at("tie");
    const bool tied =
        tie.is_boolean() ? tie.get<bool>() : tied_by_default(tie == "missing key, GPT-2" ? "gpt2" : "llama");
    const std::string head = rows[i].at("lm_head"), want = expected[i];
    const StoredOutput stored = head == "absent"  ? StoredOutput::absent
                                : head == "equal" ? StoredOutput::equal
                                                  : StoredOutput::different;
    const auto choose = [&] { return choose_output_matrix(tied, stored, "model.safetensors"); };
    if (want.starts_with("error")) {
      error_of<BadFile>(choose);
    } else {
      EXPECT_EQ(want.starts_with("embedding") ? OutputMatrix::embedding : OutputMatrix::own, choose()) << want;
    }
  }
}

TEST(Config, UnderstandsTheReportedParameterNames) {
  const json report = reported_case("R8-09");
  const json& names = report.at("case").at("names");
  const json& canonical = report.at("expected").at("canonical");
  const NameMap& bert = *find_family("bert", "config.json").names;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string want = canonical[i] == "(ignored buffer)" ? "" : canonical[i].get<std::string>();
    EXPECT_EQ(want, canonical_name(bert, names[i].get<std::string>()));
  }
}

}  // namespace
}  // namespace sightline::model
