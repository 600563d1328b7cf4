// Loading of decoders: layouts, biases, tied matrices, names; and what is said of files that do not fit.

#include <gtest/gtest.h>

#include <deque>

#include "src/format/gguf_testing.h"
#include "src/model/family.h"
#include "src/model/testing.h"
#include "src/model/weights.h"

namespace sightline::model {
namespace {

using format::error_of;

EditableModel model_of(const char* name) { return EditableModel(conformance_model(name)); }

// A written model with its weights.
struct Loaded {
  explicit Loaded(const EditableModel& model) {
    const format::TestDirectory directory;
    model.write(directory.path());
    config = read_config(directory.path());
    weights = load_weights(format::Checkpoint::open(directory.path()), config);
  }
  TransformerConfig config;
  Weights weights;
};

std::vector<float> widened(const ops::WeightMatrix& matrix) {
  std::vector<float> values(static_cast<std::size_t>(matrix.rows * matrix.cols));
  ops::widen(matrix.data, matrix.dtype, values);
  return values;
}

TEST(DecoderWeights, GoByTheFamilyAndNotByTheShape) {  // R8-14
  const Loaded gpt2(model_of("gpt2")), llama(model_of("llama_linear")), neox(model_of("gpt_neox")),
      phi3(model_of("phi3")), gpt_oss(model_of("gpt_oss"));
  const LayerWeights& first = gpt2.weights.groups.at(0);
  EXPECT_TRUE(first.attention.output.weight.transposed);  // 64 x 64: nothing to see from its shape
  EXPECT_TRUE(first.attention.fused.weight.transposed);
  EXPECT_EQ(192, first.attention.fused.weight.rows);
  EXPECT_EQ(64, first.attention.fused.weight.cols);
  EXPECT_TRUE(first.mlp.up.weight.transposed && first.mlp.down.weight.transposed);
  EXPECT_FALSE(gpt2.weights.word_embedding.transposed);
  EXPECT_EQ(HeadLayout::blocks, first.attention.layout);

  EXPECT_FALSE(llama.weights.groups.at(0).attention.output.weight.transposed);
  EXPECT_EQ(HeadLayout::separate, llama.weights.groups.at(0).attention.layout);
  EXPECT_EQ(HeadLayout::grouped, neox.weights.groups.at(0).attention.layout);
  EXPECT_FALSE(neox.weights.groups.at(0).attention.fused.weight.transposed);
  EXPECT_EQ(HeadLayout::blocks, phi3.weights.groups.at(0).attention.layout);
  EXPECT_EQ(GateLayout::halves, phi3.weights.groups.at(0).mlp.layout);
  ASSERT_EQ(4u, gpt_oss.weights.groups.at(0).experts.size());
  EXPECT_EQ(GateLayout::interleaved, gpt_oss.weights.groups.at(0).experts[0].layout);
  EXPECT_TRUE(gpt_oss.weights.groups.at(0).experts[0].fused.weight.transposed);
}

TEST(DecoderWeights, CutExpertsOutOfOneTensor) {
  EditableModel model = model_of("gpt_oss");
  const Loaded loaded(model);
  const std::string prefix = "model.layers.1.mlp.experts.";
  const std::vector<float> up = format::to_f32(model.tensors.at(prefix + "gate_up_proj")),
                           bias = format::to_f32(model.tensors.at(prefix + "gate_up_proj_bias")),
                           down = format::to_f32(model.tensors.at(prefix + "down_proj"));
  for (std::size_t expert = 0; expert < 4; ++expert) {
    const MlpWeights& weights = loaded.weights.groups.at(1).experts.at(expert);
    EXPECT_EQ(std::vector<float>(up.begin() + expert * 64 * 96, up.begin() + (expert + 1) * 64 * 96),
              widened(weights.fused.weight));
    EXPECT_EQ(std::vector<float>(down.begin() + expert * 48 * 64, down.begin() + (expert + 1) * 48 * 64),
              widened(weights.down.weight));
    EXPECT_EQ(96, weights.fused.weight.rows);
    EXPECT_EQ(bias[expert * 96 + 5], weights.fused.bias[5]);
  }
}

TEST(DecoderWeights, NormsOfGemmaCountFromOneInOneLayoutAlone) {
  EditableModel model = model_of("gemma2");
  const Loaded loaded(model);
  const std::vector<float> stored = format::to_f32(model.tensors.at("model.norm.weight"));
  EXPECT_EQ(1 + stored[3], loaded.weights.final_norm.scale[3]);
  const auto path = std::filesystem::path(SIGHTLINE_SOURCE_DIR) / "tests/data/conformance/gguf/gemma2.Q4_0.gguf";
  TransformerConfig config = read_config(path);
  const Weights weights = load_weights(format::Checkpoint::open(path), config);
  format::Checkpoint checkpoint = format::Checkpoint::open(path);
  EXPECT_EQ(format::to_f32(checkpoint.at("output_norm.weight"))[3], weights.final_norm.scale[3]);
}

TEST(DecoderWeights, AcceptEveryPrefix) {
  const struct {
    const char* name;
    const char* stored;
    std::vector<const char*> others;
  } families[] = {
      {"gpt2", "", {"transformer."}},      {"gpt_neox", "gpt_neox.", {""}},
      {"llama_linear", "model.", {""}},    {"gemma3", "model.", {"", "language_model.model.", "model.language_model."}},
      {"roberta", "roberta.", {""}},       {"albert", "", {"albert."}},
      {"distilbert", "", {"distilbert."}},
  };
  for (const auto& family : families) {
    const std::int64_t parameters = Loaded(model_of(family.name)).weights.parameter_count;
    for (const std::string prefix : family.others) {
      EditableModel model = model_of(family.name);
      std::vector<std::string> names;
      for (const auto& item : model.tensors) names.push_back(item.first);
      for (const std::string& name : names) {
        if (name.starts_with(family.stored))
          model.rename(name, prefix + name.substr(std::string(family.stored).size()));
      }
      const Loaded loaded(model);
      EXPECT_EQ(parameters, loaded.weights.parameter_count) << family.name << " " << prefix;
      EXPECT_TRUE(loaded.weights.warnings.empty()) << loaded.weights.warnings.front();
    }
  }
}

// R8-11, whole: with files in place of words.
TEST(DecoderWeights, TiedAndStoredOutputs) {
  const auto output_is_embedding = [](const Loaded& loaded) {
    return loaded.weights.language_head->output.weight.data == loaded.weights.word_embedding.data;
  };
  EditableModel tied = model_of("gpt2");
  EXPECT_TRUE(output_is_embedding(Loaded(tied)));
  tied.config.erase("tie_word_embeddings");
  EXPECT_TRUE(output_is_embedding(Loaded(tied)));
  tied.tensors["lm_head.weight"] = tied.tensors.at("wte.weight");
  {
    const Loaded equal(tied);
    EXPECT_TRUE(output_is_embedding(equal));
    EXPECT_TRUE(equal.weights.warnings.empty());
    EXPECT_EQ(175680, equal.weights.parameter_count);
  }
  const std::vector<std::byte> zeros(tied.tensors.at("wte.weight").bytes.size());
  tied.tensors["lm_head.weight"].bytes = zeros;
  {
    const Loaded different(tied);
    EXPECT_TRUE(output_is_embedding(different));
    ASSERT_EQ(1u, different.weights.warnings.size());
    EXPECT_NE(different.weights.warnings[0].find("lm_head.weight"), std::string::npos);
  }
  tied.config["tie_word_embeddings"] = false;
  EXPECT_FALSE(output_is_embedding(Loaded(tied)));
  EditableModel untied = model_of("llama_linear");
  EXPECT_FALSE(output_is_embedding(Loaded(untied)));
  untied.tensors.erase("lm_head.weight");
  error_of<BadFile>([&] { Loaded{untied}; });
  untied.config.erase("tie_word_embeddings");
  error_of<BadFile>([&] { Loaded{untied}; });
  // A model without a head needs none.
  untied.config["architectures"] = {"LlamaModel"};
  EXPECT_FALSE(Loaded(untied).weights.language_head);
}

TEST(DecoderWeights, BiasesAreThoseOfTheConfig) {
  EditableModel model = model_of("llama_linear");
  EXPECT_NE(nullptr, Loaded(model).weights.groups.at(0).attention.query.bias);
  EXPECT_NE(nullptr, Loaded(model).weights.groups.at(0).mlp.gate.bias);
  model.config["attention_bias"] = false;
  const Loaded without(model);
  EXPECT_EQ(nullptr, without.weights.groups.at(0).attention.query.bias);
  EXPECT_NE(nullptr, without.weights.groups.at(0).mlp.gate.bias);
  ASSERT_EQ(1u, without.weights.warnings.size());  // twelve biases that nobody asked for
  EXPECT_NE(without.weights.warnings[0].find("12 tensors of the file are not used: "), std::string::npos)
      << without.weights.warnings[0];
  EditableModel qwen = model_of("qwen2_yarn");
  qwen.tensors.erase("model.layers.0.self_attn.k_proj.bias");
  EXPECT_NE(error_of<BadFile>([&] { Loaded{qwen}; }).find("k_proj.bias"), std::string::npos);
}

// Every tensor of every family: without it, and with one row more than it should have.
TEST(DecoderWeights, NameEveryTensorThatIsMissingOrMisshapen) {
  for (const char* name : {"albert", "distilbert", "roberta", "gpt2", "gpt_neox", "llama_linear", "mistral",
                           "qwen2_yarn", "qwen3", "gemma2", "gemma3", "phi3", "gpt_oss"}) {
    EditableModel model = model_of(name);
    const TransformerConfig config = read_config(conformance_model(name));
    const NameMap& names = *find_family(config.family, name).names;
    const auto tensors = model.tensors;
    for (const auto& [stored, tensor] : tensors) {
      const bool pooler = !names.pooler.empty() && stored.find(std::string(names.pooler) + ".weight") != stored.npos;
      const bool last_layer_or_none = stored.find(".1.") == stored.npos;  // one layer is enough
      if (pooler || !last_layer_or_none) continue;                        // without a pooler there is a warning
      model.tensors.erase(stored);
      const std::string canonical = canonical_name(names, stored);
      std::string message = error_of<BadFile>([&] { Loaded{model}; });
      EXPECT_TRUE(message.find(canonical) != message.npos || canonical.starts_with("lm_head") ||
                  canonical.starts_with("embed_out"))
          << message;
      const std::vector<std::byte> longer(tensor.bytes.size() / tensor.shape[0] * (tensor.shape[0] + 1));
      format::Tensor& other = model.tensors[stored] = tensor;
      ++other.shape[0];
      other.bytes = longer;
      message = error_of<BadFile>([&] { Loaded{model}; });
      EXPECT_NE(message.find(stored), message.npos) << message;
      EXPECT_NE(message.find(std::to_string(tensor.shape[0])), message.npos) << message;
      model.tensors[stored] = tensor;
    }
  }
}

TEST(DecoderWeights, MissingAndMisshapenTensorsComeInOneMessage) {
  EditableModel model = model_of("llama_linear");
  model.tensors.erase("model.norm.weight");
  model.tensors.erase("model.layers.2.mlp.up_proj.bias");
  model.tensors.at("model.embed_tokens.weight").shape = {160, 128};
  const std::string message = error_of<BadFile>([&] { Loaded{model}; });
  for (const char* part : {"2 tensors are missing", "norm.weight", "layers.2.mlp.up_proj.bias", "[64]", "[96]",
                           "model.embed_tokens.weight", "[160, 128]", "[320, 64]"}) {
    EXPECT_NE(message.find(part), message.npos) << part << " in " << message;
  }
}

TEST(DecoderWeights, PassOverBuffersAndHeadsThatAreNotRun) {
  const struct {
    const char* name;
    std::vector<const char*> tensors;
  } files[] = {
      {"gpt2", {"h.0.attn.bias", "h.1.attn.masked_bias", "score.weight", "multiple_choice_head.summary.weight"}},
      {"gpt_neox",
       {"gpt_neox.layers.0.attention.bias", "gpt_neox.layers.1.attention.masked_bias",
        "gpt_neox.layers.0.attention.rotary_emb.inv_freq"}},
      {"llama_linear", {"model.layers.0.self_attn.rotary_emb.inv_freq", "model.rotary_emb.inv_freq", "score.weight"}},
      {"gemma3", {"vision_tower.vision_model.head.weight", "multi_modal_projector.mm_soft_emb_norm.weight"}},
      {"distilbert", {"pre_classifier.weight", "classifier.bias", "qa_outputs.weight"}},
      {"roberta", {"classifier.dense.weight", "classifier.out_proj.bias"}},
      {"albert", {"sop_classifier.classifier.weight"}},
  };
  for (const auto& file : files) {
    EditableModel model = model_of(file.name);
    for (const char* name : file.tensors) model.tensors[name] = model.tensors.begin()->second;
    const Loaded loaded(model);
    EXPECT_TRUE(loaded.weights.warnings.empty()) << file.name << ": " << loaded.weights.warnings.front();
    model.tensors["adapter.weight"] = model.tensors.begin()->second;
    EXPECT_EQ(1u, Loaded(model).weights.warnings.size()) << file.name;
    const format::TestDirectory directory;
    model.write(directory.path());
    EXPECT_NE(error_of<BadFile>([&] { Transformer::load(directory.path(), {.strict = true}); }).find("adapter.weight"),
              std::string::npos);
  }
}

TEST(DecoderWeights, HeadsOfEncodersAreTakenFromTheFile) {
  struct {
    const char* name;
    const char* architecture;
    const char *dense, *norm, *output, *bias;
    std::int64_t inner;
  } const heads[] = {
      {"roberta", "RobertaForMaskedLM", "lm_head.dense", "lm_head.layer_norm", "lm_head.decoder", "lm_head.bias", 64},
      {"distilbert", "DistilBertForMaskedLM", "vocab_transform", "vocab_layer_norm", "vocab_projector",
       "vocab_projector.bias", 64},
      {"albert", "AlbertForMaskedLM", "predictions.dense", "predictions.LayerNorm", "predictions.decoder",
       "predictions.bias", 32},
  };
  for (const auto& head : heads) {
    EditableModel model = model_of(head.name);
    std::deque<std::vector<std::byte>> kept;
    const auto add = [&](const std::string& name, std::vector<std::int64_t> shape) {
      std::int64_t size = 4;
      for (const std::int64_t extent : shape) size *= extent;
      model.tensors[name] = {DType::f32, shape, kept.emplace_back(size)};
    };
    model.config["architectures"] = {head.architecture};
    error_of<BadFile>([&] { Loaded{model}; });
    add(std::string(head.dense) + ".weight", {head.inner, 64});
    add(std::string(head.dense) + ".bias", {head.inner});
    add(std::string(head.norm) + ".weight", {head.inner});
    add(std::string(head.norm) + ".bias", {head.inner});
    add(head.bias, {320});
    const Loaded loaded(model);
    ASSERT_TRUE(loaded.weights.language_head) << head.name;
    EXPECT_EQ(LanguageHead::transform, loaded.config.language_head);
    EXPECT_EQ(head.inner, loaded.weights.language_head->dense.weight.rows);
    EXPECT_EQ(loaded.weights.word_embedding.data, loaded.weights.language_head->output.weight.data);
    EXPECT_NE(nullptr, loaded.weights.language_head->output.bias);
  }
}

TEST(DecoderWeights, AGgufFileWithoutTensorsSaysSo) {
  const auto path = std::filesystem::path(SIGHTLINE_SOURCE_DIR) / "tests/data/conformance/gguf/vocab_qwen2.gguf";
  const std::string message = error_of<BadFile>([&] { Transformer::load(path); });
  EXPECT_NE(message.find("no tensors"), message.npos) << message;
}

}  // namespace
}  // namespace sightline::model
