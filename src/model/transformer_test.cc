#include "src/model/transformer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <numeric>

#include "src/cpu/target.h"
#include "src/model/testing.h"

namespace sightline::model {
namespace {

using format::error_of;
using format::SafetensorsFile;

std::vector<std::int64_t> integers(const format::Tensor& tensor) {
  std::vector<std::int64_t> values(tensor.bytes.size() / sizeof(std::int64_t));
  std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
  return values;
}

// The real tokens of a case of a reference file.
std::vector<Text> texts_of(const SafetensorsFile& reference, const std::string& prefix) {
  const format::Tensor& ids = reference.at(prefix + "input_ids");
  const std::vector<std::int64_t> all = integers(ids), real = integers(reference.at(prefix + "attention_mask"));
  const format::Tensor* types = reference.find(prefix + "token_type_ids");
  const std::vector<std::int64_t> kinds = types != nullptr ? integers(*types) : std::vector<std::int64_t>(all.size());
  std::vector<Text> texts(ids.shape[0]);
  for (std::size_t i = 0; i < all.size(); ++i) {
    Text& text = texts[i / ids.shape[1]];
    if (real[i] == 0) continue;
    text.ids.push_back(static_cast<std::int32_t>(all[i]));
    text.types.push_back(static_cast<std::int32_t>(kinds[i]));
  }
  return texts;
}

std::vector<TokenSequence> views(const std::vector<Text>& texts) {
  std::vector<TokenSequence> sequences;
  for (const Text& text : texts) sequences.push_back(text.view());
  return sequences;
}

// Every weight of every map, through tile() and, so that the two can be compared, through chosen rows.
class MapKeeper : public AttentionObserver {
 public:
  struct Map {
    std::int64_t heads, length;
    std::vector<float> weights;  // [heads, length, length]
  };

  Observations request(const LayerAttention& call) override {
    const auto& shape = call.problem.q.shape;
    const std::int64_t rows = shape[1] * shape[2];
    for (auto* values : {&max_, &sum_}) values->assign(rows, 0);
    row_weights_.assign(rows * shape[2], 0);
    all_rows_.resize(shape[2]);
    std::iota(all_rows_.begin(), all_rows_.end(), 0);
    Observations see;
    see.row_max = max_.data();
    see.row_sum = sum_.data();
    see.rows = all_rows_;
    see.row_weights = row_weights_.data();
    return see;
  }

  void done(const LayerAttention& call) override {
    const std::int64_t heads = call.problem.q.shape[1], length = call.problem.q.shape[2];
    Map map{heads, length, std::vector<float>(heads * length * length)};
    for (std::int64_t h = 0; h < heads; ++h) {
      tile(call.problem, {max_.data(), sum_.data()}, {0, h, 0, length, 0, length}, Stage::weights,
           map.weights.data() + h * length * length);
    }
    EXPECT_EQ(0, std::memcmp(map.weights.data(), row_weights_.data(), map.weights.size() * sizeof(float)));
    EXPECT_EQ(static_cast<int>(maps.size()) - 1 + (call.sequence == 0 ? 1 : 0), call.layer);
    if (call.sequence == 0) maps.emplace_back();
    EXPECT_EQ(static_cast<int>(maps.back().size()), call.sequence);
    maps.back().push_back(std::move(map));
  }

  std::vector<std::vector<Map>> maps;  // by layer and sequence

