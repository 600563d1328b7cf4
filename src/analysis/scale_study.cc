#include "src/analysis/scale_study.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "src/analysis/normal_numbers.h"
#include "src/analysis/softmax_scale.h"
#include "src/analysis/study_progress.h"

namespace sightline::analysis {
namespace {

constexpr std::int64_t kKeys = 64, kBatches = 16;  // 1024 rows a width
constexpr std::int64_t kNarrowest = 4, kWidest = 1024;
constexpr std::int64_t kRows = 256;  // of a head of a model

// The columns that both tables have: of a row of means.
class SoftnessColumns {
 public:
  explicit SoftnessColumns(Table& table) : table_(table), first_(table.columns.size()) {
    table.columns.push_back({.key = "entropy_scaled", .heading = "entropy, scaled", .unit = "nats"});
    table.columns.push_back({.key = "entropy_plain", .heading = "not scaled", .unit = "nats"});
    table.columns.push_back({.key = "gradient_scaled", .heading = "gradient, scaled", .digits = 4});
    table.columns.push_back({.key = "gradient_plain", .heading = "not scaled", .digits = 4});
    table.columns.push_back({.key = "saturated_scaled", .heading = "saturated, scaled"});
    table.columns.push_back({.key = "saturated_plain", .heading = "not scaled"});
  }

  void add(const ScaleSums& mean) {
    const double values[] = {mean.scaled.entropy, mean.plain.entropy,    mean.scaled.gradient,
                             mean.plain.gradient, mean.scaled.saturated, mean.plain.saturated};
    for (std::size_t i = 0; i < std::size(values); ++i) table_.columns[first_ + i].values.push_back(values[i]);
  }

 private:
  Table& table_;
  std::size_t first_;
};

Chart chart_of(const Table& table, const std::string& key) {
  Chart chart;
  for (const char* kind : {"scaled", "plain"}) {
    const auto column = std::ranges::find(table.columns, key + "_" + kind, &Column::key);
    chart.series.push_back(
        {kind == std::string("plain") ? "not scaled" : kind, table.columns[0].values, column->values});
  }
  return chart;
}

void add_charts(const Table& table, const std::string& of, const ChartAxis& x, Study& study) {
  const auto add = [&](const char* key, const std::string& title, const ChartAxis& y) {
    Chart& chart = study.charts.emplace_back(chart_of(table, key));
    chart.title = title + ", " + of;
    chart.x = x;
    chart.y = y;
  };
  add("entropy", "Entropy of the softmax", {"nats", false});
  add("gradient", "Norm of its gradient", {"Frobenius norm", true});
  add("saturated", "Saturated rows", {"share of the rows", false});
}

void measure_drawn(const StudyInput& input, StudyProgress& progress, Study& study) {
  Table& table = study.tables.emplace_back(Table{.key = "drawn",
                                                 .title = fmt::format("Queries and keys from N(0, 1), {} keys", kKeys),
                                                 .labels = {},
                                                 .columns = {}});
  table.columns.push_back({.key = "d", .heading = "width d", .digits = 0});
  table.columns.push_back({.key = "variance", .heading = "variance of q.k", .digits = 1});
  SoftnessColumns columns(table);
  NormalNumbers draw(input.options.seed);
  for (std::int64_t d = kNarrowest; d <= kWidest; d *= 2) {
    progress.begin(static_cast<double>(d));
    const ScaleSums sums = drawn_scale_sums(d, kKeys, kBatches, draw);
    table.columns[0].values.push_back(static_cast<double>(d));
    table.columns[1].values.push_back(sums.variance());
    columns.add(sums.mean());
  }
}

// Sums over the heads of each layer, as a pass goes on.
class ScaleObserver : public model::AttentionObserver {
 public:
  // work: of a head.
  ScaleObserver(StudyProgress& progress, double work) : progress_(progress), work_(work) {}

  Observations request(const model::LayerAttention&) override { return {}; }
  void done(const model::LayerAttention& call) override {
    ScaleSums layer;
    for (std::int64_t head = 0; head < call.problem.q.shape[1]; ++head) {
      progress_.begin(work_);
      layer.add(head_scale_sums(call.problem, head, kRows));
    }
    layers_.push_back(layer);
  }

