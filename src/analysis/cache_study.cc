#include "src/analysis/cache_study.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "sightline/error.h"
#include "src/analysis/fit.h"
#include "src/analysis/study_progress.h"
#include "src/cpu/clock.h"
#include "src/generation/decoding.h"
#include "src/model/flops.h"
#include "src/ops/random.h"

namespace sightline::analysis {
namespace {

constexpr std::int64_t kShortest = 16;
constexpr std::int64_t kSteps = 8;        // tokens a length, of which the fastest counts
constexpr std::int64_t kFewestSteps = 2;  // where they take long
constexpr double kLengthSeconds = 10;     // that the steps of a length may take, if fewer will do
constexpr double kAllSeconds = 60;        // after which no longer length begins, unless one was asked for
constexpr std::int64_t kPiece = 512;      // tokens that go into the context together

// What was measured at one length.
struct LengthResult {
  std::int64_t steps = 0, same = 0;  // tokens, and those that are the same, logits bit for bit
  double with = std::numeric_limits<double>::infinity(), without = with;  // seconds, of the fastest
};

enum ColumnIndex : std::size_t {
  kLength,
  kChecked,
  kSame,
  kWith,
  kWithout,
  kRatio,
  kRateWith,
  kRateWithout,
  kWork,
  kWorkWithout,
  kBytes
};

Table empty_table() {
  Table table{.key = "lengths", .title = "A token at each length, with a cache and without"};
  table.columns = {
      {.key = "n", .heading = "tokens n", .digits = 0},
      {.key = "tokens", .heading = "checked", .digits = 0},
      {.key = "same", .heading = "same bits", .digits = 0},
      {.key = "with_ms", .heading = "with", .unit = "ms", .digits = -3, .timed = true},
      {.key = "without_ms", .heading = "without", .unit = "ms", .digits = -3, .timed = true},
      {.key = "ratio", .heading = "times", .digits = 1, .timed = true},
      {.key = "with_rate", .heading = "with", .unit = "tokens/s", .digits = -3, .timed = true},
      {.key = "without_rate", .heading = "without", .unit = "tokens/s", .digits = -3, .timed = true},
      {.key = "with_work", .heading = "with", .unit = "MFLOP", .digits = -3},
      {.key = "without_work", .heading = "without", .unit = "MFLOP", .digits = -3},
      {.key = "cache_kb", .heading = "cache", .unit = "KB", .digits = 0},
  };
  return table;
}

// Of the last row of n tokens alone.
double row_flops(const model::TransformerConfig& config, std::int64_t n) {
  double sum = model::embedding_flops(config) + model::language_head_flops(config);
  for (int layer = 0; layer < config.layers; ++layer) {
    sum += model::layer_linear_flops(config) +
           model::visible_pairs(config, layer, n - 1, n, n) * model::pair_flops(config);
  }
  return sum;
}

class CacheStudy {
 public:
  explicit CacheStudy(const StudyInput& input)
      : input_(input), transformer_(*input.transformer), lengths_(lengths()), ids_(source(lengths_.back())) {
    study_.name = "cache";
    study_.claim = kCacheClaim;
    study_.tables.push_back(empty_table());
  }

  Study run() {
    double work = 0;
    for (const std::int64_t n : lengths_) work += weight(n);
    StudyProgress progress(input_.options.progress, work);
    progress_ = &progress;
    try {
      compare_prefixes();
      measure_lengths();
    } catch (const Cancelled&) {
      study_.complete = false;
    }
    add_settings();
    add_figures();
    add_charts();
    return std::move(study_);
  }

 private:
  static double weight(std::int64_t n) { return static_cast<double>(n) * static_cast<double>(n + 1000); }

  // Doublings up to what the model takes, or to the length that was asked for, which is the last one then.
  std::vector<std::int64_t> lengths() const {
    const std::int64_t most = transformer_.config().max_positions, asked = input_.options.longest;
    const std::int64_t longest = asked > 0 ? asked : most;
    if (most < kShortest) {
      throw BadArgument(fmt::format("the model takes texts of {} tokens at most: study cache needs one that takes {}",
                                    most, kShortest));
    }
    if (longest > most || longest < kShortest) {
      throw BadArgument(fmt::format("--max is {}: on this model it can be {} to {} tokens", asked, kShortest, most));
    }
    std::vector<std::int64_t> all;
    for (std::int64_t n = kShortest; n <= longest; n *= 2) all.push_back(n);
    if (asked > 0 && all.back() < asked) all.push_back(asked);
    return all;
  }

