#include "src/ops/linear.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "sightline/error.h"
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

using WeightRows = const std::byte* [kTileOuts];

// chains[r][o][c] = fma chain over i = c, c + 16, c + 32, ... of x[r][i] * w[o][i], from 0.
template <int kRows, bool kPrefetch>
HWY_INLINE void sum_chains(const float* HWY_RESTRICT x, std::int64_t in, const WeightRows& w,
                           float* HWY_RESTRICT chains) {
  for (std::size_t part = 0; part < kChains; part += kLanes) {
    F sum[kRows][kTileOuts];
    HWY_UNROLL(4) for (int r = 0; r < kRows; ++r) {
      HWY_UNROLL(4) for (int o = 0; o < kTileOuts; ++o) sum[r][o] = hn::Zero(kF32);
    }
    for (std::int64_t i = part; i < in; i += kChains) {
      F xs[kRows];
      HWY_UNROLL(4) for (int r = 0; r < kRows; ++r) xs[r] = load(x + r * in + i);
      HWY_UNROLL(4) for (int o = 0; o < kTileOuts; ++o) {
        const std::byte* from = w[o] + i * sizeof(float);
        if (kPrefetch) hwy::Prefetch(from + kTileOuts * in * sizeof(float));
        const F weight = load_bytes(from);
        HWY_UNROLL(4) for (int r = 0; r < kRows; ++r) sum[r][o] = fma(xs[r], weight, sum[r][o]);
      }
    }
    HWY_UNROLL(4) for (int r = 0; r < kRows; ++r) {
      HWY_UNROLL(4) for (int o = 0; o < kTileOuts; ++o) store(sum[r][o], chains + (r * kTileOuts + o) * kChains + part);
    }
  }
}

// Sums of kRows x kTileOuts at `y` (row stride `out`), of which the first `outs` columns are kept.
template <int kRows>
HWY_INLINE void finish_tile(float* HWY_RESTRICT chains, const float* HWY_RESTRICT bias, int outs, std::int64_t out,
                            float* HWY_RESTRICT y) {
  constexpr std::size_t kSums = (kRows * kTileOuts + kLanes - 1) / kLanes * kLanes;
  alignas(64) float sums[kSums];
  fold_chains(chains, kSums, sums);
  for (int r = 0; r < kRows; ++r) {
    for (int o = 0; o < outs; ++o) y[r * out + o] = sums[r * kTileOuts + o] + (bias == nullptr ? 0.0f : bias[o]);
  }
}

template <int kRows, bool kPrefetch>
void compute_tile(const ops::LinearBlock& block, std::int64_t row, std::int64_t o, const WeightRows& w) {
  constexpr std::size_t kBuffer = (kRows * kTileOuts + kLanes) * kChains;
  alignas(64) float chains[kBuffer];
  sum_chains<kRows, kPrefetch>(block.x + row * block.padded_in, block.padded_in, w, chains);
  const ops::Linear& layer = *block.layer;
  const std::int64_t out = layer.weight.rows;
  const int outs = static_cast<int>(std::min<std::int64_t>(kTileOuts, block.out_end - o));
  finish_tile<kRows>(chains, layer.bias == nullptr ? nullptr : layer.bias + o, outs, out, block.y + row * out + o);
}

// Weight rows o ... o + 3 as fp32: in place where they can be, else widened and padded in `scratch`
// [kTileOuts][padded_in]. Rows past the end repeat the last one; their results are dropped.
void prepare_weights(const ops::LinearBlock& block, std::int64_t o, float* scratch, WeightRows& w) {
  const ops::WeightMatrix& weight = block.layer->weight;
  for (int k = 0; k < kTileOuts; ++k) {
    const std::byte* row = weight.row(std::min(o + k, block.out_end - 1));
    if (scratch == nullptr) {
      w[k] = row;
    } else {
      widen_row(row, weight.dtype, weight.cols, scratch + k * block.padded_in);
      w[k] = reinterpret_cast<const std::byte*>(scratch + k * block.padded_in);
    }
  }
}

template <bool kPrefetch>
void compute_rows(const ops::LinearBlock& block, std::int64_t row, int rows, std::int64_t o, const WeightRows& w) {
  switch (rows) {
    case 1:
      return compute_tile<1, kPrefetch>(block, row, o, w);
    case 2:
      return compute_tile<2, kPrefetch>(block, row, o, w);
    case 3:
      return compute_tile<3, kPrefetch>(block, row, o, w);
    default:
      return compute_tile<kTileRows, kPrefetch>(block, row, o, w);
  }
}

void linear_block(const ops::LinearBlock& block) {
  const ops::WeightMatrix& weight = block.layer->weight;
  AlignedBuffer<float> scratch;
  if (weight.dtype != DType::f32 || weight.cols != block.padded_in) {
    scratch = AlignedBuffer<float>::zeroed(kTileOuts * block.padded_in);
  }
  WeightRows w;
  for (std::int64_t o = block.out_begin; o < block.out_end; o += kTileOuts) {
    prepare_weights(block, o, scratch.data(), w);
    // The first rows find the weights in memory, the later ones in the cache.
    const bool prefetch = scratch.empty();
    for (std::int64_t row = block.row_begin; row < block.row_end; row += kTileRows) {
      const int rows = static_cast<int>(std::min<std::int64_t>(kTileRows, block.row_end - row));
      if (prefetch && row == block.row_begin) {
        compute_rows<true>(block, row, rows, o, w);
      } else {
        compute_rows<false>(block, row, rows, o, w);
      }
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
constexpr std::int64_t kBlockOuts =
    64;  // outputs of a task: 6 tasks even for 384, enough for the cores that such a model keeps busy

std::int64_t round_up(std::int64_t n, std::int64_t unit) { return (n + unit - 1) / unit * unit; }

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
  const std::int64_t out_blocks = (out + kBlockOuts - 1) / kBlockOuts;
  const auto compute = HWY_DYNAMIC_DISPATCH(linear_block);
  cpu::parallel_for(row_blocks * out_blocks, threads, [&](std::int64_t task) {
    const std::int64_t row = task / out_blocks * block_rows, o = task % out_blocks * kBlockOuts;
    compute({&layer, rows_in, y, padded_in, row, std::min(row + block_rows, rows), o, std::min(o + kBlockOuts, out)});
  });
}

}  // namespace ops
}  // namespace sightline
#endif  // HWY_ONCE
