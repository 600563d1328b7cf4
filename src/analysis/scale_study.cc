#include "src/analysis/scale_study.h"

#include <fmt/format.h>

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
  }

  void add(const ScaleSums& mean) {
    const double values[] = {mean.scaled.entropy, mean.plain.entropy, mean.scaled.gradient, mean.plain.gradient};
    for (std::size_t i = 0; i < std::size(values); ++i) table_.columns[first_ + i].values.push_back(values[i]);
  }

 private:
  Table& table_;
  std::size_t first_;
};

ChartSeries series_of(const Table& table, const std::string& key, const std::string& name) {
  ChartSeries series{name, table.columns.front().values, {}};
  for (const Column& column : table.columns) {
    if (column.key == key) series.y = column.values;
  }
  return series;
}

void add_charts(const Table& table, const std::string& of, const ChartAxis& x, Study& study) {
  study.charts.push_back(
      {"Entropy of the softmax, " + of,
       x,
       {"nats", false},
       {series_of(table, "entropy_scaled", "scaled"), series_of(table, "entropy_plain", "not scaled")}});
  study.charts.push_back(
      {"Norm of its gradient, " + of,
       x,
       {"Frobenius norm", true},
       {series_of(table, "gradient_scaled", "scaled"), series_of(table, "gradient_plain", "not scaled")}});
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

void add_figures(Study& study) {
  const Table& drawn = study.tables.front();
  if (drawn.columns.back().values.empty()) return;
  const auto last = [&](std::size_t column) { return drawn.columns[column].values.back(); };
  study.figures.push_back({"entropy_uniform", fmt::format("entropy of {} equal weights, the most there is", kKeys),
                           "nats", std::log(static_cast<double>(kKeys))});
  study.figures.push_back({"gradient_ratio",
                           fmt::format("gradient kept by the scale at d = {:.0f}, times that without it", last(0)), "",
                           last(4) / last(5), 1});
}

}  // namespace

Study study_scale(const StudyInput& input) {
  Study study;
  study.name = "scale";
  study.claim = kScaleClaim;
  study.settings.push_back(
      fmt::format("means over {} rows of {} keys a width, fp64, seed {}", kBatches * kKeys, kKeys, input.options.seed));
  study.settings.push_back("gradient: Frobenius norm of diag(w) - w w^T, by which a row's weights follow its scores");
  StudyProgress progress(input.options.progress, 2.0 * kWidest);
  try {
    measure_drawn(input, progress, study);
  } catch (const Cancelled&) {
    study.complete = false;
  }
  add_figures(study);
  add_charts(study.tables.front(), "drawn", {"width d", true}, study);
  return study;
}

}  // namespace sightline::analysis