  std::vector<std::int32_t> source(std::int64_t count) const {
    std::vector<std::int32_t> ids;
    ops::Random random(input_.options.seed);
    const auto vocabulary = static_cast<std::uint64_t>(transformer_.config().vocabulary);
    while (std::ssize(ids) < count) {
      ids.push_back(input_.ids.empty() ? static_cast<std::int32_t>(random.bits() % vocabulary)
                                       : input_.ids[ids.size() % input_.ids.size()]);
    }
    return ids;
  }

  model::ForwardOptions options(model::LogitRows logits) const {
    return {.threads = input_.options.threads, .progress = progress_->hook(), .logits = logits};
  }

  // Why keys and values can be kept: rows of the tokens before are what they were, bit for bit, once one is added.
  void compare_prefixes() {
    const std::span<const std::int32_t> all = std::span(ids_).first(kShortest);
    const model::TokenSequence shorter{all.first(kShortest - 1)}, longer{all};
    const std::vector<float> before =
        transformer_.forward({&shorter, 1}, options(model::LogitRows::none)).last_hidden_state;
    const std::vector<float> after =
        transformer_.forward({&longer, 1}, options(model::LogitRows::none)).last_hidden_state;
    const std::int64_t width = transformer_.config().width;
    std::int64_t changed = 0;
    for (std::int64_t row = 0; row + 1 < kShortest; ++row) {
      changed += std::memcmp(&before[static_cast<std::size_t>(row * width)],
                             &after[static_cast<std::size_t>(row * width)], static_cast<std::size_t>(width) * 4) != 0;
    }
    study_.figures.push_back({"rows_changed",
                              fmt::format("rows of {} tokens that another token behind them changes", kShortest - 1),
                              "", static_cast<double>(changed), 0});
  }

  void measure_lengths() {
    model::Context context = transformer_.make_context(lengths_.back());
    const double begin = cpu::wall_seconds();
    double expected = 0;  // seconds of a token without the cache
    for (const std::int64_t n : lengths_) {
      const std::int64_t steps = steps_of(n, expected);
      if (input_.options.longest == 0 &&
          cpu::wall_seconds() - begin + static_cast<double>(steps) * expected > kAllSeconds) {
        study_.notes.push_back(fmt::format("From {} tokens on it takes more than a minute: --max N goes there.", n));
        break;
      }
      progress_->begin(weight(n));
      const LengthResult result = measure(context, n, steps);
      add_row(n, result);
      expected = 4 * result.without;  // of the next length at most, which is twice as long
    }
  }

  std::int64_t steps_of(std::int64_t n, double expected) const {
    if (input_.options.repetitions > 0) return std::min<std::int64_t>(input_.options.repetitions, n - 1);
    if (expected * kSteps <= kLengthSeconds) return kSteps;
    return std::max(kFewestSteps, static_cast<std::int64_t>(kLengthSeconds / expected));
  }

  // The newest `steps` of n tokens are chosen by the model, greedily, each both ways.
  LengthResult measure(model::Context& context, std::int64_t n, std::int64_t steps) {
    std::vector<std::int32_t> tokens(ids_.begin(), ids_.begin() + (n - steps + 1));
    context.truncate(std::min(context.length(), n - steps));
    tokens.reserve(static_cast<std::size_t>(n + 1));
    read(context, tokens);
    LengthResult result{.steps = steps};
    for (std::int64_t step = 0; step < steps; ++step) {
      const model::TokenSequence newest{std::span(tokens).last(1), {}, &context}, whole{tokens};
      const std::vector<float> with = timed(newest, result.with), without = timed(whole, result.without);
      const bool same = std::memcmp(with.data(), without.data(), with.size() * sizeof(float)) == 0;
      result.same += same && with.size() == without.size();
      tokens.push_back(static_cast<std::int32_t>(std::ranges::max_element(with) - with.begin()));
    }
    context.truncate(n - steps);  // the rest are not the source's
    return result;
  }

