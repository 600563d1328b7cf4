// Blocks of a map of 100,000 x 100,000 weights, one head, D = 32, as the page asks for them: 256 x 256 cells, or the
// whole map where that is less, at every step; and what the pyramid adds to the pass that makes it.
//
//   block_bench --benchmark_filter=block --benchmark_repetitions=9 --benchmark_report_aggregates_only=true
//
// BLOCK_BENCH_TOKENS: another length.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "src/engine/layer_testing.h"

namespace sightline::bench {
namespace {

using engine::testing::RandomLayer;

constexpr std::int64_t kWidth = 32, kCells = 256, kPassTokens = 16384;

std::int64_t map_tokens() {
  const char* asked = std::getenv("BLOCK_BENCH_TOKENS");
  return asked == nullptr ? 100000 : std::atoll(asked);
}

// From the middle on, or from the start where the map has fewer cells.
void block(benchmark::State& state) {
  static const engine::Look look = RandomLayer(1, 1, map_tokens(), kWidth).look();
  const std::int64_t tokens = map_tokens(), step = state.range(0), side = std::min(kCells * step, tokens);
  const std::int64_t begin = side == tokens ? 0 : std::min(tokens / 2, tokens - side) / step * step;
  const engine::BlockRequest request = {{{1, 1}}, false, begin, begin + side, begin, begin + side, step};
  for (auto _ : state) benchmark::DoNotOptimize(look.block(request));
  state.counters["cells"] = static_cast<double>(request.rows() * request.cols());
}
BENCHMARK(block)->RangeMultiplier(2)->Range(1, 4096)->Unit(benchmark::kMillisecond)->UseRealTime();

// What `look` observes of a head, without and with the pyramid.
void pass(benchmark::State& state) {
  const RandomLayer layer(1, 1, kPassTokens, kWidth);
  const engine::Segments segments{{"special", "text", "first"}, layer.segments};
  engine::PassProgress progress(nullptr, 2);
  engine::Capture capture({&segments, {}, 6, 0, &progress});
  const model::LayerAttention call{model::AttentionKind::self, 0, 0, layer.problem};
  Observations see = capture.request(call);
  if (state.range(0) == 0) see.overview = nullptr;
  std::vector<float> out(static_cast<std::size_t>(kPassTokens * kWidth));
  for (auto _ : state)
    attention(layer.problem, dense_view(out.data(), {1, 1, kPassTokens, kWidth}), see, {.threads = 1});
}
BENCHMARK(pass)->ArgName("pyramid")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace sightline::bench

BENCHMARK_MAIN();
