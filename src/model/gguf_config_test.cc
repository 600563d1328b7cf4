// Descriptions from the metadata of GGUF files, as the files of the conformance set and its README have them.

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "src/format/gguf_testing.h"
#include "src/format/testing.h"
#include "src/model/config.h"
#include "src/model/describe_testing.h"
#include "src/model/weights.h"

namespace sightline::model {
namespace {

using format::error_of;
using format::GgufBuilder;
using nlohmann::json;

json with(json base, const json& changes) {
  base.update(changes);
  return base;
}

json rope(double base, const json& more = json::object()) {
  return with({{"base", base}, {"width", 16}, {"scaling", "none"}}, more);
}

float f32(double value) { return static_cast<float>(value); }

std::filesystem::path file(const std::string& name) {
  return std::filesystem::path(SIGHTLINE_SOURCE_DIR) / "tests/data/conformance/gguf" / (name + ".gguf");
}

const json kDecoder = {{"vocabulary", 320}, {"width", 64},      {"layers", 2},          {"heads", {4, 2, 16}},
                       {"inner", 96},       {"positions", 128}, {"epsilon", f32(1e-6)}, {"activation", "silu"},
                       {"head", "output"},  {"biases", "???"},  {"windows", {0, 0}},    {"layer_ropes", {0, 0}}};

// Of the whole file, tensors included.
TEST(GgufConfig, DescribesTheFilesOfTheConformanceSet) {
  const json neighbours = {{"adjacent_pairs", true}};
  const json gemma = {{"norms", "around"}, {"activation", "gelu_tanh"}, {"embedding_scale", 8.0f}, {"tied", true}};
  const json gemma3 = {{"family", "gemma3_text"}, {"query_key_norm", true}};
  const struct {
    const char* name;
    json expected;
  } files[] = {
      {"llama.Q8_0", with(kDecoder, {{"family", "llama"}, {"ropes", {rope(10000, neighbours)}}})},
      {"llama3_rope.F16",
       with(kDecoder, {{"family", "llama"}, {"ropes", {rope(10000, with(neighbours, {{"scaling", "divisors"}}))}}})},
      {"qwen2.Q4_0",
       with(kDecoder, {{"family", "qwen2"}, {"biases", "+??"}, {"tied", true}, {"ropes", {rope(1000000)}}})},
      {"qwen3.Q8_0", with(kDecoder, {{"family", "qwen3"},
                                     {"heads", {4, 2, 24}},
                                     {"query_key_norm", true},
                                     {"ropes", {rope(1000000, {{"width", 24}})}}})},
      {"gpt2.Q8_0", with(kDecoder, {{"family", "gpt2"},
                                    {"heads", {4, 4, 16}},
                                    {"inner", 256},
                                    {"positions", 80},
                                    {"epsilon", f32(1e-5)},
                                    {"activation", "gelu_tanh"},
                                    {"norm", "layer"},
                                    {"mlp", "plain"},
                                    {"position_embedding", true},
                                    {"tied", true},
                                    {"biases", "+++"}})},
      {"gemma2.Q4_0", with(with(kDecoder, gemma), {{"family", "gemma2"},
                                                   {"attention_softcap", 5.0f},
                                                   {"logit_softcap", 8.0f},
                                                   {"windows", {8, 0}},
                                                   {"ropes", {rope(10000)}}})},
      {"gemma3.Q8_0", with(with(with(kDecoder, gemma), gemma3), {{"layers", 6},
                                                                 {"inner", 64},
                                                                 {"windows", {7, 7, 7, 7, 7, 0}},
                                                                 {"layer_ropes", {1, 1, 1, 1, 1, 0}},
                                                                 {"ropes", {rope(1000000), rope(10000)}}})},
      {"phi3.Q8_0", with(kDecoder, {{"family", "phi3"},
                                    {"positions", 64},
                                    {"epsilon", f32(1e-5)},
                                    {"ropes",
                                     {rope(10000, {{"scaling", "longrope"},
                                                   {"original_positions", 16},
                                                   {"attention_factor", 1.2247449159622192}})}}})},
      {"gpt_oss.MXFP4", with(kDecoder, {{"family", "gpt_oss"},
                                        {"inner", 64},
                                        {"positions", 256},
                                        {"epsilon", f32(1e-5)},
                                        {"mlp", "experts"},
                                        {"experts", {4, 2, 7.0f, f32(1.702)}},
                                        {"sinks", true},
                                        {"biases", "+++"},
                                        {"windows", {8, 0}},
                                        {"ropes",
                                         {rope(487.53900146484375, {{"scaling", "yarn"},
                                                                    {"factor", 4.0},
                                                                    {"original_positions", 64},
                                                                    {"attention_factor", 0.1 * std::log(4.0) + 1},
                                                                    {"beta_fast", 32.0},
                                                                    {"beta_slow", 1.0},
                                                                    {"truncate", false}})}}})},
  };
  for (const auto& item : files) {
    TransformerConfig config = read_config(file(item.name));
    const Weights weights = load_weights(format::Checkpoint::open(file(item.name)), config);
    EXPECT_TRUE(weights.warnings.empty()) << item.name << ": " << weights.warnings.front();
    EXPECT_EQ(std::vector<std::string>{}, config.unknown_keys) << item.name;
    json got = describe(config);
    if (config.family == "phi3") {  // the factors themselves are compared below
      for (const char* factors : {"short", "long"}) EXPECT_EQ(1u, got["ropes"][0].erase(factors)) << factors;
    }
    EXPECT_EQ(item.expected, got) << item.name;
  }
}

std::vector<float> values(const std::filesystem::path& path, const char* name) {
  format::Checkpoint checkpoint = format::Checkpoint::open(path);
  return format::to_f32(checkpoint.at(name));
}

TEST(GgufConfig, TakesFactorsOfTheRopeFromTensors) {
  TransformerConfig config = read_config(file("llama3_rope.F16"));
  load_weights(format::Checkpoint::open(file("llama3_rope.F16")), config);
  EXPECT_EQ(values(file("llama3_rope.F16"), "rope_freqs.weight"), config.ropes.at(0).divisors);
  EXPECT_EQ(8u, config.ropes.at(0).divisors.size());

  config = read_config(file("phi3.Q8_0"));
  load_weights(format::Checkpoint::open(file("phi3.Q8_0")), config);
  const Rope& rope = config.ropes.at(0);
  const auto narrow = [](const std::vector<double>& wide) { return std::vector<float>(wide.begin(), wide.end()); };
  EXPECT_EQ(values(file("phi3.Q8_0"), "rope_factors_short.weight"), narrow(rope.short_factors));
  EXPECT_EQ(values(file("phi3.Q8_0"), "rope_factors_long.weight"), narrow(rope.long_factors));
}

// Metadata of a small model, to be changed: later pairs of a key replace earlier ones.
class Metadata {
 public:
  explicit Metadata(std::string architecture) : architecture_(std::move(architecture)) {
    for (const char* key : {"block_count", "attention.head_count", "attention.head_count_kv"}) number(key, 4u);
    for (const char* key : {"embedding_length", "feed_forward_length", "context_length", "vocab_size"})
      number(key, 64u);
    number("attention.layer_norm_rms_epsilon", 1e-6f);
  }

