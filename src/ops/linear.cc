#include "src/ops/linear.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "sightline/error.h"
#include "src/cpu/dispatch.h"
#include "src/cpu/parallel.h"
#include "src/cpu/target.h"
#include "src/ops/fast_linear.h"
#include "src/ops/linear_block.h"
#include "src/tensor/aligned_buffer.h"
#include "src/tensor/blocks.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/ops/linear.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, as Highway asks.
#include "src/ops/linear_one_row-inl.h"
#include "src/ops/linear_tiles-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sightline {
namespace HWY_NAMESPACE {
namespace {

void linear_block(const ops::LinearBlock& block) {
  const ops::WeightMatrix& weight = block.layer->weight;
  if (block.row_end - block.row_begin > 1) return many_rows(block);
  if (weight.transposed) return one_row_transposed(block);
  // Rows that end within the chains have to be padded.
  if (weight.cols != block.padded_in) return many_rows(block);
  one_row(block);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace sightline
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sightline {
HWY_EXPORT(linear_block);

namespace ops {
namespace {

constexpr std::int64_t kPad = 16;       // chains of the sum
constexpr std::int64_t kOutsTile = 4;   // outputs that are computed together
constexpr std::int64_t kRowsTile = 12;  // a multiple of what is computed together, on every target

std::int64_t round_up(std::int64_t n, std::int64_t unit) { return (n + unit - 1) / unit * unit; }
std::int64_t parts(std::int64_t n, std::int64_t size) { return (n + size - 1) / size; }

// How a layer is cut into tasks.
struct Cuts {
  std::int64_t rows, outs;  // of a task
  std::int64_t panel_outs;
};

// Few rows: each weight is used so few times that it should not leave the first-level cache in between, and a task is
// 64 outputs (some 10 us of work for one row) to 256 (a stream of 64 rows is as good as an endless one).
constexpr std::int64_t kFewRows = 24;

Cuts cut_few(std::int64_t rows, std::int64_t out, int threads) {
  return {rows, std::clamp<std::int64_t>(round_up(parts(out, threads), kOutsTile), 64, 256), kOutsTile};
}

// One row: weights come in streams, one for each quarter of a task, and every stream begins by waiting for memory. Of
// one MiB a task, or what falls to each thread, that is 5 %; of 64 outputs a stream, as for a few rows, it was 20 %.
// Where there are more threads than one they take a quarter of their part at a time, in case something else runs.
Cuts cut_one(const WeightMatrix& weight, int threads) {
  if (threads == 1) return {1, weight.rows, kOutsTile};
  const std::int64_t part = parts(weight.rows, threads);
  const std::int64_t long_enough = parts(1 << 20, std::max<std::int64_t>(weight.row_bytes(), 1));
  return {1, round_up(std::min(part, std::max(parts(part, 4), long_enough)), kOutsTile), kOutsTile};
}

// Many rows: a panel of weights is widened once for all rows of a task. 256 KiB of them stay in the second-level cache
// while tiles of rows pass by, whose inputs come from further away; but tiles should pass by 16 outputs at least.
Cuts cut_many(std::int64_t rows, std::int64_t out, std::int64_t padded_in, int threads) {
  const std::int64_t most = std::clamp<std::int64_t>((64 << 10) / padded_in, 16, 256);
  // As many tasks as threads, or twice as many, ..., of like size.
  const std::int64_t panels = std::min(round_up(parts(out, most), threads), std::max<std::int64_t>(parts(out, 16), 1));
  const std::int64_t outs = round_up(parts(out, panels), kOutsTile);
  const std::int64_t row_parts = parts(threads, parts(out, outs));
  return {round_up(parts(rows, row_parts), kRowsTile), outs, outs};
}

Cuts cut(const WeightMatrix& weight, std::int64_t rows, std::int64_t padded_in, int threads) {
  if (rows == 1 && !weight.transposed) return cut_one(weight, threads);
  if (rows <= kFewRows) return cut_few(rows, weight.rows, threads);
  return cut_many(rows, weight.rows, padded_in, threads);
}

AlignedBuffer<float> pad_rows(const float* x, std::int64_t rows, std::int64_t in, std::int64_t padded_in) {
  AlignedBuffer<float> padded = AlignedBuffer<float>::zeroed(rows * padded_in);
  for (std::int64_t r = 0; r < rows && in > 0; ++r) {
    std::memcpy(padded.data() + r * padded_in, x + r * in, in * sizeof(float));
  }
  return padded;
}

const FastLinear& fast_unit(const FastProducts& products) {
  return std::string_view(products.instruction) == amx_linear()->instruction ? *amx_linear() : *avx512_linear();
}

}  // namespace

void linear(const Linear& layer, const float* x, std::int64_t rows, float* y, int threads, Precision precision) {
  check_weights(layer.weight, "linear layer");
  if (rows < 0) throw BadArgument("linear layer: negative size");
  cpu::ensure_target();
  const std::int64_t in = layer.weight.cols, out = layer.weight.rows;
  const FastProducts* const fast = products_of(precision);
  if (rows == 0 || out == 0) return;
  if (fast != nullptr) return fast_linear(fast_unit(*fast), *fast, layer, x, rows, y, threads);
  const std::int64_t padded_in = std::max(round_up(in, kPad), kPad);
  AlignedBuffer<float> padded;
  if (padded_in != in) padded = pad_rows(x, rows, in, padded_in);
  const float* rows_in = padded.empty() ? x : padded.data();

  const int workers = cpu::Workers(threads).count();
  const Cuts cuts = cut(layer.weight, rows, padded_in, workers);
  const std::int64_t row_blocks = parts(rows, cuts.rows), out_blocks = parts(out, cuts.outs);
  const auto compute = SIGHTLINE_DISPATCH(linear_block);
  cpu::parallel_for(row_blocks * out_blocks, threads, [&](std::int64_t task) {
    const std::int64_t row = task / out_blocks * cuts.rows, o = task % out_blocks * cuts.outs;
    compute({&layer, rows_in, y, padded_in, row, std::min(row + cuts.rows, rows), o, std::min(o + cuts.outs, out),
             cuts.panel_outs});
  });
}

}  // namespace ops
}  // namespace sightline
#endif  // HWY_ONCE
