#include "src/engine/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <span>
#include <stdexcept>

#include "sightline/error.h"
#include "src/cpu/clock.h"
#include "src/cpu/parallel.h"
#include "src/cpu/plain_sum.h"
#include "src/cpu/target.h"
#include "src/engine/look.h"
#include "src/generation/piece_progress.h"
#include "src/generation/scoring.h"
#include "src/generation/step_observer.h"
#include "src/ops/random.h"
#include "src/tensor/aligned_buffer.h"

namespace sightline::engine {
namespace {

constexpr std::uint64_t kSeed = 1;
constexpr std::int64_t kPiece = model::ScoringOptions{}.piece;  // as prompts go through
constexpr int kSums = 5;
constexpr std::int64_t kSumBytes = std::int64_t{4} << 20;  // a task: some 0.3 ms

template <class Body>
BenchRun timed(const Body& body) {
  const double cpu = cpu::cpu_seconds(), wall = cpu::wall_seconds();
  body();
  return {cpu::wall_seconds() - wall, cpu::cpu_seconds() - cpu};
}

double rate_of(const BenchCase& of, double BenchRun::*seconds, std::size_t place) {
  std::vector<double> times;
  for (const BenchRun& run : of.runs) times.push_back(run.*seconds);
  std::ranges::sort(times);
  return static_cast<double>(of.tokens) / times.at(place);
}

// Runs tokens through one context, again and again.
class Measurement {
 public:
  Measurement(const model::Transformer& transformer, const BenchOptions& options)
      : transformer_(transformer),
        options_(options),
        context_(transformer.make_context(bench_context(options), options.cache)),
        segments_(static_cast<std::size_t>(bench_context(options)), kSegmentText) {
    ops::Random random(kSeed);
    const auto vocabulary = static_cast<std::uint64_t>(transformer.config().vocabulary);
    for (std::int64_t i = 0; i < bench_context(options); ++i) {
      ids_.push_back(static_cast<std::int32_t>(random.bits() % vocabulary));
    }
    const std::int64_t kinds = options.watch ? 2 : 1, rounds = options.repetitions + 1;
    total_ = options.depth + kinds * rounds * (options.prompt + options.generated);
  }

  void run(Bench& bench) {
    while (context_.length() < options_.depth)
      pass(std::min(kPiece, options_.depth - context_.length()), nullptr, false);
    for (const bool watched : {false, true}) {
      if (watched && !options_.watch) continue;
      if (options_.prompt > 0) measure_case(bench, "pp", options_.prompt, false, watched);
      if (options_.generated > 0) measure_case(bench, "tg", options_.generated, true, watched);
    }
  }

 private:
  void measure_case(Bench& bench, const char* kind, std::int64_t tokens, bool decoding, bool watched) {
    const std::string depth = options_.depth > 0 ? fmt::format(" @ d{}", options_.depth) : "";
    bench.cases.push_back({fmt::format("{}{}{}", kind, tokens, depth), tokens, decoding, watched, {}});
    std::optional<model::StepObserver> observer;
    if (watched) {
      observer.emplace(transformer_.config(), model::WatchOptions{.key_mass = true}, context_.room(), model::MassSums(),
                       0);
    }
    for (int round = 0; round <= options_.repetitions; ++round) {
      const BenchRun run = timed([&] { go_through(tokens, decoding ? 1 : kPiece, observer ? &*observer : nullptr); });
      if (round > 0) bench.cases.back().runs.push_back(run);  // the first one warms up
    }
  }

  void go_through(std::int64_t tokens, std::int64_t piece, model::StepObserver* observer) {
    context_.truncate(options_.depth);
    const std::int64_t end = options_.depth + tokens;
    while (context_.length() < end) {
      const std::int64_t left = end - context_.length();
      // As in a generation the newest row goes through by itself where it is watched.
      const std::int64_t most = observer != nullptr && left > 1 ? left - 1 : left;
      const std::int64_t rows = std::min(piece, most);
      pass(rows, observer, piece == 1 || rows == left);
    }
  }

