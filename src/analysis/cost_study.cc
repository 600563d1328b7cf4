#include "src/analysis/cost_study.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <limits>
#include <numeric>

#include "sightline/error.h"
#include "src/analysis/fit.h"
#include "src/analysis/lost_mass.h"
#include "src/analysis/model_cost.h"
#include "src/analysis/normal_numbers.h"
#include "src/analysis/patterns.h"
#include "src/analysis/study_progress.h"
#include "src/cpu/clock.h"

namespace sightline::analysis {
namespace {

constexpr std::int64_t kShortest = 1024, kLongest = 32768, kMost = 1 << 20;
constexpr std::int64_t kWidth = 64;  // of a head
constexpr int kRounds = 3;
constexpr double kTimedPairs = 1 << 22;  // that the calls of one timing go through at least: some milliseconds
constexpr double kLongPairs = 1u << 31;  // from here on a call is timed once: some 10 s
constexpr double kMassWork = 2;          // full and restricted log-sum-exps, beside a timed call

std::vector<std::int64_t> lengths_of(const StudyOptions& options) {
  const std::int64_t longest = options.longest > 0 ? options.longest : kLongest;
  if (longest < 2 * kShortest || longest > kMost) {
    throw BadArgument(fmt::format("study cost measures lengths from {} tokens on, up to {} to {}: --max is {}",
                                  kShortest, 2 * kShortest, kMost, longest));
  }
  std::vector<std::int64_t> lengths;
  for (std::int64_t n = kShortest; n < longest; n *= 2) lengths.push_back(n);
  lengths.push_back(longest);
  return lengths;
}

double causal_pairs(std::int64_t n) { return static_cast<double>(n) * static_cast<double>(n + 1) / 2; }

int rounds_of(const StudyOptions& options, std::int64_t n) {
  return options.repetitions > 0 ? options.repetitions : causal_pairs(n) < kLongPairs ? kRounds : 1;
}

// All patterns together, in pairs: full attention is most of it.
double work_of(const StudyOptions& options, std::int64_t n) {
  return std::max(causal_pairs(n), kTimedPairs) * 2 * (rounds_of(options, n) + kMassWork);
}

// One head of causal attention over n tokens.
class DrawnProblem {
 public:
  DrawnProblem(std::int64_t n, std::uint64_t seed) : n_(n), numbers_(static_cast<std::size_t>(4 * n * kWidth)) {
    NormalNumbers draw(seed);
    draw.fill(std::span(numbers_).first(static_cast<std::size_t>(3 * n * kWidth)));
  }

  AttentionProblem problem() const {
    AttentionProblem problem;
    problem.q = dense_view(part(0), shape());
    problem.k = dense_view(part(1), shape());
    problem.v = dense_view(part(2), shape());
    problem.causal = true;
    return problem;
  }
  MutableTensorView out() { return dense_view(numbers_.data() + 3 * n_ * kWidth, shape()); }
  std::size_t bytes() const { return numbers_.size() * sizeof(float); }

 private:
  std::array<std::int64_t, 4> shape() const { return {1, 1, n_, kWidth}; }
  const float* part(std::int64_t i) const { return numbers_.data() + i * n_ * kWidth; }

  std::int64_t n_;
  std::vector<float> numbers_;  // queries, keys, values, output
};

// What one length gives for one pattern.
struct Measured {
  double seconds = std::numeric_limits<double>::infinity();
  double bytes = 0, pairs = 0;
  LostMass lost;
};

void time_patterns(const std::deque<KeyPattern>& patterns, DrawnProblem& drawn, const StudyInput& input,
                   StudyProgress& progress, std::int64_t n, std::vector<Measured>& measured) {
  Workspace workspace;
  const int rounds = rounds_of(input.options, n);
  const double step = work_of(input.options, n) / (rounds + kMassWork) / static_cast<double>(patterns.size());
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t p = 0; p < patterns.size(); ++p) {
      const AttentionProblem problem = patterns[p].restricted(drawn.problem());
      progress.begin(step);
      const auto calls = static_cast<std::int64_t>(std::clamp(kTimedPairs / measured[p].pairs, 1.0, 64.0));
      const AttentionOptions options{.threads = 1, .workspace = &workspace, .progress = progress.hook()};
      const double begin = cpu::cpu_seconds();
      for (std::int64_t call = 0; call < calls; ++call) attention(problem, drawn.out(), {}, options);
      measured[p].seconds = std::min(measured[p].seconds, (cpu::cpu_seconds() - begin) / static_cast<double>(calls));
    }
  }
}

std::vector<Measured> measure_length(std::int64_t n, const StudyInput& input, StudyProgress& progress) {
  std::deque<KeyPattern> patterns;
  for (const PatternKind kind : kPatterns) patterns.emplace_back(kind, n, true);
  DrawnProblem drawn(n, input.options.seed);
  std::vector<Measured> measured(patterns.size());
  for (std::size_t p = 0; p < patterns.size(); ++p) {
    const AttentionProblem problem = patterns[p].restricted(drawn.problem());
    measured[p].pairs = patterns[p].pairs();
    measured[p].bytes = static_cast<double>(drawn.bytes() + patterns[p].bytes() +
                                            workspace_size(problem, drawn.out(), {}, {.threads = 1}));
  }
  time_patterns(patterns, drawn, input, progress, n, measured);
  const double step = work_of(input.options, n) * kMassWork / (rounds_of(input.options, n) + kMassWork) /
                      static_cast<double>(patterns.size());
  std::vector<float> full;
  for (std::size_t p = 0; p < patterns.size(); ++p) {
    progress.begin(step);
    const auto lse = row_lse(patterns[p].restricted(drawn.problem()), input.options.threads, progress.hook());
    if (p == 0) full = lse;
    measured[p].lost = lost_mass(full, lse);
  }
  return measured;
}

