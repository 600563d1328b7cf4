#ifndef SIGHTLINE_ENGINE_BENCH_H_
#define SIGHTLINE_ENGINE_BENCH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "sightline/context.h"
#include "sightline/execution.h"
#include "sightline/transformer.h"

namespace sightline::engine {

struct BenchOptions {
  std::int64_t prompt = 512, generated = 128;  // tokens; 0: not measured
  std::int64_t depth = 0;                      // tokens in the context before
  int repetitions = 5;
  int threads = 0;
  model::ContextOptions cache = {};
  bool watch = false;            // also with all observed that `generate --json` writes
  Progress* progress = nullptr;  // told of tokens as they go through; false ends it, with what is done
};

struct BenchRun {
  double wall = 0, cpu = 0;  // seconds, of the clock and of the process
};

/// One thing that was measured, several times.
struct BenchCase {
  std::string name;  // "pp512", "tg128", "tg128 @ d4096", as llama-bench has them
  std::int64_t tokens = 0;
  bool decoding = false;  // token by token
  bool watched = false;
  std::vector<BenchRun> runs;

  /// Tokens a second of the fastest run, and of the middle one (of an even number the slower of the two), by the clock
  /// or by CPU time.
  double best_rate(double BenchRun::*seconds = &BenchRun::wall) const;
  double median_rate(double BenchRun::*seconds = &BenchRun::wall) const;
};

struct Bench {
  std::int64_t context = 0;      // tokens that it holds
  std::int64_t token_bytes = 0;  // of weights that a token's pass reads
  double bandwidth = 0;          // bytes a second, of the best plain sum by the same threads
  int threads = 0;
  std::string target;  // SIMD
  std::vector<BenchCase> cases;
  bool complete = true;  // false: the caller's progress ended it

  /// Of decoding: what the weights take at that bandwidth, as a share of what a token took in the best run.
  double bandwidth_share(const BenchCase& decoding) const;
};

/// What a plain sum over kBandwidthBytes reads a second: the best of several.
double measure_bandwidth(int threads);
inline constexpr std::int64_t kBandwidthBytes = std::int64_t{512} << 20;  // far over the caches of most machines

/// Passes over tokens that a fixed seed draws, after one of each kind that is not counted. Prefill goes through in
/// pieces as a prompt does; nothing is sampled. Throws BadArgument for a model that writes no text, options out of
/// range, and more tokens than it takes; OutOfMemory.
Bench measure(const model::Transformer& transformer, const BenchOptions& options);

/// Throws BadArgument as measure() does.
void require_bench(const model::Transformer& transformer, const BenchOptions& options);

/// Tokens of the context that measure() makes.
std::int64_t bench_context(const BenchOptions& options);

}  // namespace sightline::engine

#endif  // SIGHTLINE_ENGINE_BENCH_H_