  void pass(std::int64_t rows, model::StepObserver* observer, bool newest) {
    const auto begin = static_cast<std::size_t>(context_.length()), end = begin + static_cast<std::size_t>(rows);
    const model::TokenSequence text{std::span(ids_).subspan(begin, end - begin), {}, &context_};
    model::PieceProgress progress(options_.progress, done_, total_);
    if (observer != nullptr) observer->begin(rows, std::span(segments_).first(end), kFixedSegments + 1, newest);
    transformer_.forward({&text, 1}, {.threads = options_.threads,
                                      .observer = observer,
                                      .progress = progress.hook(),
                                      .logits = newest ? model::LogitRows::last : model::LogitRows::none});
    done_ += rows;
  }

  const model::Transformer& transformer_;
  const BenchOptions& options_;
  model::Context context_;
  std::vector<std::int32_t> ids_, segments_;
  std::int64_t done_ = 0, total_ = 0;
};

}  // namespace

double BenchCase::best_rate(double BenchRun::*seconds) const { return rate_of(*this, seconds, 0); }
double BenchCase::median_rate(double BenchRun::*seconds) const { return rate_of(*this, seconds, runs.size() / 2); }

double Bench::bandwidth_share(const BenchCase& decoding) const {
  return static_cast<double>(token_bytes) * decoding.best_rate() / bandwidth;
}

double measure_bandwidth(int threads) {
  AlignedBuffer<std::uint32_t> words(kBandwidthBytes / sizeof(std::uint32_t), huge_page_resource());
  constexpr std::int64_t kTasks = kBandwidthBytes / kSumBytes;
  const auto part = [&](std::int64_t task) {
    return words.data() + task * (kSumBytes / std::int64_t{sizeof(std::uint32_t)});
  };
  cpu::parallel_for(kTasks, threads, [&](std::int64_t task) { std::fill_n(part(task), kSumBytes / 4, 1u); });
  std::vector<std::uint32_t> sums(kTasks);
  double best = 0;
  for (int round = 0; round < kSums; ++round) {
    const BenchRun run = timed([&] {
      cpu::parallel_for(kTasks, threads, [&](std::int64_t task) {
        sums[static_cast<std::size_t>(task)] = cpu::plain_sum(part(task), kSumBytes);
      });
    });
    best = std::max(best, static_cast<double>(kBandwidthBytes) / run.wall);
  }
  if (std::ranges::count(sums, static_cast<std::uint32_t>(kSumBytes / 4)) != kTasks) {
    throw std::logic_error("the sum of an array of ones is not its length");
  }
  return best;
}

std::int64_t bench_context(const BenchOptions& options) {
  return options.depth + std::max(options.prompt, options.generated);
}

void require_bench(const model::Transformer& transformer, const BenchOptions& options) {
  model::require_decoder(transformer.config());
  const auto require = [](const char* option, std::int64_t value, std::int64_t least) {
    if (value < least) throw BadArgument(fmt::format("{} is {}: it can be {} or more", option, value, least));
  };
  require("-p", options.prompt, 0);
  require("-n", options.generated, 0);
  require("-d", options.depth, 0);
  require("-r", options.repetitions, 1);
  if (options.prompt + options.generated == 0) throw BadArgument("-p and -n are 0: nothing is left to measure");
  if (bench_context(options) > transformer.config().max_positions) {
    throw BadArgument(fmt::format("{} tokens are to be measured after {}, and the model takes at most {}",
                                  std::max(options.prompt, options.generated), options.depth,
                                  transformer.config().max_positions));
  }
}

Bench measure(const model::Transformer& transformer, const BenchOptions& options) {
  require_bench(transformer, options);
  Bench bench;
  bench.context = bench_context(options);
  bench.token_bytes = transformer.token_weight_bytes();
  bench.threads = cpu::Workers(options.threads).count();
  bench.target = cpu::chosen_target();
  try {
    bench.bandwidth = measure_bandwidth(options.threads);
    Measurement(transformer, options).run(bench);
  } catch (const Cancelled&) {
    bench.complete = false;
    std::erase_if(bench.cases, [](const BenchCase& of) { return of.runs.empty(); });
  }
  return bench;
}

}  // namespace sightline::engine
