// The studies that look at a model, on models of the conformance set.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sightline/error.h"
#include "src/analysis/average_heads.h"
#include "src/analysis/cache_study.h"
#include "src/analysis/context_study.h"
#include "src/analysis/layer_measure.h"
#include "src/analysis/many_study.h"
#include "src/model/reference_testing.h"

namespace sightline::analysis {
namespace {

using model::Text;
using model::Transformer;

const std::vector<double>& column(const Table& table, const std::string& key) {
  const auto found = std::ranges::find(table.columns, key, &Column::key);
  if (found == table.columns.end()) throw std::runtime_error("no column " + key);
  return found->values;
}

const Table& table_of(const Study& study, const std::string& key) {
  const auto found = std::ranges::find(study.tables, key, &Table::key);
  if (found == study.tables.end()) throw std::runtime_error("no table " + key);
  return *found;
}

double figure(const Study& study, const std::string& key) {
  const auto found = std::ranges::find(study.figures, key, &Figure::key);
  if (found == study.figures.end()) throw std::runtime_error("no figure " + key);
  return found->value;
}

StudyInput input_of(const Transformer& transformer, const Text& text) {
  StudyInput input{
      .transformer = &transformer, .ids = text.ids, .type_ids = text.types, .is_text = {}, .options = {.threads = 2}};
  input.is_text.assign(text.ids.size(), true);
  input.is_text.front() = false;
  return input;
}

// Maps of a text of the reference, as transformers computed them.
class ReferenceMaps {
 public:
  explicit ReferenceMaps(const std::string& name)
      : file_(format::SafetensorsFile::open(model::conformance("models") / name / "reference.safetensors")),
        texts_(model::texts_of(file_, "batch.")) {
    const auto longest = std::ranges::max_element(texts_, {}, [](const Text& text) { return text.ids.size(); });
    index_ = longest - texts_.begin();
  }

  const Text& text() const { return texts_[static_cast<std::size_t>(index_)]; }
  std::int64_t count() const { return std::ssize(text().ids); }

  void take_layer(std::int64_t layer) {
    const format::Tensor& tensor = file_.at("batch.attentions." + std::to_string(layer));
    weights_ = format::to_f32(tensor);
    heads = tensor.shape[1];
    padded_ = tensor.shape[3];
  }
  double weight(std::int64_t head, std::int64_t row, std::int64_t key) const {
    return weights_[static_cast<std::size_t>(((index_ * heads + head) * padded_ + row) * padded_ + key)];
  }

  std::int64_t heads = 0;