  template <class T>
  Metadata& number(const std::string& key, T value) {
    return set(key, [name = name(key), value](GgufBuilder& file) { file.number(name, value); });
  }
  template <class T>
  Metadata& numbers(const std::string& key, std::vector<T> values) {
    return set(key, [name = name(key), values](GgufBuilder& file) { file.numbers(name, values); });
  }
  Metadata& string(const std::string& key, std::string text) {
    return set(key, [name = name(key), text](GgufBuilder& file) { file.string(name, text); });
  }
  Metadata& remove(const std::string& key) {
    pairs_.erase(key);
    return *this;
  }

  GgufBuilder builder() const {
    GgufBuilder builder;
    builder.string("general.architecture", architecture_);
    for (const auto& [key, write] : pairs_) write(builder);
    return builder;
  }
  TransformerConfig parse() const {
    const std::string bytes = builder().bytes();
    return parse_gguf_config(
        format::GgufFile::parse(std::as_bytes(std::span(bytes.data(), bytes.size())), "model.gguf").metadata());
  }

 private:
  std::string name(const std::string& key) const { return architecture_ + "." + key; }
  Metadata& set(const std::string& key, std::function<void(GgufBuilder&)> write) {
    pairs_[key] = std::move(write);
    return *this;
  }

  std::string architecture_;
  std::map<std::string, std::function<void(GgufBuilder&)>> pairs_;
};

std::vector<std::int64_t> windows(const Metadata& metadata) {
  std::vector<std::int64_t> list;
  for (const LayerPattern& layer : metadata.parse().pattern) list.push_back(layer.window);
  return list;
}

using Windows = std::vector<std::int64_t>;

TEST(GgufConfig, Windows) {
  EXPECT_EQ((Windows{8, 8, 8, 8}), windows(Metadata("phi3").number("attention.sliding_window", 8u)));
  EXPECT_EQ((Windows{0, 0, 0, 0}), windows(Metadata("phi3").number("attention.sliding_window", 0u)));
  EXPECT_EQ((Windows{8, 0, 8, 0}), windows(Metadata("gemma2").number("attention.sliding_window", 8u)));
  Metadata gemma3("gemma3");
  gemma3.number("attention.sliding_window", 8u);
  EXPECT_EQ((Windows{8, 8, 8, 8}), windows(gemma3));
  EXPECT_EQ((Windows{8, 0, 8, 0}), windows(gemma3.number("attention.sliding_window_pattern", 2u)));
  EXPECT_EQ((Windows{0, 8, 8, 0}),
            windows(gemma3.numbers<bool>("attention.sliding_window_pattern", {false, true, true, false})));
  error_of<BadFile>([&] { windows(gemma3.numbers<bool>("attention.sliding_window_pattern", {true})); });
  error_of<BadFile>([&] { windows(gemma3.number("attention.sliding_window_pattern", 0u)); });
  // Which layers of a llama would have the window?
  Metadata llama("llama");
  EXPECT_EQ((Windows{0, 0, 0, 0}), windows(llama.number("attention.sliding_window", 64u)));  // as long as the context
  const std::string message =
      error_of<UnsupportedModel>([&] { windows(llama.number("attention.sliding_window", 8u)); });
  EXPECT_NE(message.find("sliding_window"), message.npos) << message;
}

TEST(GgufConfig, Scalings) {
  const auto rope_of = [](const Metadata& metadata) { return metadata.parse().ropes.at(0); };
  Rope rope = rope_of(Metadata("qwen2").string("rope.scaling.type", "linear").number("rope.scaling.factor", 2.0f));
  EXPECT_EQ(RopeScaling::linear, rope.scaling);
  EXPECT_EQ(2, rope.factor);
  rope = rope_of(Metadata("qwen2").number("rope.scaling.factor", 2.0f));
  EXPECT_EQ(RopeScaling::linear, rope.scaling);
  rope = rope_of(Metadata("qwen2").number("rope.scale_linear", 4.0f));
  EXPECT_EQ(RopeScaling::linear, rope.scaling);
  EXPECT_EQ(4, rope.factor);
  rope = rope_of(Metadata("qwen2").string("rope.scaling.type", "none"));
  EXPECT_EQ(RopeScaling::none, rope.scaling);
  rope = rope_of(Metadata("qwen2")
                     .string("rope.scaling.type", "yarn")
                     .number("rope.scaling.factor", 4.0f)
                     .number("rope.scaling.attn_factor", 0.5f)
                     .number("rope.scaling.original_context_length", 32u));
  EXPECT_EQ(RopeScaling::yarn, rope.scaling);
  EXPECT_EQ(32, rope.original_positions);
  EXPECT_TRUE(rope.truncate);
  EXPECT_DOUBLE_EQ(0.5 * (0.1 * std::log(4.0) + 1), rope.attention_factor.value());
  const std::string message =
      error_of<UnsupportedModel>([&] { rope_of(Metadata("qwen2").string("rope.scaling.type", "made_up")); });
  EXPECT_NE(message.find("made_up"), message.npos) << message;
}

// Positions as they would be without a scaling give other results from the first token on.
TEST(GgufConfig, LongropeMustBringItsFactors) {
  const format::TestDirectory directory;
  Metadata phi3("phi3");
  phi3.number("vocab_size", 1u).string("rope.scaling.type", "longrope");
  const std::filesystem::path path =
      directory.put("m.gguf", phi3.builder().tensor("token_embd.weight", {64, 1}, 0, std::string(256, 0)).bytes());
  TransformerConfig config = read_config(path);
  const std::string message = error_of<BadFile>([&] { load_weights(format::Checkpoint::open(path), config); });
  EXPECT_NE(message.find("rope_factors_short.weight"), message.npos) << message;
  EXPECT_NE(message.find("rope.scaling.type"), message.npos) << message;
}

// As from config.json: the converters write max_position_embeddings, which files of Qwen2.5 leave at 32,768.
TEST(GgufConfig, YarnOpensPositions) {
  Metadata qwen2("qwen2");
  qwen2.string("rope.scaling.type", "yarn").number("rope.scaling.factor", 4.0f);
  EXPECT_EQ(256, qwen2.parse().max_positions);
  EXPECT_EQ(128, qwen2.number("rope.scaling.original_context_length", 32u).parse().max_positions);
  EXPECT_EQ(64, qwen2.number("rope.scaling.original_context_length", 8u).parse().max_positions);
  EXPECT_EQ(64, qwen2.string("rope.scaling.type", "linear").parse().max_positions);
}

TEST(GgufConfig, ScalesOfTheLargestGemmasGoByTheirWidth) {
  const auto scale = [](const char* architecture, unsigned layers) {
    return Metadata(architecture)
        .number("block_count", layers)
        .number("attention.key_length", 8u)
        .parse()
        .attention_scale;
  };
  EXPECT_FALSE(scale("gemma2", 26));
  EXPECT_FALSE(scale("gemma3", 46));
  EXPECT_EQ(0.25f, scale("gemma2", 46));  // 1 / sqrt(64 / 4)
  EXPECT_EQ(0.25f, scale("gemma3", 62));
  EXPECT_EQ(0.5f, Metadata("gemma3").number("attention.scale", 0.5f).parse().attention_scale);
}

TEST(GgufConfig, RefusesWhatItDoesNotKnow) {
  EXPECT_NE(error_of<UnsupportedModel>([] { Metadata("rwkv").parse(); }).find("rwkv"), std::string::npos);
  EXPECT_NE(
      error_of<UnsupportedModel>([] { Metadata("llama").number("expert_count", 8u).parse(); }).find("expert_count"),
      std::string::npos);
  EXPECT_NE(error_of<UnsupportedModel>([] {
              Metadata("llama").numbers<std::uint32_t>("attention.head_count_kv", {4, 2, 4, 4}).parse();
            }).find("head_count_kv"),
            std::string::npos);
  EXPECT_NE(error_of<UnsupportedModel>([] {
              Metadata("qwen3").number("attention.key_length", 8u).number("attention.value_length", 16u).parse();
            }).find("value_length"),
            std::string::npos);
}

// As llama.cpp's converters and older ones write beside what counts.
TEST(GgufConfig, NamesKeysThatItDoesNotKnow) {
  Metadata llama("llama");
  llama.number("expert_count", 0u).number("expert_used_count", 0u).number("vocab_size", 64u);
  llama.number("rope.dimension_count", 16u).string("tensor_data_layout", "Meta AI original pth");
  llama.number("attention.causal", true).number("logit_scale", 0.0f).number("rope.scaling.yarn_ext_factor", 1.0f);
  EXPECT_EQ(std::vector<std::string>{}, llama.parse().unknown_keys);
  llama.number("attention.made_up", 3u).number("rope.freq_base_swa", 10000.0f);
  EXPECT_EQ((std::vector<std::string>{"llama.attention.made_up", "llama.rope.freq_base_swa"}),
            llama.parse().unknown_keys);
}

TEST(GgufConfig, RefusesKeysThatChangeTheResult) {
  const auto refusal = [](const Metadata& metadata) { return error_of<UnsupportedModel>([&] { metadata.parse(); }); };
  EXPECT_NE(refusal(Metadata("qwen2").number("attention.causal", false)).find("attention.causal"), std::string::npos);
  for (const char* key :
       {"attention.clamp_kqv", "attention.max_alibi_bias", "embedding_scale", "logit_scale", "residual_scale"}) {
    const std::string message = refusal(Metadata("llama").number(key, 8.0f));
    EXPECT_NE(message.find(key), message.npos) << message;
  }
  const std::string message =
      refusal(Metadata("qwen2").numbers<std::uint32_t>("rope.dimension_sections", {16, 24, 24, 0}));
  EXPECT_NE(message.find("dimension_sections"), message.npos) << message;
}

TEST(GgufConfig, RefusesSizesThatMakeNoModel) {
  for (const char* key : {"block_count", "embedding_length", "feed_forward_length", "context_length",
                          "attention.head_count", "attention.layer_norm_rms_epsilon"}) {
    const std::string message = error_of<BadFile>([&] { Metadata("llama").remove(key).parse(); });
    EXPECT_NE(message.find(key), message.npos) << message;
  }
  for (const char* key :
       {"block_count", "embedding_length", "feed_forward_length", "context_length", "attention.head_count",
        "attention.head_count_kv", "attention.key_length", "vocab_size", "rope.dimension_count"}) {
    for (const std::int64_t value : {std::int64_t{0}, std::int64_t{-4}, std::int64_t{1} << 40}) {
      const std::string message = error_of<BadFile>([&] { Metadata("llama").number(key, value).parse(); });
      EXPECT_NE(message.find(key), message.npos) << message;
    }
  }
  error_of<BadFile>([] { Metadata("llama").number("attention.head_count_kv", 3u).parse(); });
  error_of<BadFile>(
      [] { Metadata("llama").number("attention.head_count", 5u).number("attention.head_count_kv", 5u).parse(); });
  error_of<BadFile>([] { Metadata("llama").number("rope.dimension_count", 15u).parse(); });
  error_of<BadFile>([] { Metadata("llama").number("rope.dimension_count", 18u).parse(); });
  error_of<BadFile>([] { Metadata("llama").number("rope.freq_base", -1.0f).parse(); });
  error_of<BadFile>([] { Metadata("llama").number("rope.freq_base", 1e30f).parse(); });
  error_of<BadFile>([] { Metadata("llama").number("rope.freq_base", std::nanf("")).parse(); });
  error_of<BadFile>([] { Metadata("llama").string("rope.freq_base", "10000").parse(); });
  error_of<BadFile>([] { Metadata("gemma2").number("attn_logit_softcapping", -1.0f).parse(); });
  error_of<BadFile>([] { Metadata("gpt-oss").number("expert_feed_forward_length", 64u).parse(); });
  error_of<BadFile>([] {  // each would take memory before its tensors are seen to be missing
    Metadata("gpt-oss")
        .number("expert_feed_forward_length", 64u)
        .number("expert_count", 1u << 24)
        .number("expert_used_count", 4u)
        .parse();
  });
  error_of<BadFile>([] {
    Metadata("gpt-oss")
        .number("expert_feed_forward_length", 64u)
        .number("expert_count", 4u)
        .number("expert_used_count", 5u)
        .parse();
  });
}

}  // namespace
}  // namespace sightline::model
