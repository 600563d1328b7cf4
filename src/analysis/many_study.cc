#include "src/analysis/many_study.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "src/analysis/average_heads.h"
#include "src/analysis/layer_measure.h"
#include "src/model/transformer_impl.h"

namespace sightline::analysis {
namespace {

Table empty_table() {
  Table table{.key = "layers", .title = "Each layer, its heads' maps against their mean"};
  table.columns.push_back({.key = "divergence", .heading = "divergence", .unit = "nats"});
  table.columns.push_back({.key = "divergence_share", .heading = "of the most there is"});
  table.columns.push_back({.key = "same_top", .heading = "same top key"});
  table.columns.push_back({.key = "top_on_text", .heading = "top key is text"});
  table.columns.push_back({.key = "error", .heading = "error by the mean"});
  table.columns.push_back({.key = "even_error", .heading = "by an even look"});
  return table;
}

void add_row(int layer, const AverageLoss& loss, double most, Table& table) {
  const double share = most > 0 ? loss.divergence / most : std::numeric_limits<double>::quiet_NaN();
  const double values[] = {loss.divergence, share, loss.same_top, loss.top_on_text, loss.error, loss.even_error};
  table.labels.push_back(fmt::format("layer {}", layer + 1));
  for (std::size_t i = 0; i < std::size(values); ++i) table.columns[i].values.push_back(values[i]);
}

double mean(const std::vector<double>& values) {
  return std::reduce(values.begin(), values.end()) / static_cast<double>(values.size());
}

void add_figures(double most, Study& study) {
  const Table& table = study.tables.front();
  study.figures.push_back({"bound", "the most that the divergence can be, ln of the number of heads", "nats", most});
  if (table.labels.empty()) return;
  study.figures.push_back({"divergence", "divergence, mean over layers", "nats", mean(table.columns[0].values)});
  study.figures.push_back({"same_top", "share of heads and rows whose top key is the mean's, over all layers", "",
                           mean(table.columns[2].values)});
  study.figures.push_back({"error", "relative error of a layer's attention output by the mean map, mean over layers",
                           "", mean(table.columns[4].values)});
  study.figures.push_back(
      {"even_error", "the same by an even look, which needs no map", "", mean(table.columns[5].values)});
}

ChartSeries over_layers(const std::string& name, const std::vector<double>& values) {
  ChartSeries series{name, std::vector<double>(values.size()), values};
  std::iota(series.x.begin(), series.x.end(), 1);
  return series;
}

void add_charts(double most, Study& study) {
  const Table& table = study.tables.front();
  const std::vector<double> bound(table.labels.size(), most);
  study.charts.push_back({"Jensen-Shannon divergence of the heads of a layer",
                          {"layer", false, true},
                          {"nats", false},
                          {over_layers("heads", table.columns[0].values), over_layers("the most there is", bound)}});
  study.charts.back().series.back().baseline = true;
  study.charts.push_back({"Error of the layer's attention output",
                          {"layer", false, true},
                          {"relative to its norm", false},
                          {over_layers("by the mean map", table.columns[4].values),
                           over_layers("by an even look", table.columns[5].values)}});
  study.charts.back().series.back().baseline = true;
}

}  // namespace

Study study_many(const StudyInput& input) {
  Study study;
  study.name = "many";
  study.claim = kManyClaim;
  const model::TransformerConfig& config = input.transformer->config();
  const model::Weights& weights = input.transformer->impl().weights;
  const double most = std::log(static_cast<double>(config.query_heads));
  study.settings.push_back(fmt::format("{} tokens, {} of them text; means over the rows of these, {} heads a layer",
                                       input.ids.size(), std::ranges::count(input.is_text, true), config.query_heads));
  study.settings.push_back("divergence: entropy of the mean of the heads' rows, less the mean of their entropies");
  study.settings.push_back(
      "error: of the layer's attention output, ||by that map - own|| / ||own||, each head with its own values");
  study.tables.push_back(empty_table());
  const auto measure = [&](int layer, const AttentionProblem& problem, Progress* progress) {
    const AverageOptions options{.output = &weights.layer(layer, config).attention.output,
                                 .threads = input.options.threads,
                                 .progress = progress};
    add_row(layer, average_loss(problem, input.is_text, options), most, study.tables.front());
  };
  measure_layers(input, measure, study);
  add_figures(most, study);
  add_charts(most, study);
  study.notes.push_back(
      "Each layer is measured by itself, on what the whole model gives it: errors of earlier layers are not carried "
      "on.");
  study.notes.push_back(
      "A head that rests on a special token agrees with others that do: see how many top keys are text.");
  return study;
}

}  // namespace sightline::analysis
