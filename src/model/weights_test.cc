#include "src/model/weights.h"

#include <gtest/gtest.h>

#include "src/model/testing.h"

namespace sightline::model {
namespace {

using format::error_of;

constexpr const char* kQuery = "encoder.layer.0.attention.self.query.weight";

EditableModel bert() { return EditableModel(conformance_model("bert")); }
EditableModel masked_bert() { return EditableModel(conformance_model("bert_mlm_legacy")); }

std::vector<float> hidden_state(const Transformer& transformer) {
  const Text text{{2, 17, 45, 3}, {0, 0, 1, 1}};
  const TokenSequence view = text.view();
  return transformer.forward({&view, 1}, {.threads = 1}).last_hidden_state;
}

TEST(Weights, ListsAllThatIsMissingInOneLine) {
  EditableModel model = bert();
  model.tensors.erase(kQuery);
  model.tensors.erase("embeddings.LayerNorm.bias");
  const std::string message = error_of<BadFile>([&] { model.load(); });
  EXPECT_NE(message.find("2 tensors"), message.npos) << message;
  EXPECT_NE(message.find(kQuery), message.npos) << message;
  EXPECT_NE(message.find("embeddings.LayerNorm.bias"), message.npos) << message;
}

TEST(Weights, NamesTensorAndBothShapesOfOneThatDoesNotFit) {
  EditableModel model = bert();
  model.tensors.at(kQuery).shape = {32, 128};
  const std::string message = error_of<BadFile>([&] { model.load(); });
  EXPECT_NE(message.find(kQuery), message.npos) << message;
  EXPECT_NE(message.find("[32, 128]"), message.npos) << message;
  EXPECT_NE(message.find("[64, 64]"), message.npos) << message;
}

TEST(Weights, ChecksSizesOfTheConfigAgainstTheFile) {
  for (const char* key :
       {"hidden_size", "intermediate_size", "vocab_size", "max_position_embeddings", "type_vocab_size"}) {
    EditableModel model = bert();
    model.config[key] = model.config.at(key).get<int>() * 2;
    error_of<BadFile>([&] { model.load(); });
  }
  EditableModel model = bert();
  model.config["num_hidden_layers"] = 4;
  const std::string message = error_of<BadFile>([&] { model.load(); });
  EXPECT_NE(message.find("encoder.layer.3."), message.npos) << message;
}

TEST(Weights, RefusesElementTypesThatItCannotMultiply) {
  EditableModel model = bert();
  model.tensors.at(kQuery).dtype = DType::i32;
  const std::string message = error_of<UnsupportedModel>([&] { model.load(); });
  EXPECT_NE(message.find("I32"), message.npos) << message;
}

TEST(Weights, AcceptsEverySpellingOfAName) {
  const std::vector<float> expected = hidden_state(bert().load());
  EditableModel model = bert();
  std::vector<std::string> names;
  for (const auto& item : model.tensors) names.push_back(item.first);
  for (const std::string& name : names) {
    std::string old_name = "bert." + name;
    if (const auto at = old_name.find("LayerNorm.weight"); at != old_name.npos)
      old_name.replace(at, 16, "LayerNorm.gamma");
    if (const auto at = old_name.find("LayerNorm.bias"); at != old_name.npos)
      old_name.replace(at, 14, "LayerNorm.beta");
    model.rename(name, old_name);
  }
  EXPECT_EQ(expected, hidden_state(model.load()));
}

TEST(Weights, RefusesOneParameterUnderTwoNames) {
  EditableModel model = bert();
  model.tensors[std::string("bert.") + kQuery] = model.tensors.at(kQuery);
  const std::string message = error_of<BadFile>([&] { model.load(); });
  EXPECT_NE(message.find(kQuery), message.npos) << message;
}

TEST(Weights, PassesOverBuffersAndUnusedHeadsAndReportsTheRestOnce) {
  EditableModel model = bert();
  const format::Tensor some = model.tensors.at("pooler.dense.bias");
  for (const char* name :
       {"embeddings.position_ids", "classifier.weight", "qa_outputs.bias", "cls.seq_relationship.bias"}) {
    model.tensors[name] = some;
  }
  EXPECT_TRUE(model.load().warnings().empty());
  model.tensors["adapter.one"] = model.tensors["adapter.two"] = some;
  const std::vector<std::string> warnings = model.load().warnings();
  ASSERT_EQ(1u, warnings.size());
  EXPECT_NE(warnings[0].find("adapter.one"), warnings[0].npos) << warnings[0];
  EXPECT_NE(warnings[0].find("adapter.two"), warnings[0].npos) << warnings[0];
}

TEST(Weights, ReportsKeysOfTheConfigThatItDoesNotKnow) {
  EditableModel model = bert();
  model.config["swiglu"] = true;
  const std::vector<std::string> warnings = model.load().warnings();
  ASSERT_EQ(1u, warnings.size());
  EXPECT_NE(warnings[0].find("swiglu"), warnings[0].npos) << warnings[0];
}

TEST(Weights, HoldsWhatTheFileHoldsOfPoolerAndHead) {
  EXPECT_TRUE(bert().load().config().pooler);
  EXPECT_EQ(LanguageHead::none, bert().load().config().language_head);
  EXPECT_EQ(LanguageHead::transform, masked_bert().load().config().language_head);
  EXPECT_FALSE(masked_bert().load().config().pooler);

  EditableModel without = bert();
  without.tensors.erase("pooler.dense.weight");
  without.tensors.erase("pooler.dense.bias");
  const Transformer transformer = without.load();
  EXPECT_FALSE(transformer.config().pooler);
  EXPECT_EQ(1u, transformer.warnings().size());

  EditableModel half = bert();
  half.tensors.erase("pooler.dense.bias");
  error_of<BadFile>([&] { half.load(); });
}

TEST(Weights, CountsParametersOnce) {
  EXPECT_EQ(129408, bert().load().parameter_count());  // as tests/data/conformance/models/index.json has it
  EditableModel tied = masked_bert();
  EXPECT_EQ(53576, tied.load().parameter_count());
  tied.tensors["cls.predictions.decoder.weight"] = tied.tensors.at("bert.embeddings.word_embeddings.weight");
  tied.tensors["cls.predictions.decoder.bias"] = tied.tensors.at("cls.predictions.bias");
  const Transformer transformer = tied.load();
  EXPECT_EQ(53576, transformer.parameter_count());
  EXPECT_TRUE(transformer.warnings().empty());
}

TEST(Weights, HalfPrecisionEqualsItsWidenedValues) {
  EditableModel exact = bert(), half = bert();
  std::deque<std::vector<std::byte>> kept;
  for (auto& [name, tensor] : exact.tensors) {  // cut to what BF16 holds, once as F32 and once as BF16
    auto& wide = kept.emplace_back(tensor.bytes.begin(), tensor.bytes.end());
    auto& narrow = kept.emplace_back();
    for (std::size_t i = 0; i < wide.size(); i += 4) {
      wide[i] = wide[i + 1] = std::byte{0};
      narrow.insert(narrow.end(), {wide[i + 2], wide[i + 3]});
    }
    tensor.bytes = wide;
    format::Tensor& other = half.tensors.at(name);
    other.bytes = narrow;
    other.dtype = DType::bf16;
  }
  EXPECT_EQ(hidden_state(exact.load()), hidden_state(half.load()));
}

TEST(Weights, ReadsShards) {
  const std::vector<float> expected = hidden_state(bert().load());
  const EditableModel model = bert();
  const format::TestDirectory directory;
  directory.put("config.json", model.config.dump());
  nlohmann::json index = {{"weight_map", nlohmann::json::object()}};
  EditableModel shards[2] = {bert(), bert()};
  for (const auto& [name, tensor] : model.tensors) {
    const bool second = name.starts_with("encoder");
    shards[second ? 0 : 1].tensors.erase(name);
    index["weight_map"][name] = second ? "b.safetensors" : "a.safetensors";
  }
  for (int i : {0, 1}) {
    const format::TestDirectory part;
    shards[i].write(part.path());
    std::filesystem::copy(part / "model.safetensors", directory / (i == 0 ? "a.safetensors" : "b.safetensors"));
  }
  directory.put("model.safetensors.index.json", index.dump());
  EXPECT_EQ(expected, hidden_state(Transformer::load(directory.path())));
}

TEST(Weights, SaysWhatADirectoryLacks) {
  const format::TestDirectory directory;
  std::string message = error_of<BadFile>([&] { Transformer::load(directory.path()); });
  EXPECT_NE(message.find("config.json"), message.npos) << message;
  directory.put("config.json", bert().config.dump());
  message = error_of<BadFile>([&] { Transformer::load(directory.path()); });
  EXPECT_NE(message.find("model.safetensors"), message.npos) << message;
  directory.put("model.safetensors", "");
  error_of<BadFile>([&] { Transformer::load(directory.path()); });
  error_of<BadFile>([&] { Transformer::load(directory / "nowhere"); });
}

}  // namespace
}  // namespace sightline::model
