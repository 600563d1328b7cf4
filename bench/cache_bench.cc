// A step of decoding over a cache, and what it takes to append to it: one thread, process CPU time. 32 query heads on 8
// key/value heads, D = 128, 8192 tokens. Reading is shown as a share of what a plain sum over as many bytes reaches.
//
//   cache_bench --benchmark_filter=decode --benchmark_repetitions=15
//
// "token_major" is the layout that caches do not have, [page, slot, head, width], over the same rows.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "bench/limits.h"
#include "sightline/kv_cache.h"

namespace sightline::bench {
namespace {

constexpr std::int64_t kHeads = 32, kKvHeads = 8, kWidth = 128, kTokens = 8192;
constexpr DType kTypes[] = {DType::f32, DType::bf16, DType::i8_row, DType::q4_1};

std::vector<float> normal_numbers(std::int64_t count) {
  std::mt19937_64 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> numbers(static_cast<std::size_t>(count));
  for (float& x : numbers) x = normal(random);
  return numbers;
}

KvCacheOptions options_of(DType dtype, std::int64_t page_size) {
  KvCacheOptions options;
  options.kv_heads = kKvHeads;
  options.key_width = options.value_width = kWidth;
  options.dtype = dtype;
  options.page_size = page_size;
  options.page_count = kTokens / page_size;
  return options;
}

// A cache with all its tokens, and the problem of the next one.
class Decoding {
 public:
  Decoding(DType dtype, std::int64_t page_size) : cache_(options_of(dtype, page_size)) {
    const SequenceId id = cache_.create();
    const auto rows = normal_numbers(kKvHeads * kTokens * kWidth);
    const TensorView tokens = dense_view(rows.data(), {1, kKvHeads, kTokens, kWidth});
    cache_.append({&id, 1}, tokens, tokens);
    cache_.view({&id, 1}, view_);
    problem_.q = dense_view(std::as_const(queries_).data(), {1, kHeads, 1, kWidth});
    cache_.bind(view_, 0, problem_);
  }
  Decoding(const Decoding&) = delete;

  void use_token_major() {
    keys_ = token_major(problem_.k);
    values_ = token_major(problem_.v);
  }
  void run() { attention(problem_, dense_view(out_.data(), {1, kHeads, 1, kWidth}), {}, {.threads = 1}); }
  const std::vector<float>& out() const { return out_; }
  double bytes() const { return static_cast<double>(cache_.bytes()); }

 private:
  std::vector<std::byte> token_major(TensorView& tensor) const {
    const auto [batch_stride, head, slot, element] = tensor.strides;
    const std::int64_t unit = is_packed(tensor.dtype) ? 1 : static_cast<std::int64_t>(dtype_size(tensor.dtype));
    const KvCacheOptions& o = cache_.options();
    const std::int64_t page = problem_.pages.k_page_stride;
    std::vector<std::byte> pool(static_cast<std::size_t>(page * o.page_count * unit));
    for (std::int64_t n = 0; n < o.page_count * kKvHeads * o.page_size; ++n) {
      const std::int64_t p = n / (kKvHeads * o.page_size), h = n / o.page_size % kKvHeads, s = n % o.page_size;
      std::memcpy(pool.data() + (p * page + (s * kKvHeads + h) * slot) * unit,
                  static_cast<const std::byte*>(tensor.data) + (p * page + h * head + s * slot) * unit,
                  static_cast<std::size_t>(slot * unit));
    }
    tensor.data = pool.data();
    tensor.strides = {batch_stride, slot, slot * kKvHeads, element};
    return pool;
  }

  KvCache cache_;
  KvView view_;
  std::vector<std::byte> keys_, values_;
  std::vector<float> queries_ = normal_numbers(kHeads * kWidth), out_ = std::vector<float>(kHeads * kWidth);
  AttentionProblem problem_;
};

// Bytes a second of a sum over that many, the best of several.
double read_rate(double bytes) {
  const std::vector<std::uint32_t> words(static_cast<std::size_t>(bytes) / sizeof(std::uint32_t), 1);
  double best = 0;
  for (int repeat = 0; repeat < 5; ++repeat) {
    const double start = sightline_process_seconds();
    benchmark::DoNotOptimize(sightline_plain_sum(words.data(), words.size() * sizeof(std::uint32_t)));
    best = std::max(best, bytes / (sightline_process_seconds() - start));
  }
  return best;
}

void decode(benchmark::State& state, DType dtype, std::int64_t page_size, bool token_major) {
  Decoding contiguous(dtype, kTokens), paged(dtype, page_size);
  if (token_major) paged.use_token_major();
  contiguous.run();
  paged.run();
  if (contiguous.out() != paged.out()) return state.SkipWithError("pages give other numbers");
  const double plain = read_rate(paged.bytes());
  const double start = sightline_process_seconds();
  for (auto _ : state) paged.run();
  const double seconds = (sightline_process_seconds() - start) / static_cast<double>(state.iterations());
  state.counters["us"] = 1e6 * seconds;
  state.counters["GB/s"] = 1e-9 * paged.bytes() / seconds;
  state.counters["of_sum"] = paged.bytes() / seconds / plain;
}

// One token, as decoding appends it, or a prompt of all.
void append(benchmark::State& state, DType dtype, std::int64_t tokens) {
  KvCache cache(options_of(dtype, 64));
  const SequenceId id = cache.create();
  const auto rows = normal_numbers(kKvHeads * tokens * kWidth);
  const TensorView given = dense_view(rows.data(), {1, kKvHeads, tokens, kWidth});
  const double start = sightline_process_seconds();
  for (auto _ : state) {
    if (cache.length(id) + tokens > kTokens) cache.truncate(id, 0);
    cache.append({&id, 1}, given, given);
  }
  const double seconds = (sightline_process_seconds() - start) / static_cast<double>(state.iterations());
  state.counters["us/token"] = 1e6 * seconds / static_cast<double>(tokens);
}

void register_all() {
  for (const DType dtype : kTypes) {
    const std::string name = dtype_name(dtype);
    for (const std::int64_t page_size : {16, 64, 256, 8192}) {
      for (const bool token_major : {false, true}) {
        const std::string layout = token_major ? "/token_major" : "";
        benchmark::RegisterBenchmark(("decode/" + name + "/page" + std::to_string(page_size) + layout).c_str(), decode,
                                     dtype, page_size, token_major)
            ->Unit(benchmark::kMillisecond);
      }
    }
    for (const std::int64_t tokens : {1, 2048}) {
      benchmark::RegisterBenchmark(("append/" + name + "/" + std::to_string(tokens)).c_str(), append, dtype, tokens)
          ->Unit(benchmark::kMicrosecond);
    }
  }
}

}  // namespace
}  // namespace sightline::bench

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  sightline::bench::register_all();
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
