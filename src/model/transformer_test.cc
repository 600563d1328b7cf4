#include "sightline/transformer.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdlib>

#include "src/cpu/target.h"
#include "src/model/reference_testing.h"

namespace sightline::model {
namespace {

using format::error_of;
using format::SafetensorsFile;

class ConformanceTest : public testing::TestWithParam<std::string> {};

TEST_P(ConformanceTest, AgreesWithTheReference) {
  const std::filesystem::path directory = conformance("models") / GetParam();
  const Transformer transformer = Transformer::load(directory);
  const SafetensorsFile reference = SafetensorsFile::open(directory / "reference.safetensors");
  const nlohmann::json tolerance = index_entry(GetParam()).at("tolerance");
  const bool head = transformer.config().language_head != LanguageHead::none;
  EXPECT_TRUE(transformer.warnings().empty()) << transformer.warnings().front();
  for (const std::string name : {"len1.", "len7.", "batch."}) {
    SCOPED_TRACE(name);
    const std::vector<Text> texts = texts_of(reference, name);
    MapKeeper keeper;
    const ForwardResult result = transformer.forward(
        views(texts),
        {.observer = &keeper, .keep_hidden_states = true, .logits = head ? LogitRows::all : LogitRows::none});
    const auto expect_rows = [&](const std::string& what, const std::vector<float>& rows) {
      const format::Tensor* want = reference.find(name + what);
      if (want == nullptr) return false;
      EXPECT_LE(row_difference(result, rows, *want), tolerance.at("values_rel").get<double>() * largest(*want)) << what;
      return true;
    };
    EXPECT_TRUE(expect_rows("last_hidden_state", result.last_hidden_state) || expect_rows("logits", result.logits));
    ASSERT_EQ(transformer.config().layers + 1, static_cast<std::int64_t>(result.hidden_states.size()));
    for (std::size_t n = 0; n < result.hidden_states.size(); ++n) {
      EXPECT_EQ(name == "len7.", expect_rows("hidden_states." + std::to_string(n), result.hidden_states[n]));
    }
    if (const format::Tensor* pooled = reference.find(name + "pooler_output")) {
      const std::vector<float> want = format::to_f32(*pooled);
      ASSERT_EQ(want.size(), result.pooled.size());
      for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(want[i], result.pooled[i], 2e-5);
    }
    ASSERT_EQ(transformer.config().layers, static_cast<std::int64_t>(keeper.maps.size()));
    for (std::size_t layer = 0; layer < keeper.maps.size(); ++layer) {
      const format::Tensor& want = reference.at(name + "attentions." + std::to_string(layer));
      EXPECT_LE(map_difference(keeper.maps[layer], want), tolerance.at("attentions_abs").get<double>());
    }
  }
}

// Greedy tokens of decoders, by a context that grows token by token; phi3 crosses where its frequencies change.
class GenerationTest : public testing::TestWithParam<std::string> {};

TEST_P(GenerationTest, GivesTheTokensOfTheReference) {
  const std::filesystem::path directory = conformance("models") / GetParam();
  const SafetensorsFile reference = SafetensorsFile::open(directory / "reference.safetensors");
  const nlohmann::json cases = index_entry(GetParam()).at("generation");
  EXPECT_FALSE(cases.empty());
  const Transformer transformer = Transformer::load(directory);
  for (const nlohmann::json& entry : cases) {
    const std::string name = entry.at("case");
    const Text want = text_of(reference.at(name + ".tokens"));
    EXPECT_EQ(want.ids, generate(transformer, text_of(reference.at(name + ".prompt")), want.ids.size())) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, ConformanceTest, testing::ValuesIn(model_names()),
                         [](const auto& info) { return info.param; });
INSTANTIATE_TEST_SUITE_P(Models, GenerationTest, testing::ValuesIn(model_names("decoder")),
                         [](const auto& info) { return info.param; });

TEST(Transformer, AcceptsAnEmptyBatch) {
  const Transformer transformer = Transformer::load(conformance_model("bert"));
  const ForwardResult result = transformer.forward({});
  EXPECT_EQ(std::vector<std::int64_t>{0}, result.row_begin);
  EXPECT_TRUE(result.last_hidden_state.empty());
}

TEST(Transformer, RefusesTextsThatItCannotRun) {
  const Transformer transformer = Transformer::load(conformance_model("bert"));
  const auto message_of = [&](const Text& text, const ForwardOptions& options = {}) {
    const TokenSequence view = text.view();
    return error_of<BadArgument>([&] { transformer.forward({&view, 1}, options); });
  };
  message_of({{}, {}});
  EXPECT_NE(message_of({{1, 320}, {}}).find("320"), std::string::npos);
  message_of({{1, -1}, {}});
  message_of({{1, 2}, {0}});
  message_of({{1, 2}, {0, 2}});
  EXPECT_NE(message_of({std::vector<std::int32_t>(65, 1), {}}).find("64"), std::string::npos);
  message_of({{1}, {}}, {.logits = LogitRows::last});
  error_of<BadArgument>([&] { transformer.make_context(8); });
}

TEST(Transformer, GivesLogitsOfTheRowsAskedFor) {
  const Transformer transformer = Transformer::load(conformance_model("llama_llama3"));
  const std::vector<Text> texts = {{{5, 6, 7}, {}}, {{9}, {}}, {{4, 4, 3, 2, 1}, {}}};
  const ForwardResult all = transformer.forward(views(texts), {.logits = LogitRows::all});
  const ForwardResult last = transformer.forward(views(texts), {.logits = LogitRows::last});
  const std::int64_t vocabulary = transformer.config().vocabulary;
  ASSERT_EQ(static_cast<std::size_t>(9 * vocabulary), all.logits.size());
  ASSERT_EQ(static_cast<std::size_t>(3 * vocabulary), last.logits.size());
  for (std::size_t s = 0; s < 3; ++s) {
    const float* want = all.logits.data() + (all.row_begin[s + 1] - 1) * vocabulary;
    EXPECT_EQ(0, std::memcmp(want, last.logits.data() + s * vocabulary, vocabulary * sizeof(float)));
  }
  EXPECT_TRUE(transformer.forward(views(texts)).logits.empty());
}

// As the reference numbers them: a padding token has the position of its id and is not counted.
TEST(Transformer, PaddingTokensWithinATextOfRobertaAreNotCounted) {
  const Transformer transformer = Transformer::load(conformance_model("roberta"));
  ASSERT_EQ(2, transformer.config().position_offset);
  const std::vector<Text> texts = {{{5, 1, 7}, {}}, {{5, 7}, {}}, {{1}, {}}, {{5, 6, 7}, {}}};
  const ForwardResult result = transformer.forward(views(texts), {.keep_hidden_states = true});
  const auto embedded = [&](std::int64_t row) {
    const float* values = result.hidden_states.at(0).data() + row * result.width;
    return std::vector<float>(values, values + result.width);
  };
  EXPECT_EQ(embedded(2), embedded(4));  // 7, the second token that counts
  EXPECT_EQ(embedded(1), embedded(5));  // padding, wherever it stands
  EXPECT_NE(embedded(2), embedded(8));
}

TEST(Unpadded, FindsTheRealTokens) {
  const std::vector<std::int32_t> ids = {0, 0, 7, 8, 5, 6, 0, 0, 1, 2, 3, 4};
  const std::vector<std::uint8_t> mask = {0, 0, 1, 1, 1, 1, 0, 0, 1, 1, 1, 1};
  const std::vector<TokenSequence> texts = unpadded(ids, mask, 4);
  ASSERT_EQ(3u, texts.size());
  EXPECT_EQ((std::vector<std::int32_t>{7, 8}), std::vector<std::int32_t>(texts[0].ids.begin(), texts[0].ids.end()));
  EXPECT_EQ((std::vector<std::int32_t>{5, 6}), std::vector<std::int32_t>(texts[1].ids.begin(), texts[1].ids.end()));
  EXPECT_EQ(4u, texts[2].ids.size());
  const auto refuse = [&](std::vector<std::uint8_t> other, std::int64_t length) {
    error_of<BadArgument>([&] { unpadded({ids.data(), 4}, other, length); });
  };
  refuse({1, 0, 1, 1}, 4);
  refuse({0, 0, 0, 0}, 4);
  refuse({1, 1, 1}, 4);
  refuse({1, 1, 1, 1}, 3);
  refuse({1, 1, 1, 1}, 0);
}

// Mean over the tokens of a sequence, as a unit vector.
std::vector<double> embedding_of(const ForwardResult& result, std::size_t sequence) {
  std::vector<double> mean(result.width);
  for (std::int64_t row = result.row_begin[sequence]; row < result.row_begin[sequence + 1]; ++row) {
    for (std::int64_t i = 0; i < result.width; ++i) mean[i] += result.last_hidden_state[row * result.width + i];
  }
  const double norm = std::sqrt(std::inner_product(mean.begin(), mean.end(), mean.begin(), 0.0));
  for (double& v : mean) v /= norm;
  return mean;
}

TEST(Transformer, MiniLmAgreesWithTheReference) {
  const std::filesystem::path directory = minilm_directory();
  if (!std::filesystem::exists(directory / "model.safetensors")) {
    GTEST_SKIP() << "no MiniLM in " << directory << "; SIGHTLINE_MINILM can name its directory";
  }
  const Transformer transformer = Transformer::load(directory);
  EXPECT_EQ(22713216, transformer.parameter_count());
  EXPECT_TRUE(transformer.warnings().empty());
  const SafetensorsFile reference = SafetensorsFile::open(std::filesystem::path(SIGHTLINE_SOURCE_DIR) /
                                                          "tests/data/conformance/minilm/reference.safetensors");
  const std::vector<Text> texts = texts_of(reference, "");
  MapKeeper keeper;
  const ForwardResult result = transformer.forward(views(texts), {.observer = &keeper});
  EXPECT_LE(row_difference(result, result.last_hidden_state, reference.at("last_hidden_state")), 5e-5);
  ASSERT_EQ(6u, keeper.maps.size());
  for (std::size_t layer = 0; layer < 6; ++layer) {
    EXPECT_LE(map_difference(keeper.maps[layer], reference.at("attentions." + std::to_string(layer))), 1e-5);
  }
  const std::vector<float> embeddings = format::to_f32(reference.at("embeddings"));
  for (std::size_t s = 0; s < texts.size(); ++s) {
    const std::vector<double> got = embedding_of(result, s);
    EXPECT_GE(std::inner_product(got.begin(), got.end(), embeddings.begin() + s * result.width, 0.0), 0.999999);
  }
}

}  // namespace
}  // namespace sightline::model
