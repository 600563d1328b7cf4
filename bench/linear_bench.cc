// Linear layers for every type of weights: many rows as a share of the fma peak, one row as a share of the bandwidth
// of a plain sum. One thread, process CPU time, the minimum of interleaved runs; see docs/linear.md.
//
//   linear_bench [--rows N] [--rounds N] [--types F32,Q8_0,...] [--fast]

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "bench/limits.h"
#include "src/ops/linear.h"
#include "src/ops/testing.h"
#include "src/tensor/aligned_buffer.h"

namespace sightline::bench {
namespace {

using ops::WeightMatrix;

// The matrices of a layer of a decoder of the 270M class, width 640, and its output matrix.
struct Shape {
  std::int64_t out, in;
};
constexpr Shape kLayer[] = {{1024, 640}, {256, 640}, {640, 1024}, {2048, 640}, {640, 2048}};
constexpr Shape kOutput = {262144, 640};
// Weights of one-row runs, several times the last-level cache, so that they come from memory.
constexpr std::size_t kPoolBytes = std::size_t{256} << 20;

struct Options {
  std::int64_t rows = 512;
  int rounds = 15;
  std::string types;
  Precision precision = Precision::exact;

  bool wants(DType dtype) const {
    return types.empty() ||
           fmt::format(",{},", types).find(fmt::format(",{},", dtype_name(dtype))) != std::string::npos;
  }
};

// Blocks of K types hold 256, so their inputs are padded as files of such models do: with another type. Here they grow.
Shape shape_for(DType dtype, Shape shape) {
  const auto width = is_block(dtype) ? static_cast<std::int64_t>(block_layout(dtype).width) : 1;
  return {shape.out, (shape.in + width - 1) / width * width};
}

std::size_t matrix_bytes(DType dtype, Shape shape) { return shape.out * row_bytes(dtype, shape.in); }

// Random blocks or elements, the first MiB over and over.
AlignedBuffer<std::byte> make_pool(DType dtype, std::size_t bytes) {
  const std::size_t unit = is_block(dtype) ? block_layout(dtype).bytes : dtype_size(dtype);
  const std::size_t period = std::min((std::size_t{1} << 20) / unit * unit, bytes);
  const ops::testing::StoredWeights w = ops::testing::random_weights(
      dtype, 1, static_cast<std::int64_t>(period / unit * std::max<std::size_t>(block_layout(dtype).width, 1)), 0, 1);
  AlignedBuffer<std::byte> pool(bytes);
  for (std::size_t at = 0; at < bytes; at += period) {
    std::memcpy(pool.data() + at, w.bytes.data(), std::min(period, bytes - at));
  }
  return pool;
}

template <class Body>
double seconds_of(Body body) {
  const double begin = sightline_process_seconds();
  body();
  return sightline_process_seconds() - begin;
}

void verify(const WeightMatrix& weight, const std::vector<float>& x, const std::vector<float>& y, double tolerance) {
  std::vector<float> row(weight.cols);
  for (std::int64_t o = 0; o < weight.rows; o += 97) {
    ops::widen(weight.stored_row(o), weight.dtype, row);
    double sum = 0, magnitude = 0;
    for (std::int64_t i = 0; i < weight.cols; ++i) {
      sum += static_cast<double>(x[i]) * row[i];
      magnitude += std::abs(static_cast<double>(x[i]) * row[i]);
    }
    if (std::abs(sum - y[o]) <= tolerance * magnitude) continue;
    fmt::print("wrong: output {} is {} instead of {}\n", o, y[o], sum);
    std::exit(1);
  }
}

// The best time of each shape; `matrices` of each are used in turn.
double best_seconds(const Options& options, DType dtype, Shape shape, std::int64_t rows, const std::byte* pool,
                    std::size_t matrices) {
  const std::vector<float> x = ops::testing::normal_values(rows * shape.in, 2);
  std::vector<float> y(rows * shape.out);
  const std::size_t bytes = matrix_bytes(dtype, shape);
  const auto compute = [&](std::size_t matrix) {
    const WeightMatrix weight = {pool + matrix * bytes, dtype, shape.out, shape.in};
    ops::linear({weight, nullptr}, x.data(), rows, y.data(), 1, options.precision);
  };
  compute(0);
  verify({pool, dtype, shape.out, shape.in}, x, y, options.precision == Precision::exact ? 1e-5 : 1e-2);
  double best = INFINITY;
  for (int round = 0; round < options.rounds; ++round) {
    best = std::min(best, seconds_of([&] {
                            for (std::size_t matrix = 0; matrix < matrices; ++matrix) compute(matrix);
                          }) / static_cast<double>(matrices));
  }
  return best;
}

void many_rows(const Options& options, DType dtype) {
  const double peak = sightline_fma_peak(0.2);
  const AlignedBuffer<std::byte> pool = make_pool(dtype, matrix_bytes(dtype, shape_for(dtype, {2048, 2048})));
  double flops = 0, seconds = 0;
  fmt::print("{:<7}", dtype_name(dtype));
  for (const Shape& named : kLayer) {
    const Shape shape = shape_for(dtype, named);
    const double best = best_seconds(options, dtype, shape, options.rows, pool.data(), 1);
    const double of_shape = 2.0 * static_cast<double>(options.rows * shape.out * shape.in);
    fmt::print(" {:>8.1f} %", 100 * of_shape / best / peak);
    flops += of_shape;
    seconds += best;
  }
  fmt::print("   all {:6.1f} GFLOP/s, {:5.1f} % of {:.0f}\n", flops / seconds * 1e-9, 100 * flops / seconds / peak,
             peak * 1e-9);
}

double read_bandwidth(const AlignedBuffer<std::byte>& pool, int rounds) {
  double best = INFINITY;
  for (int round = 0; round < rounds; ++round) {
    best = std::min(best, seconds_of([&] {
                      volatile std::uint32_t kept = sightline_plain_sum(pool.data(), pool.size() / 4 * 4);
                      static_cast<void>(kept);
                    }));
  }
  return static_cast<double>(pool.size()) / best;
}

void one_row(const Options& options, DType dtype) {
  const Shape output = shape_for(dtype, kOutput);
  const AlignedBuffer<std::byte> pool = make_pool(dtype, std::max(kPoolBytes, matrix_bytes(dtype, output)));
  const double bandwidth = read_bandwidth(pool, options.rounds);
  fmt::print("{:<7}", dtype_name(dtype));
  const auto rate = [&](Shape shape, std::size_t matrices) {
    const double best = best_seconds(options, dtype, shape, 1, pool.data(), matrices);
    return static_cast<double>(matrix_bytes(dtype, shape)) / best;
  };
  for (const Shape& named : kLayer) {
    const Shape shape = shape_for(dtype, named);
    fmt::print(" {:>8.1f} %", 100 * rate(shape, pool.size() / matrix_bytes(dtype, shape)) / bandwidth);
  }
  const double of_output = rate(output, 1);
  fmt::print(" {:>8.1f} %   of {:.1f} GB/s; output matrix {:.1f} GB/s\n", 100 * of_output / bandwidth, bandwidth * 1e-9,
             of_output * 1e-9);
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    const char* value = i + 1 < argc ? argv[i + 1] : "";
    if (name == "--fast") {
      options.precision = Precision::fast;
      continue;
    }
    if (name == "--rows") options.rows = std::max(2, std::atoi(value));
    if (name == "--rounds") options.rounds = std::max(1, std::atoi(value));
    if (name == "--types") options.types = value;
    ++i;
  }
  return options;
}

void print_heading(const std::string& what, bool output) {
  fmt::print("\n{}\n       ", what);
  for (const Shape& shape : kLayer) fmt::print(" {:>10}", fmt::format("{}x{}", shape.out, shape.in));
  fmt::print("{}\n", output ? fmt::format(" {:>10}", fmt::format("{}x{}", kOutput.out, kOutput.in)) : "");
}

int run(const Options& options) {
  print_heading(fmt::format("{} rows, share of the fma peak", options.rows), false);
  for (DType dtype : ops::testing::kWeightTypes) {
    if (options.wants(dtype)) many_rows(options, dtype);
  }
  print_heading("1 row, share of the read bandwidth", true);
  for (DType dtype : ops::testing::kWeightTypes) {
    if (options.wants(dtype)) one_row(options, dtype);
  }
  return 0;
}

}  // namespace
}  // namespace sightline::bench

int main(int argc, char** argv) { return sightline::bench::run(sightline::bench::parse(argc, argv)); }