 private:
  std::vector<float> max_, sum_, row_weights_;
  std::vector<std::int64_t> all_rows_;
};

// Largest difference between maps of a layer and a padded reference [batch, heads, n, n]; also checks that there are as
// many heads.
double map_difference(const std::vector<MapKeeper::Map>& maps, const format::Tensor& reference) {
  const std::vector<float> expected = format::to_f32(reference);
  const std::int64_t padded = reference.shape[3];
  double worst = 0;
  for (std::size_t s = 0; s < maps.size(); ++s) {
    const MapKeeper::Map& map = maps[s];
    EXPECT_EQ(reference.shape[1], map.heads);
    for (std::int64_t row = 0; row < map.heads * map.length; ++row) {
      const std::int64_t h = row / map.length, i = row % map.length;
      const float* want = &expected[((s * map.heads + h) * padded + i) * padded];
      for (std::int64_t j = 0; j < map.length; ++j) {
        worst = std::max(worst, static_cast<double>(std::abs(want[j] - map.weights[row * map.length + j])));
      }
    }
  }
  return worst;
}

// Largest difference of packed rows from a padded reference [batch, n, width].
double row_difference(const ForwardResult& result, const std::vector<float>& rows, const format::Tensor& reference) {
  const std::vector<float> expected = format::to_f32(reference);
  const std::int64_t padded = reference.shape[1], width = reference.shape[2];
  double worst = 0;
  for (std::size_t s = 0; s + 1 < result.row_begin.size(); ++s) {
    const float* got = rows.data() + result.row_begin[s] * width;
    const std::int64_t count = (result.row_begin[s + 1] - result.row_begin[s]) * width;
    for (std::int64_t i = 0; i < count; ++i) {
      worst = std::max(worst, static_cast<double>(std::abs(expected[s * padded * width + i] - got[i])));
    }
  }
  return worst;
}

double largest(const format::Tensor& tensor) {
  double value = 1;  // tolerances are relative to max(1, largest)
  for (float v : format::to_f32(tensor)) value = std::max(value, static_cast<double>(std::abs(v)));
  return value;
}

// Tolerances of a model in the index of the conformance set.
nlohmann::json tolerance_of(const std::string& model) {
  const nlohmann::json index = format::read_json(conformance_model("index.json"));
  for (const nlohmann::json& entry : index.at("models")) {
    if (entry.at("name") == model) return entry.at("tolerance");
  }
  throw std::runtime_error("no " + model + " in the index");
}

class ConformanceTest : public testing::TestWithParam<const char*> {};

TEST_P(ConformanceTest, AgreesWithTheReference) {
  const std::filesystem::path directory = conformance_model(GetParam());
  const Transformer transformer = Transformer::load(directory);
  const SafetensorsFile reference = SafetensorsFile::open(directory / "reference.safetensors");
  const nlohmann::json tolerance = tolerance_of(GetParam());
  for (const std::string name : {"len1.", "len7.", "batch."}) {
    SCOPED_TRACE(name);
    const std::vector<Text> texts = texts_of(reference, name);
    MapKeeper keeper;
    const ForwardResult result = transformer.forward(
        views(texts),
        {.observer = &keeper, .keep_hidden_states = true, .want_logits = transformer.config().language_head});
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

INSTANTIATE_TEST_SUITE_P(Models, ConformanceTest, testing::Values("bert", "bert_mlm_legacy"),
                         [](const auto& info) { return std::string(info.param); });

// A result as one string of bits.
std::string bits(const ForwardResult& result) {
  std::string all;
  const auto append = [&all](const std::vector<float>& values) {
    all.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
  };
  append(result.last_hidden_state);
  append(result.pooled);
  append(result.logits);
  for (const auto& state : result.hidden_states) append(state);
  return all;
}

TEST(Transformer, BitsDependOnTheTextAlone) {
  for (const char* name : {"bert", "bert_mlm_legacy"}) {
    const Transformer transformer = Transformer::load(conformance_model(name));
    const std::vector<Text> texts = {
        {{5, 6, 7}, {}}, {{9}, {}}, {std::vector<std::int32_t>(40, 11), {}}, {{5, 6, 8, 200}, {0, 1, 1, 0}}};
    const bool head = transformer.config().language_head;
    const auto run = [&](std::span<const Text> some, int threads) {
      return transformer.forward(views({some.begin(), some.end()}),
                                 {.threads = threads, .keep_hidden_states = true, .want_logits = head});
    };
    const ForwardResult together = run(texts, 1);
    EXPECT_EQ(bits(together), bits(run(texts, 2)));
    for (const std::string& target : cpu::available_targets()) {
      cpu::force_target(target);
      EXPECT_EQ(bits(together), bits(run(texts, 1))) << target;
    }
    cpu::force_target("");
    for (std::size_t s = 0; s < texts.size(); ++s) {
      const ForwardResult alone = run({&texts[s], 1}, 1);
      const auto same = [&](const std::vector<float>& one, const std::vector<float>& all, std::int64_t begin) {
        const auto same_bits = [](float a, float b) {
          return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
        };
        return std::equal(one.begin(), one.end(), all.begin() + (one.empty() ? 0 : begin), same_bits);
      };
      const std::int64_t row = together.row_begin[s];
      EXPECT_TRUE(same(alone.last_hidden_state, together.last_hidden_state, row * together.width));
      EXPECT_TRUE(same(alone.pooled, together.pooled, static_cast<std::int64_t>(s) * together.width));
      EXPECT_TRUE(same(alone.logits, together.logits, row * transformer.config().vocabulary));
    }
  }
}

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
  message_of({{1}, {}}, {.want_logits = true});
}

std::filesystem::path minilm_directory() {
  if (const char* named = std::getenv("SIGHTLINE_MINILM")) return named;
  const char *cache = std::getenv("XDG_CACHE_HOME"), *home = std::getenv("HOME");
  const std::filesystem::path base =
      cache != nullptr ? cache : std::filesystem::path(home != nullptr ? home : "") / ".cache";
  return base / "sightline" / "all-MiniLM-L6-v2";
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
