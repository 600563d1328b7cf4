// Cases of generation: what ends a text.
#include <fmt/format.h>

#include <algorithm>

#include "sightline/generation.h"
#include "src/format/safetensors.h"
#include "tools/conform/encodings.h"
#include "tools/conform/reports.h"
#include "tools/conform/temporary_directory.h"

namespace sightline::conform {
namespace {

using nlohmann::json;
using Ids = std::vector<std::int32_t>;

constexpr std::int64_t kWidth = 16;

// A matrix [vocabulary, kWidth] with a 1 in each of these rows, at the column of the row's place in the list.
std::vector<float> one_hot(std::int64_t vocabulary, std::span<const std::int32_t> rows) {
  std::vector<float> matrix(static_cast<std::size_t>(vocabulary * kWidth));
  for (std::size_t column = 0; column < rows.size(); ++column) {
    matrix[static_cast<std::size_t>(rows[column] * kWidth) + column] = 1;
  }
  return matrix;
}

// The weights of a Llama of one layer that does nothing, so that the token alone decides which is next: `chain` from
// its first token on, which are different ones.
void write_weights(const TemporaryDirectory& directory, std::int64_t vocabulary, std::span<const std::int32_t> chain) {
  format::SafetensorsWriter writer(directory.path() / "model.safetensors");
  std::vector<std::pair<std::string, std::vector<float>>> tensors;
  const auto add = [&](const std::string& name, const Shape& shape, std::vector<float> values) {
    writer.declare(name, DType::f32, shape);
    tensors.emplace_back(name, std::move(values));
  };
  const auto last = chain.size() - 1;
  add("lm_head.weight", {vocabulary, kWidth}, one_hot(vocabulary, chain.last(last)));
  add("model.embed_tokens.weight", {vocabulary, kWidth}, one_hot(vocabulary, chain.first(last)));
  for (const char* name : {"mlp.down_proj", "mlp.gate_proj", "mlp.up_proj", "self_attn.k_proj", "self_attn.o_proj",
                           "self_attn.q_proj", "self_attn.v_proj"}) {
    add(fmt::format("model.layers.0.{}.weight", name), {kWidth, kWidth}, std::vector<float>(kWidth * kWidth));
  }
  for (const char* name : {"layers.0.input_layernorm", "layers.0.post_attention_layernorm", "norm"}) {
    add(fmt::format("model.{}.weight", name), {kWidth}, std::vector<float>(kWidth, 1));
  }
  for (const auto& [name, values] : tensors) writer.write(name, std::as_bytes(std::span(values)));
  writer.finish();
}

json config_of(std::int64_t vocabulary, const json& end) {
  return {{"architectures", {"LlamaForCausalLM"}},
          {"model_type", "llama"},
          {"vocab_size", vocabulary},
          {"hidden_size", kWidth},
          {"intermediate_size", kWidth},
          {"num_hidden_layers", 1},
          {"num_attention_heads", 1},
          {"num_key_value_heads", 1},
          {"max_position_embeddings", 64},
          {"rms_norm_eps", 1e-5},
          {"tie_word_embeddings", false},
          {"eos_token_id", end}};
}

// What a model writes that emits the case's tokens, whose files name end tokens as the case says.
void check_end(const json& given, const json& expected) {
  const Ids emits = given.at("model_emits");
  std::int32_t prompt = 0;
  while (std::ranges::find(emits, prompt) != emits.end()) ++prompt;
  Ids chain = {prompt};
  chain.insert(chain.end(), emits.begin(), emits.end());
  const std::int64_t vocabulary = std::max(prompt, *std::ranges::max_element(emits)) + 1;

  const TemporaryDirectory directory;
  directory.put("config.json", config_of(vocabulary, given.at("config_eos")).dump());
  directory.put("generation_config.json", json{{"eos_token_id", given.at("generation_config_eos")}}.dump());
  directory.put("tokenizer.json",
                json{{"model", {{"type", "BPE"}, {"vocab", {{"a", 0}}}, {"merges", json::array()}}}}.dump());
  write_weights(directory, vocabulary, chain);
  model::GenerationOptions options;
  options.max_tokens = given.value("max_new_tokens", static_cast<std::int64_t>(emits.size()));
  model::Generation generation(model::open(directory.path()), {{prompt}}, options);
  const auto& end = generation.run([](const auto&) { return true; });
  expect_equal("output", Ids(generation.tokens().begin(), generation.tokens().end()), expected.at("output"));
  expect_equal("finish", end_name(end), expected.at("finish"));
}

void run_eos(Context& context, const Report& report) {
  context.recorder.run(report.name, [&] { check_end(report.given, report.expected); });
  const json more = report.given.value("also_try", json::array());
  for (std::size_t i = 0; i < more.size(); ++i) {
    context.recorder.run(fmt::format("{}/{}", report.name, i),
                         [&] { check_end(more[i], report.expected.at("also_try").at(i)); });
  }
}

constexpr ReportKind kKinds[] = {{"eos", nullptr, nullptr, run_eos}};

}  // namespace

std::span<const ReportKind> generation_kinds() { return kKinds; }

}  // namespace sightline::conform