 private:
  format::SafetensorsFile file_;
  std::vector<Text> texts_;
  std::int64_t index_ = 0, padded_ = 0;
  std::vector<float> weights_;
};

// [distance], of all keys or of those that are text, over rows that are.
std::vector<double> by_distance(const ReferenceMaps& maps, std::int64_t head, std::int64_t first_key) {
  std::vector<double> sums(static_cast<std::size_t>(maps.count()));
  for (std::int64_t row = 1; row < maps.count(); ++row) {
    for (std::int64_t key = first_key; key < maps.count(); ++key) {
      sums[static_cast<std::size_t>(std::abs(row - key))] += maps.weight(head, row, key);
    }
  }
  return sums;
}

// That `found` is the least distance within which `share` lies, but for the rounding of weights.
void expect_within(const std::vector<double>& sums, double share, double found) {
  const double total = std::accumulate(sums.begin(), sums.end(), 0.0);
  const auto until = [&](double distance) {
    return std::accumulate(sums.begin(), sums.begin() + static_cast<std::ptrdiff_t>(distance + 1), 0.0) / total;
  };
  EXPECT_GE(until(found), share - 1e-4);
  if (found > 0) {
    EXPECT_LT(until(found - 1), share + 1e-4);
  }
}

TEST(ContextStudy, MatchesTransformersMaps) {
  for (const std::string& name : model::model_names()) {
    SCOPED_TRACE(name);
    ReferenceMaps maps(name);
    const Transformer transformer = Transformer::load(model::conformance("models") / name);
    const Study study = study_context(input_of(transformer, maps.text()));
    EXPECT_TRUE(study.complete);
    const Table& heads = table_of(study, "heads");
    std::size_t at = 0;
    for (std::int64_t layer = 0; layer < transformer.config().layers; ++layer) {
      maps.take_layer(layer);
      for (std::int64_t head = 0; head < maps.heads; ++head, ++at) {
        ASSERT_LT(at, heads.labels.size());
        EXPECT_EQ(heads.labels[at], head_label(layer, head));
        const std::vector<double> all = by_distance(maps, head, 0), text = by_distance(maps, head, 1);
        const double total = std::accumulate(all.begin(), all.end(), 0.0);
        const double of_text = std::accumulate(text.begin(), text.end(), 0.0);
        double mean = 0;
        for (std::size_t d = 0; d < all.size(); ++d) mean += static_cast<double>(d) * all[d] / total;
        EXPECT_NEAR(column(heads, "all_mean")[at], mean, 1e-3);
        EXPECT_NEAR(column(heads, "aside")[at], 1 - of_text / total, 1e-4);
        for (const double share : {0.5, 0.9, 0.99}) {
          const std::string key = std::to_string(std::lround(100 * share));
          expect_within(all, share, column(heads, "all_" + key)[at]);
          expect_within(text, share, column(heads, "text_" + key)[at]);
        }
        EXPECT_EQ(column(table_of(study, "grid_50"), "h" + std::to_string(head + 1))[static_cast<std::size_t>(layer)],
                  column(heads, "text_50")[at]);
      }
    }
    EXPECT_EQ(at, heads.labels.size());
  }
}

double information(double share) { return share > 0 ? -share * std::log(share) : 0; }

// Of rows that are text; what a row's weights lack of 1 is its sink's.
double expected_divergence(const ReferenceMaps& maps) {
  double sum = 0;
  const auto heads = static_cast<double>(maps.heads);
  for (std::int64_t row = 1; row < maps.count(); ++row) {
    std::vector<double> rest(static_cast<std::size_t>(maps.heads), 1);
    for (std::int64_t key = 0; key < maps.count(); ++key) {
      double mean = 0;
      for (std::int64_t head = 0; head < maps.heads; ++head) {
        const double weight = maps.weight(head, row, key);
        mean += weight / heads;
        sum -= information(weight) / heads;
        rest[static_cast<std::size_t>(head)] -= weight;
      }
      sum += information(mean);
    }
    double mean = 0;
    for (const double sink : rest) {
      if (sink < 1e-5) continue;
      mean += sink / heads;
      sum -= information(sink) / heads;
    }
    sum += information(mean);
  }
  return sum / static_cast<double>(maps.count() - 1);
}

TEST(ManyStudy, MatchesTransformersMaps) {
  for (const std::string& name : model::model_names()) {
    SCOPED_TRACE(name);
    ReferenceMaps maps(name);
    const Transformer transformer = Transformer::load(model::conformance("models") / name);
    const Study study = study_many(input_of(transformer, maps.text()));
    const Table& layers = table_of(study, "layers");
    ASSERT_EQ(std::ssize(layers.labels), transformer.config().layers);
    for (std::int64_t layer = 0; layer < transformer.config().layers; ++layer) {
      maps.take_layer(layer);
      const auto at = static_cast<std::size_t>(layer);
      const double most = std::log(static_cast<double>(maps.heads)), divergence = column(layers, "divergence")[at];
      EXPECT_NEAR(divergence, expected_divergence(maps), 5e-4);
      EXPECT_GE(divergence, 0);
      EXPECT_LE(divergence, most);
      EXPECT_NEAR(column(layers, "divergence_share")[at], divergence / most, 1e-9);
      EXPECT_GT(column(layers, "error")[at], 0.01);
      EXPECT_TRUE(std::isfinite(column(layers, "even_error")[at]));
    }
    EXPECT_NEAR(figure(study, "bound"), std::log(static_cast<double>(maps.heads)), 1e-12);
  }
}

// Errors are those of the layer's output: with an output matrix that changes nothing they are those of the heads'
// vectors, with one that drops all heads but the first those of the first.
TEST(ManyStudy, ErrorsGoThroughTheLayersOwnOutputMatrix) {
  ReferenceMaps maps("bert");
  model::EditableModel edited(model::conformance("models") / "bert");
  const std::int64_t width = edited.config.at("hidden_size").get<std::int64_t>();
  std::vector<float> identity(static_cast<std::size_t>(width * width));
  for (std::int64_t i = 0; i < width; ++i) identity[static_cast<std::size_t>(i * width + i)] = 1;
  std::size_t replaced = 0;
  for (auto& [name, tensor] : edited.tensors) {
    if (!name.ends_with("attention.output.dense.weight")) continue;
    ASSERT_EQ(tensor.shape, (std::vector<std::int64_t>{width, width}));
    tensor.dtype = DType::f32;
    tensor.bytes = std::as_bytes(std::span(identity));
    ++replaced;
  }
  ASSERT_GT(replaced, 0u);
  const Transformer transformer = edited.load();
  const StudyInput input = input_of(transformer, maps.text());
  const Study study = study_many(input);
  Study ignored;
  measure_layers(
      input,
      [&](int layer, const AttentionProblem& problem, Progress*) {
        const AverageLoss loss = average_loss(problem, input.is_text);
        const Table& layers = table_of(study, "layers");
        EXPECT_NEAR(column(layers, "error")[static_cast<std::size_t>(layer)], loss.error, 1e-6);
        EXPECT_NEAR(column(layers, "even_error")[static_cast<std::size_t>(layer)], loss.even_error, 1e-6);
      },
      ignored);
}

TEST(CacheStudy, GivesTheSameBitsWithAndWithoutACache) {
  for (const std::string& name : model::model_names("decoder")) {
    SCOPED_TRACE(name);
    const Transformer transformer = Transformer::load(model::conformance("models") / name);
    StudyInput input{.transformer = &transformer, .ids = {}, .type_ids = {}, .is_text = {}, .options = {}};
    input.options.longest = 24;
    input.options.repetitions = 3;
    const Study study = study_cache(input);
    EXPECT_EQ(figure(study, "rows_changed"), 0);
    EXPECT_EQ(figure(study, "checked"), 6);
    EXPECT_EQ(figure(study, "same"), 6);
    const Table& table = table_of(study, "lengths");
    EXPECT_EQ(column(table, "n"), (std::vector<double>{16, 24}));
    const model::TransformerConfig& config = transformer.config();
    for (std::size_t i = 0; i < 2; ++i) {
      const double n = column(table, "n")[i];
      EXPECT_GT(column(table, "with_ms")[i], 0);
      EXPECT_GT(column(table, "without_ms")[i], 0);
      EXPECT_NEAR(column(table, "cache_kb")[i],
                  n * 8 * static_cast<double>(config.layers * config.kv_heads * config.head_width) / 1000, 1e-9);
      EXPECT_LT(column(table, "with_work")[i], column(table, "without_work")[i] / 3);
    }
  }
}

TEST(CacheStudy, SaysWhichLengthsThereAre) {
  const Transformer transformer = Transformer::load(model::conformance("models") / "gpt2");
  StudyInput input{.transformer = &transformer, .ids = {1, 2, 3}, .type_ids = {}, .is_text = {}, .options = {}};
  for (const std::int64_t longest : {std::int64_t{1}, transformer.config().max_positions + 1}) {
    input.options.longest = longest;
    try {
      study_cache(input);
      FAIL();
    } catch (const BadArgument& error) {
      EXPECT_NE(std::string(error.what()).find(std::to_string(transformer.config().max_positions)), std::string::npos);
    }
  }
}

// Stops after so many calls.
class StopAfter : public Progress {
 public:
  explicit StopAfter(int calls) : left_(calls) {}
  bool advance(std::int64_t done, std::int64_t total) override {
    EXPECT_GE(done, last_);
    EXPECT_LE(done, total);
    last_ = done;
    return left_-- > 0;
  }

 private:
  int left_;
  std::int64_t last_ = 0;
};

TEST(ModelStudies, KeepWhatIsDoneWhenStopped) {
  const Transformer transformer = Transformer::load(model::conformance("models") / "gpt2");
  const Text text{{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, {}};
  for (const auto& run : {study_context, study_many, study_cache}) {
    for (const int calls : {0, 1, 4, 7}) {
      StudyInput input = input_of(transformer, text);
      StopAfter stop(calls);
      input.options.progress = &stop;
      const Study study = run(input);
      EXPECT_FALSE(study.complete);
      for (const Table& table : study.tables) {
        for (const Column& values : table.columns) EXPECT_EQ(values.values.size(), table.columns[0].values.size());
      }
    }
    StudyInput input = input_of(transformer, text);
    StopAfter never(1'000'000);
    input.options.progress = &never;
    input.options.longest = 32;
    EXPECT_TRUE(run(input).complete);
  }
}

}  // namespace
}  // namespace sightline::analysis
