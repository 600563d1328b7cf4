#include "src/analysis/model_cost.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "sightline/error.h"
#include "src/analysis/lost_mass.h"
#include "src/analysis/paper_cost.h"
#include "src/generation/decoding.h"

namespace sightline::analysis {
namespace {

using model::TransformerConfig;

constexpr std::int64_t kFrom = 1024, kTo = 131072;
constexpr std::int64_t kShortWindow = 16;

Table operations_table(const TransformerConfig& config) {
  Table table{.key = "operations",
              .title = "On paper: billions of floating-point operations (a multiplication and an addition are two)",
              .labels = {},
              .columns = {}};
  table.columns.push_back({.key = "tokens", .heading = "tokens", .digits = 0});
  table.columns.push_back({.key = "attention", .heading = "text: attention", .digits = -4});
  table.columns.push_back({.key = "rest", .heading = "text: the rest", .digits = -4});
  table.columns.push_back({.key = "attention_share", .heading = "attention's share", .digits = 3});
  if (config.causal) {
    table.columns.push_back({.key = "token_attention", .heading = "last token: attention", .digits = -4});
    table.columns.push_back({.key = "token_rest", .heading = "last token: the rest", .digits = -4});
  }
  for (std::int64_t n = kFrom; n <= kTo; n *= 2) {
    const PaperCost pass = pass_cost(config, n), token = token_cost(config, n);
    const double values[] = {static_cast<double>(n), pass.attention / 1e9,
                             pass.rest / 1e9,        pass.attention / (pass.attention + pass.rest),
                             token.attention / 1e9,  token.rest / 1e9};
    for (std::size_t c = 0; c < table.columns.size(); ++c) table.columns[c].values.push_back(values[c]);
  }
  return table;
}

Table cache_table(const TransformerConfig& config) {
  Table table{.key = "cache",
              .title = "On paper: MiB of keys and values, by the type that the cache keeps them in",
              .labels = {},
              .columns = {}};
  table.columns.push_back({.key = "tokens", .heading = "tokens", .digits = 0});
  for (const CacheType& type : kCacheTypes) {
    table.columns.push_back(
        {.key = std::string(type.name), .heading = std::string(type.name), .unit = "MiB", .digits = -4});
  }
  for (std::int64_t n = kFrom; n <= kTo; n *= 2) {
    table.columns[0].values.push_back(static_cast<double>(n));
    for (std::size_t i = 0; i < std::size(kCacheTypes); ++i) {
      const model::ContextOptions cache{.keys = kCacheTypes[i].dtype, .values = kCacheTypes[i].dtype};
      table.columns[i + 1].values.push_back(static_cast<double>(cache_bytes(config, n, cache)) / (1 << 20));
    }
  }
  return table;
}

void add_crossing(const TransformerConfig& config, const std::string& key, const std::string& name,
                  PaperCost (*cost)(const TransformerConfig&, std::int64_t), Study& study) {
  const auto at = crossing([&](std::int64_t n) { return cost(config, n); });
  if (!at) {
    study.notes.push_back(name + ": never, as every layer has a window");
    return;
  }
  study.figures.push_back({key, name, "tokens", static_cast<double>(*at), 0});
  if (*at > config.max_positions) {
    study.notes.push_back(fmt::format("{}: at {} tokens, and the model takes {}", name, *at, config.max_positions));
  }
}

// Where a row sees the whole text of a short one, a window of 512 would hide nothing.
PatternSizes sizes_for(std::int64_t tokens) {
  PatternSizes sizes;
  sizes.window = std::clamp(tokens / 4, kShortWindow, sizes.window);
  return sizes;
}

Table mass_table(const MassObserver& observer, std::int64_t tokens) {
  Table table{.key = "model_mass",
              .title = fmt::format("Weight lost on the model's own queries and keys, {} tokens", tokens),
              .labels = {},
              .columns = {}};
  table.columns.push_back({.key = "layer", .heading = "layer", .digits = 0});
  for (const KeyPattern& pattern : observer.patterns()) {
    const std::string key(pattern_key(pattern.kind()));
    table.columns.push_back({.key = key + "_mean", .heading = pattern.name() + ", mean", .digits = 4});
    table.columns.push_back({.key = key + "_worst", .heading = "worst row", .digits = 4});
  }
  for (std::size_t layer = 0; layer < observer.layers().size(); ++layer) {
    table.columns[0].values.push_back(static_cast<double>(layer + 1));
    for (std::size_t p = 0; p < observer.patterns().size(); ++p) {
      table.columns[1 + 2 * p].values.push_back(observer.layers()[layer][p].mean);
      table.columns[2 + 2 * p].values.push_back(observer.layers()[layer][p].worst);
    }
  }
  return table;
}

void add_mass_chart(const Table& table, const MassObserver& observer, Study& study) {
  Chart chart;
  chart.title = "Weight lost on the text, mean of a layer";
  chart.x = {"layer", false, true};
  chart.y = {"share of the weight", false};
  for (std::size_t p = 0; p < observer.patterns().size(); ++p) {
    chart.series.push_back({observer.patterns()[p].name(), table.columns[0].values, table.columns[1 + 2 * p].values});
  }
  study.charts.push_back(std::move(chart));
}

void add_mass_figures(const Table& table, const MassObserver& observer, Study& study) {
  for (std::size_t p = 0; p < observer.patterns().size(); ++p) {
    const KeyPattern& pattern = observer.patterns()[p];
    double sum = 0;
    for (const double mean : table.columns[1 + 2 * p].values) sum += mean;
    study.figures.push_back({"model_mass_" + std::string(pattern_key(pattern.kind())),
                             fmt::format("{}: weight lost on the text, mean of all layers", pattern.name()), "",
                             sum / static_cast<double>(observer.layers().size()), 4});
  }
}

}  // namespace

void add_paper_cost(const TransformerConfig& config, Study& study) {
  study.tables.push_back(operations_table(config));
  add_crossing(config, "crossing_text", "a whole text: attention takes as much as the rest", pass_cost, study);
  if (!config.causal) return;
  add_crossing(config, "crossing_token", "one more token: attention takes as much as the rest", token_cost, study);
  study.tables.push_back(cache_table(config));
}

void add_model_mass(const StudyInput& input, StudyProgress& progress, double work, Study& study) {
  const TransformerConfig& config = input.transformer->config();
  const std::int64_t tokens = std::ssize(input.ids);
  const double calls = static_cast<double>(config.layers * MassObserver::kCalls);
  MassObserver observer(tokens, config.causal, sizes_for(tokens), input.options.threads, progress, work / calls);
  const auto add = [&] {
    if (observer.layers().empty()) return;
    Table table = mass_table(observer, tokens);
    add_mass_chart(table, observer, study);
    add_mass_figures(table, observer, study);
    study.tables.push_back(std::move(table));
  };
  const model::TokenSequence text{input.ids, input.type_ids};
  try {
    input.transformer->forward({&text, 1},
                               {.threads = input.options.threads, .observer = &observer, .progress = progress.hook()});
  } catch (const Cancelled&) {
    add();
    throw;
  }
  add();
}

}  // namespace sightline::analysis
