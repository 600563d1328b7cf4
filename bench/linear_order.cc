// Which order of summation should linear layers have? Times the candidates of docs/linear.md against the bandwidth and
// the fma peak of the same run: one thread, CPU time, the minimum of interleaved runs, each verified before it is
// timed. Needs AVX-512, the target on which the candidates differ most.
//
//   linear_order [rounds]

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/linear_order.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, as Highway asks.
#include "bench/linear_order_kernels-inl.h"

#if HWY_ONCE

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "src/cpu/dispatch.h"
#include "src/cpu/target.h"
#include "src/ops/linear.h"
#include "src/tensor/aligned_buffer.h"

namespace sightline {

HWY_EXPORT(kernels);

namespace bench {
namespace {

constexpr std::size_t kPoolBytes = std::size_t{192} << 20;  // of weights, several times the last-level cache
constexpr std::int64_t kTokens = 512;

double cpu_seconds() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

struct Contender {
  std::string name;
  std::function<void()> run;
  double best = INFINITY;  // seconds
};

void race(std::vector<Contender>& contenders, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    for (Contender& contender : contenders) {
      const double begin = cpu_seconds();
      contender.run();
      contender.best = std::min(contender.best, cpu_seconds() - begin);
    }
  }
}

// Random bytes that make finite weights: the half-precision scales of the blocks are set to about 2^-7.
void fill_pool(Format format, AlignedBuffer<std::uint8_t>& pool) {
  std::mt19937_64 random(1);
  for (std::size_t i = 0; i + 8 <= pool.size(); i += 8) {
    const std::uint64_t bits = random();
    std::memcpy(&pool[i], &bits, 8);
  }
  const std::uint16_t scale = 0x2010;
  if (format == Format::f32) {
    std::normal_distribution<float> normal;
    for (std::size_t i = 0; i + 4 <= pool.size(); i += 4) {  // 2^16 values, repeated: quick to make
      const float value = i < (std::size_t{1} << 18) ? normal(random) : 0;
      std::memcpy(&pool[i], i < (std::size_t{1} << 18) ? static_cast<const void*>(&value) : &pool[i - (1 << 18)], 4);
    }
    return;
  }
  const std::size_t block = format == Format::q8_0 ? kQ8Bytes : kQ4Bytes;
  for (std::size_t i = 0; i + block <= pool.size(); i += block) {
    std::memcpy(&pool[i], &scale, 2);
    if (format == Format::q4_k) std::memcpy(&pool[i + 2], &scale, 2);
  }
}

struct Shape {
  std::int64_t out, in;
};

std::vector<float> normal_values(std::size_t count) {
  std::mt19937 random(2);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& v : values) v = normal(random);
  return values;
}

// Compares y [rows, out] with fp64 sums over the dequantised weights; ends the program where they differ.
void verify(const std::string& name, Format format, const std::byte* w, Shape shape, const std::vector<float>& x,
            const std::vector<float>& y) {
  std::vector<float> row(shape.in);
  const std::int64_t rows = static_cast<std::int64_t>(x.size()) / shape.in;
  for (std::int64_t o = 0; o < shape.out; ++o) {
    dequantise_row(format, w + o * row_bytes(format, shape.in), shape.in, row.data());
    for (std::int64_t r = 0; r < rows; ++r) {
      double sum = 0, magnitude = 0;
      for (std::int64_t i = 0; i < shape.in; ++i) {
        const double term = static_cast<double>(x[r * shape.in + i]) * row[i];
        sum += term;
        magnitude += std::abs(term);
      }
      if (std::abs(sum - y[r * shape.out + o]) <= 1e-5 * magnitude) continue;
      fmt::print("{}: wrong at row {}, output {}: {} instead of {}\n", name, r, o, y[r * shape.out + o], sum);
      std::exit(1);
    }
  }
}

void one_token(const Kernels& kernels, Format format, const AlignedBuffer<std::uint8_t>& pool, Shape shape,
               int rounds) {
  if (format == Format::q4_k) shape.in = (shape.in + 255) / 256 * 256;  // its blocks are 256 long
  const auto* bytes = reinterpret_cast<const std::byte*>(pool.data());
  const std::size_t matrix_bytes = shape.out * row_bytes(format, shape.in), matrices = pool.size() / matrix_bytes;
  const std::vector<float> x = normal_values(shape.in);
  std::vector<float> y(shape.out);
  std::vector<Contender> contenders;
  const auto add = [&](const std::string& name, std::function<void(const std::byte*)> product) {
    product(bytes);
    verify(name, format, bytes, shape, x, y);
    contenders.push_back({name, [=] {
                            for (std::size_t m = 0; m < matrices; ++m) product(bytes + m * matrix_bytes);
                          }});
  };
  for (int candidate = 0; candidate < kCandidates; ++candidate) {
    add(kCandidateNames[candidate], [&, candidate](const std::byte* w) {
      kernels.one_token[static_cast<int>(format)][candidate](x.data(), w, shape.out, shape.in, y.data());
    });
  }
  if (format == Format::f32) {
    add("linear()", [&](const std::byte* w) {
      ops::linear({{w, DType::f32, shape.out, shape.in}, nullptr}, x.data(), 1, y.data(), 1);
    });
  }
  volatile float sink = 0;
  const std::size_t products = contenders.size();
  for (const auto reader : kernels.read) {
    contenders.push_back({"read", [&, reader] { sink = reader(pool.data(), matrices * matrix_bytes); }});
  }
  race(contenders, rounds);
  double read = INFINITY;
  for (std::size_t i = products; i < contenders.size(); ++i) read = std::min(read, contenders[i].best);
  fmt::print("{:<5} {:>5} x {:<5}", kFormatNames[static_cast<int>(format)], shape.out, shape.in);
  for (const Contender& c : contenders) {
    if (c.name != "read") fmt::print("  {} {:5.1f} %", c.name, 100 * read / c.best);
  }
  fmt::print("  of {:.1f} GB/s\n", static_cast<double>(matrices * matrix_bytes) / read * 1e-9);
}

void many_tokens(const Kernels& kernels, const AlignedBuffer<std::uint8_t>& pool, Shape shape, int rounds) {
  const auto* w = reinterpret_cast<const std::byte*>(pool.data());
  const std::vector<float> x = normal_values(kTokens * shape.in);
  std::vector<float> y(kTokens * shape.out);
  std::vector<Contender> contenders;
  const auto add = [&](const std::string& name, std::function<void()> product) {
    product();
    verify(name, Format::f32, w, shape, x, y);
    contenders.push_back({name, product});
  };
  for (int candidate = 0; candidate < kCandidates; ++candidate) {
    add(kCandidateNames[candidate],
        [&, candidate] { kernels.many_tokens[candidate](x.data(), kTokens, w, shape.out, shape.in, y.data()); });
  }
  add("linear()", [&] {
    ops::linear({{w, DType::f32, shape.out, shape.in}, nullptr}, x.data(), kTokens, y.data(), 1);
  });
  const double flops = 2.0 * static_cast<double>(kTokens * shape.out * shape.in);
  contenders.push_back({"peak", [&] { kernels.peak(flops); }});
  race(contenders, rounds);
  const double peak = contenders.back().best;
  fmt::print("F32   {:>5} x {:<5}", shape.out, shape.in);
  for (const Contender& c : contenders) {
    if (c.name != "peak") fmt::print("  {} {:5.1f} %", c.name, 100 * peak / c.best);
  }
  fmt::print("  of {:.1f} GFLOP/s\n", flops / peak * 1e-9);
}

int run(int rounds) {
  cpu::ensure_target();
  const Kernels* kernels = SIGHTLINE_DISPATCH(kernels)();
  if (kernels == nullptr) {
    fmt::print("this benchmark needs AVX-512\n");
    return 1;
  }
  constexpr Shape kShapes[] = {{384, 384}, {1536, 384}, {384, 1536}, {2048, 640}};
  fmt::print("512 tokens, share of the fma peak\n");
  AlignedBuffer<std::uint8_t> pool(kPoolBytes);
  fill_pool(Format::f32, pool);
  for (const Shape& shape : kShapes) many_tokens(*kernels, pool, shape, 3 * rounds);
  fmt::print("1 token, share of the read bandwidth\n");
  for (Format format : {Format::f32, Format::q8_0, Format::q4_k}) {
    fill_pool(format, pool);
    for (const Shape& shape : kShapes) one_token(*kernels, format, pool, shape, rounds);
  }
  return 0;
}

}  // namespace
}  // namespace bench
}  // namespace sightline

int main(int argc, char** argv) { return sightline::bench::run(argc > 1 ? std::max(1, std::atoi(argv[1])) : 15); }
#endif  // HWY_ONCE
