// The forward pass by shape, observations and SIMD target, one thread, process CPU time. Each case is compared with the
// fp64 reference before it is timed, and shown as a share of the multiply-add peak measured just before it.
//
//   attention_bench --benchmark_filter=AVX3/.*n2048_d64 --benchmark_repetitions=15
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "bench/forward_case.h"
#include "bench/limits.h"
#include "sightline/error.h"
#include "src/cpu/target.h"

namespace sightline::bench {
namespace {

constexpr Shape kShapes[] = {
    {1, 2, 2, 2048, 2048, 64, 64, false},   {1, 2, 2, 2048, 2048, 64, 64, true},
    {1, 2, 2, 2048, 2048, 128, 128, false}, {1, 2, 2, 2048, 2048, 128, 128, true},
    {1, 12, 12, 512, 512, 64, 64, false},   {1, 12, 12, 512, 512, 64, 64, true},
    {1, 12, 12, 512, 512, 32, 32, false},   {1, 8, 2, 1024, 1024, 128, 128, true},
    {1, 1, 1, 8192, 8192, 64, 64, true},    {16, 12, 12, 30, 30, 32, 32, false},
    {1, 4, 4, 1000, 1531, 80, 96, false},
};

struct Level {
  const char* name;
  Observe observe;
};
constexpr Level kLevels[] = {
    {"none", Observe::none}, {"basic", Observe::basic}, {"top4", Observe::top}, {"all", Observe::all}};

void forward(benchmark::State& state, const std::string& target, const Shape& shape, Observe observe) {
  cpu::force_target(target);
  ForwardCase problem(shape, observe);
  problem.run();
  if (const std::string wrong = problem.verify(); !wrong.empty()) {
    state.SkipWithError(wrong.c_str());
    return;
  }
  const double peak = sightline_fma_peak(0.05);
  const double start = sightline_process_seconds();
  for (auto _ : state) problem.run();
  const double seconds = sightline_process_seconds() - start;
  const double rate = shape.operations() * static_cast<double>(state.iterations()) / seconds;
  state.counters["GFLOP/s"] = 1e-9 * rate;
  state.counters["peak_GFLOP/s"] = 1e-9 * peak;
  state.counters["of_peak"] = rate / peak;
}

double smallest(const std::vector<double>& values) { return *std::min_element(values.begin(), values.end()); }
double largest(const std::vector<double>& values) { return *std::max_element(values.begin(), values.end()); }

void register_all() {
  for (const std::string& target : cpu::available_targets()) {
    if (target == "SCALAR") continue;  // slow and right: no benchmark's business
    for (const Shape& shape : kShapes) {
      for (const Level& level : kLevels) {
        const std::string name = "forward/" + target + "/" + shape.name() + "/" + level.name;
        benchmark::RegisterBenchmark(name.c_str(), forward, target, shape, level.observe)
            ->MeasureProcessCPUTime()
            ->Unit(benchmark::kMillisecond)
            ->ComputeStatistics("min", smallest)
            ->ComputeStatistics("max", largest);
      }
    }
  }
}

}  // namespace
}  // namespace sightline::bench

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  try {
    sightline::bench::register_all();
    benchmark::RunSpecifiedBenchmarks();
  } catch (const sightline::Error& error) {
    std::fprintf(stderr, "attention_bench: %s\n", error.what());
    return 1;
  }
  return 0;
}
