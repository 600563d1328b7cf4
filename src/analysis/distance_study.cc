#include "src/analysis/distance_study.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>

#include "sightline/error.h"
#include "src/analysis/planted_key.h"
#include "src/analysis/study_progress.h"
#include "src/cpu/clock.h"

namespace sightline::analysis {
namespace {

constexpr std::int64_t kShortest = 512, kLongest = 8192, kMost = 1 << 20;
constexpr std::int64_t kNear = 13,
                       kFar = 3;  // the nearest key stands so many from the end, the farthest from the start
constexpr int kPositions = 9;
constexpr int kRepetitions = 20;
constexpr std::int64_t kTimedKeys = 1 << 18;  // that the calls of one timing read: some milliseconds
constexpr std::int64_t kWindow = 128;         // keys a row of the window sees, its own counted

std::vector<std::int64_t> lengths_of(const StudyOptions& options) {
  const std::int64_t longest = options.longest > 0 ? options.longest : kLongest;
  if (longest < kShortest || longest > kMost) {
    throw BadArgument(fmt::format("--max is {}: the longest that study distance measures can be {} to {} tokens",
                                  longest, kShortest, kMost));
  }
  std::vector<std::int64_t> lengths;
  for (std::int64_t n = kShortest; n < longest; n *= 4) lengths.push_back(n);
  lengths.push_back(longest);
  return lengths;
}

// From key 3 to the 13th from the end, evenly.
std::vector<std::int64_t> positions_of(std::int64_t n) {
  std::vector<std::int64_t> positions;
  for (int i = 0; i < kPositions; ++i) positions.push_back(kFar + (n - kNear - kFar) * i / (kPositions - 1));
  return positions;
}

// Seconds of CPU time of a call, the least of several rounds. Every round goes through all positions, forth and back by
// turns, so that what slows the machine down meets all alike.
std::vector<double> time_calls(std::deque<PlantedKey>& problems, std::int64_t calls, int rounds,
                               StudyProgress& progress, double work) {
  std::vector<double> best(problems.size(), std::numeric_limits<double>::infinity());
  for (int round = 0; round < rounds; ++round) {
    progress.begin(work / rounds);
    for (std::size_t i = 0; i < problems.size(); ++i) {
      const std::size_t at = round % 2 == 0 ? i : problems.size() - 1 - i;
      const double begin = cpu::cpu_seconds();
      for (std::int64_t call = 0; call < calls; ++call) problems[at].read();
      best[at] = std::min(best[at], (cpu::cpu_seconds() - begin) / static_cast<double>(calls));
    }
  }
  return best;
}

Table empty_table(std::int64_t n) {
  Table table{.key = fmt::format("keys_{}", n),
              .title = fmt::format("The last of {} tokens reads one key", n),
              .labels = {},
              .columns = {}};
  table.columns.push_back({.key = "position", .heading = "key", .digits = 0});
  table.columns.push_back({.key = "steps", .heading = "steps back", .digits = 0});
  table.columns.push_back({.key = "window_layers", .heading = "windows", .digits = 0});
  table.columns.push_back({.key = "weight", .heading = "weight", .digits = 7});
  table.columns.push_back({.key = "error", .heading = "error", .digits = -2});
  table.columns.push_back({.key = "microseconds", .heading = "time", .unit = "us", .digits = -3, .timed = true});
  return table;
}

void measure_length(std::int64_t n, const StudyInput& input, StudyProgress& progress, Study& study) {
  NormalNumbers draw(input.options.seed);
  const std::vector<std::int64_t> positions = positions_of(n);
  std::deque<PlantedKey> problems;
  for (const std::int64_t position : positions) problems.emplace_back(n, position, draw);
  const int rounds = input.options.repetitions > 0 ? input.options.repetitions : kRepetitions;
  const std::int64_t calls = std::max<std::int64_t>(1, kTimedKeys / n);
  const std::vector<double> seconds =
      time_calls(problems, calls, rounds, progress, static_cast<double>(std::max(kTimedKeys, n)));
  Table table = empty_table(n);
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const std::int64_t steps = n - 1 - positions[i];
    const double values[] = {static_cast<double>(positions[i]),
                             static_cast<double>(steps),
                             static_cast<double>(window_layers(steps, kWindow)),
                             static_cast<double>(problems[i].weight()),
                             problems[i].error(),
                             1e6 * seconds[i]};
    for (std::size_t c = 0; c < std::size(values); ++c) table.columns[c].values.push_back(values[c]);
  }
  study.tables.push_back(std::move(table));
}

void add_figures(Study& study) {
  double off = 0, error = 0;
  for (const Table& table : study.tables) {
    for (const double weight : table.columns[3].values) off = std::max(off, std::abs(weight - PlantedKey::kWeight));
    error = std::max(error, std::ranges::max(table.columns[4].values));
    const std::vector<double>& times = table.columns[5].values;
    study.figures.push_back({table.key + "_ratio", table.title + ": the farthest takes, times the nearest", "",
                             times.front() / times.back(), 3, true});
  }
  study.figures.push_back({"weight_error", "largest distance of a weight from 3/4", "", off, -2});
  study.figures.push_back({"output_error", "largest error of an output, as a share of it", "", error, -2});
}

void add_chart(Study& study) {
  Chart chart;
  chart.title = "Time to read one key";
  chart.x = {"steps back", true};
  chart.y = {"microseconds of CPU time", true};
  for (const Table& table : study.tables) {
    chart.series.push_back({table.key.substr(5) + " tokens", table.columns[1].values, table.columns[5].values});
  }
  study.charts.push_back(std::move(chart));
}

}  // namespace

std::int64_t window_layers(std::int64_t steps, std::int64_t window) { return (steps + window - 2) / (window - 1); }

Study study_distance(const StudyInput& input) {
  Study study;
  study.name = "distance";
  study.claim = kDistanceClaim;
  study.settings.push_back(fmt::format(
      "one query over n keys of width {}; one key has weight 3/4 by its score, all others have score 0 and value 0",
      PlantedKey::kWidth));
  study.settings.push_back("time: CPU time of a call on one thread, the least of rounds that visit all keys by turns");
  study.settings.push_back(fmt::format(
      "steps back: what a step-by-step recurrence carries the key over; windows: layers with a window of {} that it "
      "takes to get there",
      kWindow));
  const std::vector<std::int64_t> lengths = lengths_of(input.options);
  double work = 0;
  for (const std::int64_t n : lengths) work += static_cast<double>(std::max(kTimedKeys, n));
  StudyProgress progress(input.options.progress, work);
  try {
    for (const std::int64_t n : lengths) measure_length(n, input, progress, study);
  } catch (const Cancelled&) {
    study.complete = false;
  }
  if (study.tables.empty()) return study;
  add_figures(study);
  add_chart(study);
  study.notes.push_back(
      "Reading is alike at any distance; whether a model's weights find the key at a distance is another question "
      "(study context).");
  return study;
}

}  // namespace sightline::analysis