// A column for each pattern.
struct Aspect {
  const char* key;
  const char* title;
  const char* unit;
  int digits;
  bool timed;
  double (*value)(const Measured&);
};
constexpr Aspect kAspects[] = {
    {"time", "CPU time of one head on one thread", "ms", -3, true, [](const Measured& m) { return 1e3 * m.seconds; }},
    {"memory", "Memory: queries, keys, values, output, mask and workspace", "MiB", 2, false,
     [](const Measured& m) { return m.bytes / (1 << 20); }},
    {"pairs", "Pairs of a row and a key that it sees", "", 0, false, [](const Measured& m) { return m.pairs; }},
    {"lost_mean", "Weight lost, mean of the rows", "", 4, false, [](const Measured& m) { return m.lost.mean; }},
    {"lost_worst", "Weight lost, worst row", "", 4, false, [](const Measured& m) { return m.lost.worst; }},
};

std::vector<Table> empty_tables() {
  std::vector<Table> tables;
  for (const Aspect& aspect : kAspects) {
    Table& table = tables.emplace_back(Table{.key = aspect.key, .title = aspect.title, .labels = {}, .columns = {}});
    table.columns.push_back({.key = "tokens", .heading = "tokens", .digits = 0});
    for (const PatternKind kind : kPatterns) {
      table.columns.push_back({.key = std::string(pattern_key(kind)),
                               .heading = KeyPattern(kind, 1, true).name(),
                               .unit = aspect.unit,
                               .digits = aspect.digits,
                               .timed = aspect.timed});
    }
  }
  return tables;
}

void add_row(std::int64_t n, const std::vector<Measured>& measured, std::vector<Table>& tables) {
  for (std::size_t a = 0; a < std::size(kAspects); ++a) {
    tables[a].columns[0].values.push_back(static_cast<double>(n));
    for (std::size_t p = 0; p < measured.size(); ++p) {
      tables[a].columns[p + 1].values.push_back(kAspects[a].value(measured[p]));
    }
  }
}

// The exponents, and each pattern beside full attention at the longest length.
Table fit_table(const std::vector<Table>& tables) {
  Table fit{.key = "exponents", .title = "Fitted: cost grows as n to this power", .labels = {}, .columns = {}};
  fit.columns.push_back({.key = "time", .heading = "time", .digits = 2, .timed = true});
  fit.columns.push_back({.key = "memory", .heading = "memory", .digits = 2});
  fit.columns.push_back({.key = "pairs", .heading = "pairs", .digits = 2});
  fit.columns.push_back({.key = "time_share", .heading = "time of full", .digits = 4, .timed = true});
  fit.columns.push_back({.key = "pair_share", .heading = "pairs of full", .digits = 4});
  for (std::size_t p = 1; p <= kPatterns.size(); ++p) {
    fit.labels.push_back(tables[0].columns[p].heading);
    for (std::size_t a = 0; a < 3; ++a) {
      fit.columns[a].values.push_back(fitted_exponent(tables[a].columns[0].values, tables[a].columns[p].values));
    }
    fit.columns[3].values.push_back(tables[0].columns[p].values.back() / tables[0].columns[1].values.back());
    fit.columns[4].values.push_back(tables[2].columns[p].values.back() / tables[2].columns[1].values.back());
  }
  return fit;
}

Chart chart_of(const Table& table, const ChartAxis& y) {
  Chart chart;
  chart.title = table.title;
  chart.x = {"tokens", true};
  chart.y = y;
  for (std::size_t p = 1; p < table.columns.size(); ++p) {
    chart.series.push_back({table.columns[p].heading, table.columns[0].values, table.columns[p].values});
  }
  return chart;
}

void add_drawn(std::vector<Table>&& tables, Study& study) {
  if (tables.front().columns.front().values.empty()) return;
  study.charts.push_back(chart_of(tables[0], {"milliseconds of CPU time", true}));
  study.charts.push_back(chart_of(tables[3], {"share of the weight", false}));
  study.tables.push_back(fit_table(tables));
  std::ranges::move(tables, std::back_inserter(study.tables));
}

}  // namespace

Study study_cost(const StudyInput& input) {
  Study study;
  study.name = "cost";
  study.claim = kCostClaim;
  study.settings.push_back(fmt::format(
      "one head of width {}, causal, fp32, drawn from N(0, 1) with seed {}; time: the least of rounds by turns", kWidth,
      input.options.seed));
  const std::vector<std::int64_t> lengths = lengths_of(input.options);
  const bool with_text = input.transformer != nullptr && !input.ids.empty();
  double work = 0;
  for (const std::int64_t n : lengths) work += work_of(input.options, n);
  StudyProgress progress(input.options.progress, with_text ? 2 * work : work);
  std::vector<Table> tables = empty_tables();
  try {
    for (const std::int64_t n : lengths) add_row(n, measure_length(n, input, progress), tables);
    add_drawn(std::exchange(tables, empty_tables()), study);
    if (with_text) add_model_mass(input, progress, work, study);
  } catch (const Cancelled&) {
    study.complete = false;
    add_drawn(std::move(tables), study);
  }
  if (input.transformer != nullptr) add_paper_cost(input.transformer->config(), study);
  study.notes.push_back(
      "Weight lost is 1 - exp(lse of the pattern - lse of full attention), row by row: exact. Drawn keys are all "
      "alike, so that what is lost is what share of the pairs is hidden; of a text it is what the model looked at.");
  study.notes.push_back("What a lost weight did for the model's output is another question (docs/knockout.md).");
  return study;
}

}  // namespace sightline::analysis
