#include "src/analysis/context_study.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "src/analysis/layer_measure.h"
#include "src/analysis/reach.h"

namespace sightline::analysis {
namespace {

constexpr double kShares[] = {0.5, 0.9, 0.99};
constexpr double kNear = 10;  // tokens

std::string percent(double share) { return fmt::format("{:g} %", 100 * share); }
std::string percent_key(double share) { return fmt::format("{:g}", 100 * share); }

double median(std::vector<double> values) {
  std::erase_if(values, [](double value) { return std::isnan(value); });
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

// What was measured of a layer.
struct LayerReach {
  std::int64_t window = 0;  // 0: all
  std::vector<Reach> heads;

  Reach sum() const {
    Reach all;
    for (const Reach& head : heads) all.add(head);
    return all;
  }
};

class ContextStudy {
 public:
  explicit ContextStudy(const StudyInput& input) : input_(input) {
    study_.name = "context";
    study_.claim = kContextClaim;
  }

  Study run() {
    measure_layers(
        input_, [this](int, const AttentionProblem& problem, Progress* progress) { measure(problem, progress); },
        study_);
    add_settings();
    add_layers();
    for (const double share : {0.5, 0.9}) add_grid(share);
    add_heads();
    add_figures();
    add_chart("text", "Weight on text within a distance", &Reach::text);
    add_chart("all", "Weight on all keys within a distance", &Reach::all);
    add_notes();
    return std::move(study_);
  }

 private:
  void measure(const AttentionProblem& problem, Progress* progress) {
    const std::int64_t window = problem.window_left + 1;
    if (!even_.contains(window)) {
      even_[window] = even_reach(problem, input_.is_text, input_.options.threads, nullptr);
    }
    layers_.push_back({window, layer_reach(problem, input_.is_text, input_.options.threads, progress)});
  }

  void add_settings() {
    const auto text = std::ranges::count(input_.is_text, true);
    study_.settings.push_back(fmt::format(
        "{} tokens, {} of them text; means over the rows of these, every map read whole", input_.ids.size(), text));
    study_.settings.push_back(
        "distance: tokens between a row and a key; special tokens, and a first token that stands for them, are not "
        "text");
    study_.settings.push_back("even: a row that gives all that it sees the same weight");
  }

  void add_layers() {
    Table table{.key = "layers", .title = "Tokens within which parts of a layer's weight on text lie"};
    table.columns.push_back({.key = "window", .heading = "window", .digits = 0});
    for (const char* of : {"text", "even"}) {
      for (const double share : kShares) {
        table.columns.push_back({.key = fmt::format("{}_{}", of, percent_key(share)),
                                 .heading = (of[0] == 'e' ? "even, " : "") + percent_key(share) + "%",
                                 .digits = 0});
      }
    }
    for (std::size_t layer = 0; layer < layers_.size(); ++layer) {
      const std::int64_t window = layers_[layer].window;
      table.labels.push_back(fmt::format("layer {}", layer + 1));
      table.columns[0].values.push_back(window > 0 ? static_cast<double>(window)
                                                   : std::numeric_limits<double>::quiet_NaN());
      const Distances of_layer = layers_[layer].sum().text, &even = even_.at(window).text;
      for (std::size_t i = 0; i < std::size(kShares); ++i) {
        table.columns[1 + i].values.push_back(of_layer.within(kShares[i]));
        table.columns[1 + std::size(kShares) + i].values.push_back(even.within(kShares[i]));
      }
    }
    study_.tables.push_back(std::move(table));
  }

  // A row a layer, a column a head.
  void add_grid(double share) {
    Table table{.key = "grid_" + percent_key(share),
                .title = fmt::format("Tokens within which {} of a head's weight on text lies", percent(share))};
    for (std::size_t layer = 0; layer < layers_.size(); ++layer) {
      table.labels.push_back(fmt::format("L{}", layer + 1));
      table.columns.resize(std::max(table.columns.size(), layers_[layer].heads.size()));
      for (std::size_t head = 0; head < layers_[layer].heads.size(); ++head) {
        table.columns[head].values.push_back(layers_[layer].heads[head].text.within(share));
      }
    }
    for (std::size_t head = 0; head < table.columns.size(); ++head) {
      table.columns[head].key = fmt::format("h{}", head + 1);
      table.columns[head].heading = fmt::format("H{}", head + 1);
      table.columns[head].digits = 0;
    }
    study_.tables.push_back(std::move(table));
  }

  void add_heads() {
    Table table{.key = "heads",
                .title =
                    "Of every head: mean distance, and tokens within which parts of its weight lie; on all keys, "
                    "then on text"};
    table.columns.push_back({.key = "aside", .heading = "weight not on text"});
    for (const char* of : {"all", "text"}) {
      table.columns.push_back({.key = fmt::format("{}_mean", of), .heading = fmt::format("{}, mean", of), .digits = 1});
      for (const double share : kShares) {
        table.columns.push_back(
            {.key = fmt::format("{}_{}", of, percent_key(share)), .heading = percent_key(share) + "%", .digits = 0});
      }
    }
    for (std::size_t layer = 0; layer < layers_.size(); ++layer) {
      for (std::size_t head = 0; head < layers_[layer].heads.size(); ++head) {
        table.labels.push_back(head_label(static_cast<std::int64_t>(layer), static_cast<std::int64_t>(head)));
        const Reach& reach = layers_[layer].heads[head];
        std::vector<double> values = {1 - reach.text.total() / reach.all.total()};
        for (const Distances* of : {&reach.all, &reach.text}) {
          values.push_back(of->mean());
          for (const double share : kShares) values.push_back(of->within(share));
        }
        for (std::size_t i = 0; i < values.size(); ++i) table.columns[i].values.push_back(values[i]);
      }
    }
    study_.tables.push_back(std::move(table));
  }

  // Of all heads, by the table of heads; of an even look in the layers that see most.
  void add_figures() {
    if (layers_.empty()) return;
    const Table& heads = study_.tables.back();
    const auto column = [&](const std::string& key) {
      return std::ranges::find(heads.columns, key, &Column::key)->values;
    };
    const Distances& even = even_.contains(0) ? even_.at(0).text : even_.rbegin()->second.text;
    for (const double share : {0.5, 0.9}) {
      const std::string key = percent_key(share);
      study_.figures.push_back({"median_" + key,
                                fmt::format("{} of the weight on text, median over heads, lies within", percent(share)),
                                "tokens", median(column("text_" + key)), 1});
      study_.figures.push_back(
          {"even_" + key, fmt::format("of an even look, {} within", percent(share)), "tokens", even.within(share), 0});
    }
    const std::vector<double> reach = column("text_90");
    const auto share_of = [&](const auto& holds) {
      return static_cast<double>(std::ranges::count_if(reach, holds)) / static_cast<double>(reach.size());
    };
    study_.figures.push_back({"near_heads", fmt::format("share of heads with 90 % of it within {:.0f} tokens", kNear),
                              "", share_of([](double tokens) { return tokens <= kNear; })});
    study_.figures.push_back({"far_heads", "share of heads that look further than an even look (90 %)", "",
                              share_of([&](double tokens) { return tokens > even.within(0.9); })});
  }

  void add_chart(const std::string& what, const std::string& title, Distances Reach::*side) {
    Chart chart{title + (what == "text" ? ", all heads of a layer" : ", special tokens counted"),
                {"distance, tokens", true},
                {"share of the weight", false},
                {}};
    for (const auto& [window, reach] : even_) {
      chart.series.push_back(curve(window > 0 ? fmt::format("even, window {}", window) : "even", reach.*side));
      chart.series.back().baseline = true;
    }
    for (std::size_t layer = 0; layer < layers_.size(); ++layer) {
      chart.series.push_back(curve(fmt::format("layer {}", layer + 1), layers_[layer].sum().*side));
    }
    study_.charts.push_back(std::move(chart));
  }

  // At doublings, and where the text ends.
  ChartSeries curve(const std::string& name, const Distances& distances) const {
    const auto last = std::ssize(input_.ids) - 1;
    ChartSeries series{name, {}, {}};
    for (std::int64_t distance = 1; distance < 2 * last; distance *= 2) {
      series.x.push_back(static_cast<double>(std::min(distance, last)));
      series.y.push_back(distances.share(distance));
    }
    return series;
  }

  void add_notes() {
    study_.notes.push_back(
        "A row sees no further than the text's beginning, or its end: an even look says how far rows could look.");
    study_.notes.push_back(
        "Weight that lies near does not say that what it brings comes from near: a token's vector holds what earlier "
        "layers brought it.");
  }

  const StudyInput& input_;
  Study study_;
  std::vector<LayerReach> layers_;
  std::map<std::int64_t, Reach> even_;  // by window
};

}  // namespace

Study study_context(const StudyInput& input) { return ContextStudy(input).run(); }

}  // namespace sightline::analysis