  const std::vector<ScaleSums>& layers() const { return layers_; }

 private:
  StudyProgress& progress_;
  double work_;
  std::vector<ScaleSums> layers_;
};

void add_model_table(const ScaleObserver& observer, std::int64_t tokens, Study& study) {
  if (observer.layers().empty()) return;
  Table& table =
      study.tables.emplace_back(Table{.key = "model",
                                      .title = fmt::format("The model's own queries and keys, {} tokens", tokens),
                                      .labels = {},
                                      .columns = {}});
  table.columns.push_back({.key = "layer", .heading = "layer", .digits = 0});
  table.columns.push_back({.key = "variance", .heading = "variance of q.k", .digits = 1});
  SoftnessColumns columns(table);
  for (std::size_t layer = 0; layer < observer.layers().size(); ++layer) {
    table.columns[0].values.push_back(static_cast<double>(layer + 1));
    table.columns[1].values.push_back(observer.layers()[layer].variance());
    columns.add(observer.layers()[layer].mean());
  }
  add_charts(table, "of the model", {"layer", false, true}, study);
  study.notes.push_back(
      "Of the model: means over its heads and over rows evenly apart, at most 256 a head. It was trained with its "
      "scale: without one it is another model, and training would have kept its dots smaller.");
}

void measure_model(const StudyInput& input, StudyProgress& progress, double work, Study& study) {
  const model::TransformerConfig& config = input.transformer->config();
  const std::int64_t tokens = std::ssize(input.ids);
  study.settings.push_back(
      fmt::format("the model's scale is {:.6g}",
                  config.attention_scale.value_or(1 / std::sqrt(static_cast<float>(config.head_width)))));
  ScaleObserver observer(progress, work / static_cast<double>(config.layers * config.query_heads));
  const model::TokenSequence text{input.ids, input.type_ids};
  try {
    input.transformer->forward({&text, 1}, {.threads = input.options.threads, .observer = &observer});
  } catch (const Cancelled&) {
    add_model_table(observer, tokens, study);
    throw;
  }
  add_model_table(observer, tokens, study);
}

void add_figures(Study& study) {
  const Table& drawn = study.tables.front();
  if (drawn.columns.back().values.empty()) return;
  const auto last = [&](std::size_t column) { return drawn.columns[column].values.back(); };
  study.figures.push_back({"entropy_uniform", fmt::format("entropy of {} equal weights, the most there is", kKeys),
                           "nats", std::log(static_cast<double>(kKeys))});
  study.figures.push_back({"gradient_ratio",
                           fmt::format("gradient kept by the scale at d = {:.0f}, times that without it", last(0)), "",
                           last(4) / last(5), 1});
  study.figures.push_back({"saturated_plain",
                           fmt::format("rows that are saturated at d = {:.0f} without the scale", last(0)), "",
                           last(7)});
  study.figures.push_back({"saturated_scaled", "and with it", "", last(6)});
}

}  // namespace

Study study_scale(const StudyInput& input) {
  Study study;
  study.name = "scale";
  study.claim = kScaleClaim;
  study.settings.push_back(
      fmt::format("means over {} rows of {} keys a width, fp64, seed {}", kBatches * kKeys, kKeys, input.options.seed));
  study.settings.push_back("gradient: Frobenius norm of diag(w) - w w^T, by which a row's weights follow its scores");
  const bool with_model = input.transformer != nullptr && !input.ids.empty();
  constexpr double kDrawn = 2 * kWidest - kNarrowest;
  study.settings.push_back(fmt::format("saturated: the share of rows in which one weight is above {}", kSaturated));
  StudyProgress progress(input.options.progress, with_model ? 2 * kDrawn : kDrawn);
  try {
    measure_drawn(input, progress, study);
    add_charts(study.tables.front(), "drawn", {"width d", true}, study);
    if (with_model) measure_model(input, progress, kDrawn, study);
  } catch (const Cancelled&) {
    study.complete = false;
  }
  add_figures(study);
  if (input.transformer != nullptr && !with_model) {
    study.notes.push_back("Give a text to see the model's own queries and keys.");
  }
  return study;
}

}  // namespace sightline::analysis
