// The conformance set's models, described as their config.json and the set's README say.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "src/format/testing.h"
#include "src/model/config.h"
#include "src/model/describe_testing.h"
#include "src/model/testing.h"

namespace sightline::model {
namespace {

using format::error_of;
using nlohmann::json;

json with(json base, const json& changes) {
  base.update(changes);
  return base;
}

json rope(double base, std::int64_t width, const json& more = json::object()) {
  return with({{"base", base}, {"width", width}, {"scaling", "none"}}, more);
}

// Numbers that a description holds in fp32.
float f32(double value) { return static_cast<float>(value); }

const json kEncoder = {{"vocabulary", 320},
                       {"width", 64},
                       {"layers", 3},
                       {"heads", {4, 4, 16}},
                       {"inner", 128},
                       {"positions", 64},
                       {"epsilon", f32(1e-12)},
                       {"activation", "gelu"},
                       {"norm", "layer"},
                       {"norms", "after"},
                       {"embedding_norm", true},
                       {"final_norm", false},
                       {"mlp", "plain"},
                       {"causal", false},
                       {"position_embedding", true},
                       {"tied", true},
                       {"biases", "+++"},
                       {"windows", {0, 0, 0}},
                       {"layer_ropes", {0, 0, 0}}};

const json kDecoder = {{"vocabulary", 320},         {"width", 64},          {"layers", 3},
                       {"heads", {4, 2, 16}},       {"inner", 96},          {"positions", 128},
                       {"epsilon", f32(1e-6)},      {"activation", "silu"}, {"head", "output"},
                       {"biases", "---"},           {"windows", {0, 0, 0}}, {"layer_ropes", {0, 0, 0}},
                       {"ropes", {rope(10000, 16)}}};

json without(json base, std::initializer_list<const char*> keys) {
  for (const char* key : keys) base.erase(key);
  return base;
}

struct Described {
  const char* name;
  json expected;
};

std::vector<Described> encoders() {
  return {
      {"bert", with(kEncoder, {{"family", "bert"}, {"token_types", 2}, {"pooler", true}, {"head", "none"}})},
      {"bert_mlm_legacy", with(kEncoder, {{"family", "bert"},
                                          {"vocabulary", 280},
                                          {"width", 48},
                                          {"layers", 2},
                                          {"heads", {3, 3, 16}},
                                          {"inner", 80},
                                          {"positions", 50},
                                          {"token_types", 2},
                                          {"head", "transform"},
                                          {"windows", {0, 0}},
                                          {"layer_ropes", {0, 0}}})},
      {"roberta", with(kEncoder, {{"family", "roberta"},
                                  {"positions", 62},
                                  {"position_offset", 2},
                                  {"token_types", 1},
                                  {"pooler", true},
                                  {"head", "none"}})},
      {"distilbert",
       with(kEncoder,
            {{"family", "distilbert"}, {"layers", 2}, {"head", "none"}, {"windows", {0, 0}}, {"layer_ropes", {0, 0}}})},
      {"albert", with(kEncoder, {{"family", "albert"},
                                 {"embedding_width", 32},
                                 {"layer_groups", 1},
                                 {"activation", "gelu_tanh"},
                                 {"token_types", 2},
                                 {"pooler", true},
                                 {"head", "none"}})},
  };
}

std::vector<Described> gpt_models() {
  return {
      {"gpt2", without(with(kDecoder, {{"family", "gpt2"},
                                       {"heads", {4, 4, 16}},
                                       {"inner", 256},
                                       {"positions", 80},
                                       {"epsilon", f32(1e-5)},
                                       {"activation", "gelu_tanh"},
                                       {"norm", "layer"},
                                       {"mlp", "plain"},
                                       {"position_embedding", true},
                                       {"tied", true},
                                       {"biases", "+++"}}),
                       {"ropes"})},
      {"gpt_neox", with(kDecoder, {{"family", "gpt_neox"},
                                   {"layers", 2},
                                   {"heads", {4, 4, 16}},
                                   {"inner", 128},
                                   {"epsilon", f32(1e-5)},
                                   {"activation", "gelu"},
                                   {"norm", "layer"},
                                   {"mlp", "plain"},
                                   {"parallel", true},
                                   {"biases", "+++"},
                                   {"windows", {0, 0}},
                                   {"layer_ropes", {0, 0}},
                                   {"ropes", {rope(10000, 4)}}})},
  };
}

std::vector<Described> llama_models() {
  return {
      {"llama", with(kDecoder, {{"family", "llama"}})},
      {"llama_linear", with(kDecoder, {{"family", "llama"},
                                       {"biases", "+++"},
                                       {"ropes", {rope(5000, 16, {{"scaling", "linear"}, {"factor", 2.0}})}}})},
      {"llama_llama3", with(kDecoder, {{"family", "llama"},
                                       {"heads", {8, 1, 8}},
                                       {"tied", true},
                                       {"ropes",
                                        {rope(10000, 8,
                                              {{"scaling", "llama3"},
                                               {"factor", 4.0},
                                               {"low", 1.0},
                                               {"high", 4.0},
                                               {"original_positions", 16}})}}})},
      {"mistral", with(kDecoder, {{"family", "mistral"}, {"windows", {8, 8, 8}}})},
      {"qwen2_yarn", with(kDecoder, {{"family", "qwen2"},
                                     {"heads", {4, 4, 16}},
                                     {"biases", "+--"},
                                     {"windows", {0, 6, 6}},
                                     {"ropes",
                                      {rope(10000, 16,
                                            {{"scaling", "yarn"},
                                             {"factor", 4.0},
                                             {"original_positions", 32},
                                             {"beta_fast", 32.0},
                                             {"beta_slow", 1.0},
                                             {"truncate", true}})}}})},
      {"qwen3", with(kDecoder, {{"family", "qwen3"},
                                {"heads", {4, 2, 24}},
                                {"query_key_norm", true},
                                {"tied", true},
                                {"ropes", {rope(1000000, 24)}}})},
  };
}

std::vector<Described> gemma_models() {
  const json gemma = {{"norms", "around"}, {"activation", "gelu_tanh"}, {"embedding_scale", 8.0f}, {"tied", true}};
  return {
      {"gemma2", with(with(kDecoder, gemma), {{"family", "gemma2"},
                                              {"scale", f32(1 / std::sqrt(24.0))},
                                              {"attention_softcap", 5.0f},
                                              {"logit_softcap", 8.0f},
                                              {"windows", {8, 0, 8}}})},
      {"gemma3", with(with(kDecoder, gemma),
                      {{"family", "gemma3_text"},
                       {"layers", 4},
                       {"scale", 0.25f},
                       {"query_key_norm", true},
                       {"windows", {6, 6, 0, 6}},
                       {"layer_ropes", {1, 1, 0, 1}},
                       {"ropes", {rope(100000, 16, {{"scaling", "linear"}, {"factor", 4.0}}), rope(10000, 16)}}})},
  };
}

std::vector<Described> phi3_and_gpt_oss() {
  const json longrope = {{"scaling", "longrope"},
                         {"factor", 4.0},
                         {"original_positions", 16},
                         {"short", {1.0, 1.05, 1.1, 1.15, 1.2, 1.25, 1.3, 1.35}},
                         {"long", {1.0, 1.4, 1.8, 2.2, 2.6, 3.0, 3.4000000000000004, 3.8000000000000003}}};
  return {
      {"phi3",
       with(kDecoder,
            {{"family", "phi3"}, {"positions", 64}, {"epsilon", f32(1e-5)}, {"ropes", {rope(10000, 16, longrope)}}})},
      {"gpt_oss", with(kDecoder, {{"family", "gpt_oss"},
                                  {"layers", 2},
                                  {"inner", 48},
                                  {"epsilon", f32(1e-5)},
                                  {"mlp", "experts"},
                                  {"experts", {4, 2, 7.0f, f32(1.702)}},
                                  {"sinks", true},
                                  {"biases", "+++"},
                                  {"windows", {8, 0}},
                                  {"layer_ropes", {0, 0}},
                                  {"ropes",
                                   {rope(15000, 16,
                                         {{"scaling", "yarn"},
                                          {"factor", 4.0},
                                          {"original_positions", 32},
                                          {"beta_fast", 32.0},
                                          {"beta_slow", 1.0},
                                          {"truncate", false}})}}})},
  };
}

json read(const char* name) { return format::read_json(conformance_model(name) / "config.json"); }
TransformerConfig parse(const json& config) { return parse_config(config.dump(), "config.json"); }

TEST(Families, DescribeTheModelsOfTheConformanceSet) {
  for (const auto& list : {encoders(), gpt_models(), llama_models(), gemma_models(), phi3_and_gpt_oss()}) {
    for (const Described& model : list) {
      EXPECT_EQ(model.expected, describe(read_config(conformance_model(model.name)))) << model.name;
    }
  }
}

// Keys that may be left out without changing anything, since they say what the family is like anyway.
TEST(Families, FillInWhatIsLeftOut) {
  const struct {
    const char* name;
    std::vector<const char*> keys;
  } files[] = {
      {"bert", {"hidden_act", "layer_norm_eps", "type_vocab_size", "is_decoder", "tie_word_embeddings"}},
      {"roberta", {"pad_token_id", "hidden_act", "layer_norm_eps"}},
      {"distilbert", {"activation", "sinusoidal_pos_embds"}},
      {"albert", {"hidden_act", "num_hidden_groups", "inner_group_num"}},
      {"gpt2", {"activation_function", "n_inner", "layer_norm_epsilon", "scale_attn_weights", "tie_word_embeddings"}},
      {"gpt_neox",
       {"attention_bias", "hidden_act", "layer_norm_eps", "rotary_emb_base", "rotary_pct", "use_parallel_residual",
        "tie_word_embeddings", "rope_scaling"}},
      {"llama", {"attention_bias", "mlp_bias", "head_dim", "hidden_act", "rms_norm_eps", "rope_theta", "rope_scaling"}},
      {"mistral", {"head_dim", "hidden_act", "rms_norm_eps", "rope_theta"}},
      {"qwen2_yarn", {"num_key_value_heads", "hidden_act", "layer_types"}},
      {"qwen3", {"attention_bias", "use_sliding_window", "sliding_window", "max_window_layers"}},
      {"gemma2", {"hidden_activation", "tie_word_embeddings", "rope_theta", "attention_bias"}},
      {"gemma3", {"hidden_activation", "attention_bias", "attn_logit_softcapping", "final_logit_softcapping"}},
      {"phi3", {"partial_rotary_factor", "sliding_window", "hidden_act", "rms_norm_eps"}},
      {"gpt_oss", {"attention_bias", "swiglu_alpha", "swiglu_limit", "layer_types", "hidden_act"}},
  };
  for (const auto& file : files) {
    json config = read(file.name);
    const json whole = describe(parse(config));
    for (const char* key : file.keys) {
      EXPECT_EQ(1u, config.erase(key)) << file.name << ": " << key;
    }
    EXPECT_EQ(whole, describe(parse(config))) << file.name;
  }
}

std::vector<std::int64_t> windows(const json& config) {
  std::vector<std::int64_t> list;
  for (const LayerPattern& layer : parse(config).pattern) list.push_back(layer.window);
  return list;
}

using Windows = std::vector<std::int64_t>;

TEST(Families, AWindowIsOneThatIsPositive) {  // R4-03
  const struct {
    json value;
    std::int64_t window;
  } cases[] = {{nullptr, 0}, {0, 0}, {3, 3}, {4096, 4096}};
  for (const auto& item : cases) {
    json config = read("mistral");
    config["sliding_window"] = item.value;
    EXPECT_EQ(Windows(3, item.window), windows(config)) << item.value;
    config = read("phi3");
    config["sliding_window"] = item.value;
    EXPECT_EQ(Windows(3, item.window), windows(config)) << item.value;
  }
  json config = read("mistral");
  config.erase("sliding_window");
  EXPECT_EQ(Windows(3, 0), windows(config));
}

TEST(Families, QwenHasWindowsFromALayerOnIfAskedFor) {
  json config = with(read("qwen3"), {{"num_hidden_layers", 5}, {"sliding_window", 6}, {"max_window_layers", 2}});
  EXPECT_EQ(Windows(5, 0), windows(config));
  config["use_sliding_window"] = true;
  EXPECT_EQ((Windows{0, 0, 6, 6, 6}), windows(config));
  config["sliding_window"] = nullptr;
  EXPECT_EQ(Windows(5, 0), windows(config));
}

TEST(Families, GemmaAlternates) {
  json config = without(read("gemma2"), {"sliding_window"});
  EXPECT_EQ((Windows{4096, 0, 4096}), windows(config));
  config["layer_types"] = {"full_attention", "full_attention", "sliding_attention"};
  EXPECT_EQ((Windows{0, 0, 4096}), windows(config));

  config = without(read("gemma3"), {"layer_types", "_sliding_window_pattern"});
  config["num_hidden_layers"] = 7;
  EXPECT_EQ((Windows{6, 6, 6, 6, 6, 0, 6}), windows(config));
  for (const char* key : {"sliding_window_pattern", "_sliding_window_pattern"}) {
    json other = config;
    other[key] = 3;
    EXPECT_EQ((Windows{6, 6, 0, 6, 6, 0, 6}), windows(other));
  }
}

TEST(Families, LayerTypesMustNameEveryLayerAndKnownKinds) {
  json config = read("gpt_oss");
  config["layer_types"] = {"full_attention"};
  std::string message = error_of<BadFile>([&] { parse(config); });
  EXPECT_NE(message.find("layer_types"), message.npos) << message;
  config["layer_types"] = {"full_attention", "chunked_attention"};
  message = error_of<UnsupportedModel>([&] { parse(config); });
  EXPECT_NE(message.find("chunked_attention"), message.npos) << message;
  config["layer_types"] = {"full_attention", 3};
  error_of<UnsupportedModel>([&] { parse(config); });
  config["layer_types"] = {"full_attention", "sliding_attention"};
  config["sliding_window"] = nullptr;
  message = error_of<BadFile>([&] { parse(config); });
  EXPECT_NE(message.find("sliding_window"), message.npos) << message;
  config = read("llama");
  config["layer_types"] = {"full_attention", "sliding_attention", "full_attention"};
  error_of<UnsupportedModel>([&] { parse(config); });
}

// Gemma 3 as it is published: the language model in an object of its own, most of its keys left out.
TEST(Families, FindTheLanguageModelWithinALargerOne) {
  json config = {{"architectures", {"Gemma3ForConditionalGeneration"}},
                 {"model_type", "gemma3"},
                 {"vision_config", {{"hidden_size", 1152}, {"model_type", "siglip_vision_model"}}},
                 {"text_config",
                  {{"hidden_size", 2560},
                   {"intermediate_size", 10240},
                   {"model_type", "gemma3_text"},
                   {"num_hidden_layers", 34},
                   {"rope_scaling", {{"factor", 8.0}, {"rope_type", "linear"}}},
                   {"sliding_window", 1024}}}};
  const TransformerConfig parsed = parse(config);
  EXPECT_EQ("gemma3_text", parsed.family);
  EXPECT_EQ("Gemma3ForConditionalGeneration", parsed.architecture);
  EXPECT_EQ(LanguageHead::output, parsed.language_head);
  EXPECT_EQ(262208, parsed.vocabulary);
  EXPECT_EQ(8, parsed.query_heads);
  EXPECT_EQ(4, parsed.kv_heads);
  EXPECT_EQ(256, parsed.head_width);
  EXPECT_EQ(131072, parsed.max_positions);
  EXPECT_TRUE(parsed.tied_embeddings);
  EXPECT_TRUE(parsed.unknown_keys.empty());
  EXPECT_EQ(json({rope(1000000, 256, {{"scaling", "linear"}, {"factor", 8.0}}), rope(10000, 256)}),
            json({describe(parsed.ropes.at(0)), describe(parsed.ropes.at(1))}));
  EXPECT_EQ(1024, parsed.pattern.at(4).window);
  EXPECT_EQ(0, parsed.pattern.at(5).window);

  json quantised = config;
  quantised["quantization_config"] = {{"bits", 4}};
  EXPECT_NE(error_of<UnsupportedModel>([&] { parse(quantised); }).find("quantization_config"), std::string::npos);
  json other = config;
  other["text_config"]["model_type"] = "made_up";
  EXPECT_NE(error_of<UnsupportedModel>([&] { parse(other); }).find("made_up"), std::string::npos);
  other = config;
  other["architectures"] = {"Gemma3ForSomething"};
  EXPECT_NE(error_of<UnsupportedModel>([&] { parse(other); }).find("Gemma3ForSomething"), std::string::npos);
  other.erase("text_config");
  other.erase("architectures");
  EXPECT_NE(error_of<BadFile>([&] { parse(other); }).find("text_config"), std::string::npos);
}

TEST(Families, NameTheKeyThatTheyCannotFollow) {
  const struct {
    const char* name;
    const char* key;
    json value;
  } changes[] = {
      {"gpt2", "scale_attn_by_inverse_layer_idx", true},
      {"gpt2", "add_cross_attention", true},
      {"gpt2", "activation_function", "relu6"},
      {"gpt2", "architectures", {"GPT2Unknown"}},
      {"albert", "inner_group_num", 2},
      {"distilbert", "sinusoidal_pos_embds", true},
      {"roberta", "is_decoder", true},
      {"llama", "quantization_config", {{"quant_method", "mxfp4"}}},
      {"llama", "is_causal", false},
      {"llama", "rope_interleaved", true},
      {"mistral", "attention_bias", true},
      {"phi3", "mlp_bias", true},
      {"gemma3", "use_bidirectional_attention", true},
      {"gpt_oss", "hidden_act", "gelu"},
  };
  for (const auto& change : changes) {
    json config = read(change.name);
    config[change.key] = change.value;
    const std::string message = error_of<UnsupportedModel>([&] { parse(config); });
    EXPECT_NE(message.find(change.key), message.npos) << message;
  }
}

TEST(Families, RefuseNumbersThatMakeNoModel) {
  const struct {
    const char* name;
    const char* key;
    json value;
  } changes[] = {
      {"roberta", "pad_token_id", 63},
      {"roberta", "pad_token_id", -1},
      {"albert", "num_hidden_groups", 4},
      {"albert", "embedding_size", 0},
      {"llama", "num_key_value_heads", 3},
      {"llama", "num_key_value_heads", 1LL << 40},
      {"llama", "head_dim", -16},
      {"llama", "rms_norm_eps", 1e300},
      {"llama", "rope_theta", -1},
      {"llama", "rope_theta", 1e300},
      {"llama", "rope_theta", "10000"},
      {"llama", "attention_bias", 1},
      {"gpt_neox", "rotary_pct", 0},
      {"gpt_neox", "rotary_pct", 1.5},
      {"gemma2", "query_pre_attn_scalar", 0},
      {"gemma2", "attn_logit_softcapping", -5},
      {"gemma2", "final_logit_softcapping", 1e300},
      {"gemma3", "sliding_window", -1},
      {"gemma3", "query_pre_attn_scalar", 1e-300},
      {"gpt_oss", "num_experts_per_tok", 5},
      {"gpt_oss", "num_local_experts", 0},
      {"gpt_oss", "num_local_experts", 1 << 24},
      {"gpt_oss", "swiglu_limit", -7},
  };
  for (const auto& change : changes) {
    json config = read(change.name);
    config[change.key] = change.value;
    const std::string message = error_of<BadFile>([&] { parse(config); });
    EXPECT_NE(message.find(change.key), message.npos) << message;
  }
}

// What is planned before a tensor is seen multiplies them by tokens and layers.
TEST(Families, RefuseHeadsThatAreMoreThanAnyModelHas) {
  for (const auto& [heads, width] : {std::pair{1 << 16, 128}, {1 << 10, 1 << 14}, {1 << 24, 1}}) {
    json config = read("llama");
    config.update({{"num_attention_heads", heads}, {"num_key_value_heads", 1}, {"head_dim", width}});
    const std::string message = error_of<BadFile>([&] { parse(config); });
    EXPECT_NE(message.find("num_attention_heads"), message.npos) << message;
  }
}

}  // namespace
}  // namespace sightline::model