  // All but the last of the tokens.
  void read(model::Context& context, std::span<const std::int32_t> tokens) const {
    while (context.length() + 1 < std::ssize(tokens)) {
      const std::int64_t count = std::min(kPiece, std::ssize(tokens) - 1 - context.length());
      const model::TokenSequence piece{
          tokens.subspan(static_cast<std::size_t>(context.length()), static_cast<std::size_t>(count)), {}, &context};
      transformer_.forward({&piece, 1}, options(model::LogitRows::none));
    }
  }

  std::vector<float> timed(const model::TokenSequence& tokens, double& fastest) const {
    const double begin = cpu::wall_seconds();
    std::vector<float> logits = transformer_.forward({&tokens, 1}, options(model::LogitRows::last)).logits;
    fastest = std::min(fastest, cpu::wall_seconds() - begin);
    return logits;
  }

  void add_row(std::int64_t n, const LengthResult& result) {
    Table& table = study_.tables.front();
    const model::TransformerConfig& config = transformer_.config();
    const double values[] = {static_cast<double>(n),
                             static_cast<double>(result.steps),
                             static_cast<double>(result.same),
                             1e3 * result.with,
                             1e3 * result.without,
                             result.without / result.with,
                             1 / result.with,
                             1 / result.without,
                             1e-6 * row_flops(config, n),
                             1e-6 * model::forward_flops(config, n, 1),
                             static_cast<double>(model::cache_bytes(config, n, {})) / 1e3};
    for (std::size_t i = 0; i < std::size(values); ++i) table.columns[i].values.push_back(values[i]);
  }

  const std::vector<double>& column(ColumnIndex index) const { return study_.tables.front().columns[index].values; }

  void add_settings() {
    study_.settings.push_back(
        input_.ids.empty()
            ? fmt::format("tokens that seed {} draws, then the model's own", input_.options.seed)
            : fmt::format("the text of {} tokens, over and over, then the model's own tokens", input_.ids.size()));
    study_.settings.push_back(
        "with: one row through the model, keys and values of those before it kept; without: all rows, each time");
    study_.settings.push_back("n: tokens that the row sees, itself the last; times are those of the fastest token");
  }

  void add_figures() {
    if (column(kLength).empty()) return;
    double checked = 0, same = 0;
    for (std::size_t i = 0; i < column(kLength).size(); ++i) {
      checked += column(kChecked)[i];
      same += column(kSame)[i];
    }
    study_.figures.push_back({"checked", "tokens that were computed both ways", "", checked, 0});
    study_.figures.push_back({"same", "of these with the same logits, bit for bit", "", same, 0});
    const auto exponent = [&](ColumnIndex of) { return fitted_exponent(column(kLength), column(of)); };
    study_.figures.push_back(
        {"exponent_with", "time of a token grows with the cache as n to the power", "", exponent(kWith), 2, true});
    study_.figures.push_back({"exponent_without", "without it", "", exponent(kWithout), 2, true});
    study_.figures.push_back(
        {"work_exponent_with", "operations grow with the cache as n to the power", "", exponent(kWork), 2});
    study_.figures.push_back({"work_exponent_without", "without it", "", exponent(kWorkWithout), 2});
  }

  void add_charts() {
    add_chart("Time of a token", "ms", kWith, kWithout);
    add_chart("Tokens a second", "tokens/s", kRateWith, kRateWithout);
  }

  void add_chart(const char* title, const char* unit, ColumnIndex with, ColumnIndex without) {
    Chart& chart = study_.charts.emplace_back();
    chart.title = title;
    chart.x = {"tokens n", true};
    chart.y = {unit, true};
    chart.series = {{"with a cache", column(kLength), column(with)}, {"without", column(kLength), column(without)}};
  }

  const StudyInput& input_;
  const model::Transformer& transformer_;
  const std::vector<std::int64_t> lengths_;
  const std::vector<std::int32_t> ids_;
  StudyProgress* progress_ = nullptr;
  Study study_;
};

}  // namespace

Study study_cache(const StudyInput& input) { return CacheStudy(input).run(); }

}  // namespace sightline::analysis
