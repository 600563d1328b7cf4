#include "src/ops/linear.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "sightline/error.h"
#include "src/cpu/dispatch.h"
#include "src/cpu/parallel.h"
#include "src/cpu/target.h"
#include "src/tensor/aligned_buffer.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/ops/linear.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, as Highway asks.
#include "hwy/cache_control.h"
#include "src/ops/fold-inl.h"
#include "src/ops/widen-inl.h"

#ifndef SIGHTLINE_OPS_LINEAR_BLOCK_
#define SIGHTLINE_OPS_LINEAR_BLOCK_
namespace sightline::ops {
namespace {

// What one task computes: y[row_begin, row_end) x [out_begin, out_end).
struct LinearBlock {
  const Linear* layer;
  const float* x;          // [rows, padded_in], zeros after `in`
  float* y;                // [rows, out]
  std::int64_t padded_in;  // a multiple of the 16 chains
  std::int64_t row_begin, row_end;
  std::int64_t out_begin, out_end;
};

}  // namespace
}  // namespace sightline::ops
#endif

HWY_BEFORE_NAMESPACE();
namespace sightline {
namespace HWY_NAMESPACE {
namespace {

// Register block: kTileRows x kTileOuts accumulators, the weights of a step, one vector of x. 4 x 4 fills 16
// accumulators, twice what hides a latency of 4 cycles at 2 fma a cycle, and folds without a remainder; with 16
// registers only 3 x 4 fits.
constexpr int kTileRows = kVectorRegisters >= 32 ? 4 : 3;
constexpr int kTileOuts = 4;
constexpr int kMaxSums = 16;
constexpr std::int64_t kLineBytes = 64;  // of a cache

// What all tiles of four outputs share.
struct TileWeights {
  const std::byte* row[kTileOuts];   // fp32, padded_in of them
  alignas(64) float bias[kMaxSums];  // of the outputs, over and over; 0 without a bias
  std::int64_t out[kTileOuts];
};

// sum[r][o], lanes: fma chains over i = lane, lane + 16, ... of x[r][i] * w[o][i], from 0; x and w begin at the part's
// first chain.
template <int kRows>
HWY_INLINE void sum_chains(const float* HWY_RESTRICT x, std::int64_t in, const TileWeights& w, std::int64_t part,
                           F (&sum)[kRows][kTileOuts]) {
  HWY_UNROLL(4) for (int r = 0; r < kRows; ++r) {
    HWY_UNROLL(4) for (int o = 0; o < kTileOuts; ++o) sum[r][o] = hn::Zero(kF32);
  }
  for (std::int64_t i = part; i < in; i += kChains) {
    F xs[kRows];
    HWY_UNROLL(4) for (int r = 0; r < kRows; ++r) xs[r] = load(x + r * in + i);
    HWY_UNROLL(4) for (int o = 0; o < kTileOuts; ++o) {
      const F weight = load_bytes(w.row[o] + i * sizeof(float));
      HWY_UNROLL(4) for (int r = 0; r < kRows; ++r) sum[r][o] = fma(xs[r], weight, sum[r][o]);
    }
  }
}

// sums[r][o] + bias for kRows rows at `x`.
template <int kRows>
HWY_INLINE void compute_sums(const float* HWY_RESTRICT x, std::int64_t in, const TileWeights& w,
                             float* HWY_RESTRICT sums) {
  constexpr int kSums = kRows * kTileOuts;
#if HWY_TARGET == HWY_AVX3
  F sum[kRows][kTileOuts];  // all chains of a sum in one register
  sum_chains<kRows>(x, in, w, 0, sum);
  const auto part = [&](int i, int) SIGHTLINE_LAMBDA {
    return i < kSums ? sum[i / kTileOuts % kRows][i % kTileOuts] : hn::Zero(kF32);
  };
  store(hn::Add(fold_lanes(part), load(w.bias)), sums);
#else
  alignas(64) float chains[kMaxSums * kChains];
  for (std::size_t p = 0; p < kParts; ++p) {
    F sum[kRows][kTileOuts];
    sum_chains<kRows>(x, in, w, p * kLanes, sum);
    for (int i = 0; i < kSums; ++i) store(sum[i / kTileOuts][i % kTileOuts], chains + i * kChains + p * kLanes);
  }
  for (int first = 0; first < kSums; first += kLanes) {
    const auto part = [&](int i, int p) SIGHTLINE_LAMBDA {
      return first + i < kSums ? load(chains + (first + i) * kChains + p * kLanes) : hn::Zero(kF32);
    };
    store(hn::Add(fold_lanes(part), load(w.bias + first)), sums + first);
  }
#endif
}

template <int kRows>
void compute_tile(const ops::LinearBlock& block, std::int64_t row, const TileWeights& w) {
  alignas(64) float sums[kMaxSums];
  compute_sums<kRows>(block.x + row * block.padded_in, block.padded_in, w, sums);
  const std::int64_t out = block.layer->weight.rows;
  for (int r = 0; r < kRows; ++r) {
    float* y = block.y + (row + r) * out;
    const float* from = sums + r * kTileOuts;
    if (w.out[kTileOuts - 1] == w.out[0] + kTileOuts - 1) {  // side by side: a quarter of the stores
      std::memcpy(y + w.out[0], from, kTileOuts * sizeof(float));
    } else {
      for (int o = 0; o < kTileOuts; ++o) y[w.out[o]] = from[o];
    }
  }
}

// The weights of outputs `first`, first + stride, ... as fp32: in place where they can be, else widened and padded in
// `scratch` [kTileOuts][padded_in]. An output past the end repeats the one before.
void prepare_weights(const ops::LinearBlock& block, std::int64_t first, std::int64_t stride, float* scratch,
                     TileWeights& w) {
  const ops::Linear& layer = *block.layer;
  std::int64_t out = first;
  for (int k = 0; k < kTileOuts; ++k) {
    if (first + k * stride < block.out_end) out = first + k * stride;
    const std::byte* row = layer.weight.row(out);
    if (scratch != nullptr) {
      widen_row(row, layer.weight.dtype, layer.weight.cols, scratch + k * block.padded_in);
      row = reinterpret_cast<const std::byte*>(scratch + k * block.padded_in);
    }
    w.row[k] = row;
    w.out[k] = out;
    for (int r = k; r < kMaxSums; r += kTileOuts) w.bias[r] = layer.bias == nullptr ? 0.0f : layer.bias[out];
  }
}

void compute_rows(const ops::LinearBlock& block, std::int64_t row, int rows, const TileWeights& w) {
  switch (rows) {
    case 1:
      return compute_tile<1>(block, row, w);
    case 2:
      return compute_tile<2>(block, row, w);
    case 3:
      return compute_tile<3>(block, row, w);
    default:
      return compute_tile<kTileRows>(block, row, w);
  }
}

void linear_block(const ops::LinearBlock& block) {
  const ops::WeightMatrix& weight = block.layer->weight;
  AlignedBuffer<float> scratch;
  if (weight.dtype != DType::f32 || weight.cols != block.padded_in) {
    scratch = AlignedBuffer<float>::zeroed(kTileOuts * block.padded_in);
  }
  // For few rows, weights come from memory: four long streams, each through a quarter of the block, reach 1.2 to 1.8
  // times the bandwidth that four neighbouring rows do. For many, results that lie side by side count for more.
  const std::int64_t quarter = (block.out_end - block.out_begin + kTileOuts - 1) / kTileOuts;
  const bool streams = block.row_end - block.row_begin <= kTileRows;
  TileWeights w;
  for (std::int64_t k = 0; k < quarter; ++k) {
    prepare_weights(block, block.out_begin + (streams ? k : k * kTileOuts), streams ? quarter : 1, scratch.data(), w);
    const std::int64_t next = std::min(block.out_begin + (k + 1) * kTileOuts, block.out_end);
    const std::int64_t bytes = streams ? 0 : (std::min(next + kTileOuts, block.out_end) - next) * weight.row_bytes();
    std::int64_t asked = 0;
    for (std::int64_t row = block.row_begin; row < block.row_end; row += kTileRows) {
      // Each tile of rows asks for its share of the next weights.
      const std::int64_t share = bytes * (row + kTileRows - block.row_begin) / (block.row_end - block.row_begin);
      for (; asked < std::min(share, bytes); asked += kLineBytes) hwy::Prefetch(weight.row(next) + asked);
      compute_rows(block, row, static_cast<int>(std::min<std::int64_t>(kTileRows, block.row_end - row)), w);
    }
  }
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

constexpr std::int64_t kPad = 16;  // chains of the sum

std::int64_t round_up(std::int64_t n, std::int64_t unit) { return (n + unit - 1) / unit * unit; }

// Outputs of a task: an equal share for each thread, but at least 64 (some 10 us of work for one row) and at most 256
// (a stream of 64 rows is as good as an endless one).
std::int64_t outs_per_block(std::int64_t out, int threads) {
  return std::clamp<std::int64_t>(round_up((out + threads - 1) / threads, 4), 64, 256);
}

// Rows of a task: x of about 256 KiB stays in the L2 cache while all weights of the block pass by.
std::int64_t rows_per_block(std::int64_t padded_in) {
  return std::clamp<std::int64_t>(round_up((64 << 10) / padded_in, 12), 12, 192);
}

void check(const Linear& layer, std::int64_t rows) {
  check_weight_dtype(layer.weight, "linear layer");
  if (rows < 0 || layer.weight.rows < 0 || layer.weight.cols < 0) {
    throw BadArgument("linear layer: negative size");
  }
}

AlignedBuffer<float> pad_rows(const float* x, std::int64_t rows, std::int64_t in, std::int64_t padded_in) {
  AlignedBuffer<float> padded = AlignedBuffer<float>::zeroed(rows * padded_in);
  for (std::int64_t r = 0; r < rows; ++r) std::memcpy(padded.data() + r * padded_in, x + r * in, in * sizeof(float));
  return padded;
}

}  // namespace

void linear(const Linear& layer, const float* x, std::int64_t rows, float* y, int threads) {
  check(layer, rows);
  cpu::ensure_target();
  const std::int64_t in = layer.weight.cols, out = layer.weight.rows;
  const std::int64_t padded_in = round_up(in, kPad);
  AlignedBuffer<float> padded;
  if (padded_in != in) padded = pad_rows(x, rows, in, padded_in);
  const float* rows_in = padded.empty() ? x : padded.data();

  const std::int64_t block_rows = rows_per_block(std::max(padded_in, kPad));
  const std::int64_t row_blocks = (rows + block_rows - 1) / block_rows;
  const std::int64_t block_outs = outs_per_block(out, cpu::Workers(threads).count());
  const std::int64_t out_blocks = (out + block_outs - 1) / block_outs;
  const auto compute = SIGHTLINE_DISPATCH(linear_block);
  cpu::parallel_for(row_blocks * out_blocks, threads, [&](std::int64_t task) {
    const std::int64_t row = task / out_blocks * block_rows, o = task % out_blocks * block_outs;
    compute({&layer, rows_in, y, padded_in, row, std::min(row + block_rows, rows), o, std::min(o + block_outs, out)});
  });
}

}  // namespace ops
}  // namespace sightline
#endif  // HWY_ONCE
