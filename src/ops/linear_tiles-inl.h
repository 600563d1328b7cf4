// Linear layers for many rows: weights are widened once, into panels of fp32, which tiles of rows pass by.
// Included once per target by way of hwy/foreach_target.h.

#if defined(SIGHTLINE_OPS_LINEAR_TILES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SIGHTLINE_OPS_LINEAR_TILES_INL_H_
#undef SIGHTLINE_OPS_LINEAR_TILES_INL_H_
#else
#define SIGHTLINE_OPS_LINEAR_TILES_INL_H_
#endif

#include <algorithm>
#include <cstring>

#include "src/ops/fold-inl.h"
#include "src/ops/linear_block.h"
#include "src/ops/widen-inl.h"
#include "src/tensor/aligned_buffer.h"

HWY_BEFORE_NAMESPACE();
namespace sightline {
namespace HWY_NAMESPACE {

// Register block: kTileRows x kTileOuts accumulators, a vector of weights, kTileRows of x. 6 x 4 fills 31 registers of
// 32 and loads 10 vectors for 24 fma; with 16 registers 3 x 4 fits.
inline constexpr int kTileRows = kVectorRegisters >= 32 ? 6 : 3;
inline constexpr int kTileOuts = 4;
inline constexpr int kTileSums = kTileRows * kTileOuts;
// Inputs that a tile of rows goes through at a time: 6 x 1024 of x (24 KiB) stay in the first-level cache while the
// panel's weights pass by. The chains wait in memory meanwhile.
inline constexpr std::int64_t kDepth = 1024;
inline constexpr std::int64_t kStep = kTileOuts * kChains;  // floats of a panel for 16 inputs of four outputs

// A panel: [outs / 4, padded_in / 16, 4, 16], so that a tile reads one stream of whole cache lines. An output past the
// end repeats the one before.
template <DType kType>
void widen_rows(const ops::LinearBlock& block, std::int64_t first, std::int64_t outs, float* HWY_RESTRICT panel) {
  const ops::WeightMatrix& weight = block.layer->weight;
  const std::int64_t whole = weight.cols / kChains * kChains;
  for (std::int64_t o = 0; o < outs; ++o) {
    const std::byte* row = weight.stored_row(std::min(first + o, block.out_end - 1));
    float* to = panel + o / kTileOuts * kTileOuts * block.padded_in + o % kTileOuts * kChains;
    widen_row<kType>(row, weight.cols, [&](std::size_t i, F value) SIGHTLINE_LAMBDA {
      store(value, to + i / kChains * kStep + i % kChains);
    });
    if (is_block(kType) || whole == block.padded_in) continue;
    float* rest = to + whole / kChains * kStep;
    std::fill_n(rest, kChains, 0.0f);
    for (std::int64_t i = whole; i < weight.cols; ++i) {
      rest[i - whole] = element_as_f32(kType, row + i * static_cast<std::int64_t>(dtype_size(kType)));
    }
  }
}

// The same of a matrix stored [in, out]: columns, kChains at a time, become rows by way of a square.
template <DType kType>
void widen_columns(const ops::LinearBlock& block, std::int64_t first, std::int64_t outs, float* HWY_RESTRICT panel) {
  const ops::WeightMatrix& weight = block.layer->weight;
  const std::int64_t held = std::min(outs, block.out_end - first), size = dtype_size(kType);
  alignas(64) float square[kChains][kChains];
  for (std::int64_t i = 0; i < block.padded_in; i += kChains) {
    for (std::int64_t o = 0; o < outs; o += kChains) {
      const std::int64_t columns = std::clamp<std::int64_t>(held - o, 0, kChains);
      for (std::int64_t r = 0; r < static_cast<std::int64_t>(kChains); ++r) {
        std::fill_n(square[r], kChains, 0.0f);
        if (i + r >= weight.cols) continue;
        const std::byte* from = weight.stored_row(i + r) + (first + o) * size;
        if (columns == kChains) {
          widen_unit<kType>(from, [&](std::size_t c, F value) SIGHTLINE_LAMBDA { store(value, square[r] + c); });
        } else {
          for (std::int64_t c = 0; c < columns; ++c) square[r][c] = element_as_f32(kType, from + c * size);
        }
      }
      for (std::int64_t c = 0; c < std::min<std::int64_t>(kChains, outs - o); ++c) {
        float* to = panel + (o + c) / kTileOuts * kTileOuts * block.padded_in + i / kChains * kStep +
                    (o + c) % kTileOuts * kChains;
        for (std::size_t r = 0; r < kChains; ++r) to[r] = square[r][c];
      }
    }
  }
}

inline void widen_panel(const ops::LinearBlock& block, std::int64_t first, std::int64_t outs, float* panel) {
  with_weight_type(block.layer->weight.dtype, [&](auto type) SIGHTLINE_LAMBDA {
    constexpr DType kType = decltype(type)::value;
    if (!block.layer->weight.transposed) return widen_rows<kType>(block, first, outs, panel);
    if constexpr (!is_block(kType)) widen_columns<kType>(block, first, outs, panel);
  });
}

// A run of inputs of four outputs.
struct TileStep {
  const float* x;  // kRows rows, `stride` apart
  std::int64_t stride;
  const float* weights;  // of a panel
  std::int64_t inputs;   // a multiple of kChains
  float* chains;         // [kTileSums, kChains]
  bool first, last;      // of the sum: chains are then not read, or not written
};

// sum[r][o], lanes: fma chains over i = lane, lane + 16, ... of x[r][i] * w[o][i]. part: the first of the chains.
template <int kRows>
HWY_INLINE void sum_chains(const TileStep& step, std::size_t part, F (&sum)[kRows][kTileOuts]) {
  HWY_UNROLL(6) for (int r = 0; r < kRows; ++r) {
    HWY_UNROLL(4) for (int o = 0; o < kTileOuts; ++o) {
      sum[r][o] = step.first ? hn::Zero(kF32) : load(step.chains + (r * kTileOuts + o) * kChains + part);
    }
  }
  const float* HWY_RESTRICT x = step.x + part;
  const float* HWY_RESTRICT weights = step.weights + part;
  for (std::int64_t i = 0; i < step.inputs; i += kChains) {
    F xs[kRows];
    HWY_UNROLL(6) for (int r = 0; r < kRows; ++r) xs[r] = load(x + r * step.stride + i);
    HWY_UNROLL(4) for (int o = 0; o < kTileOuts; ++o) {
      const F weight = load(weights + i * kTileOuts + o * kChains);
      HWY_UNROLL(6) for (int r = 0; r < kRows; ++r) sum[r][o] = fma(xs[r], weight, sum[r][o]);
    }
  }
}

// sums[r][o] + bias, [kRows, kTileOuts]; bias: [4, kTileOuts], of the outputs over and over.
template <int kRows, class Chain>
HWY_INLINE void fold_sums(Chain chain, const float* bias, float* HWY_RESTRICT sums) {
  constexpr int kSums = kRows * kTileOuts, kFolds = (kSums + kLanes - 1) / kLanes;
  unroll<kFolds>([&](auto fold) SIGHTLINE_LAMBDA {
    constexpr int kFirst = decltype(fold)::value * kLanes;
    const auto part = [&](int i, int p)
                          SIGHTLINE_LAMBDA { return kFirst + i < kSums ? chain(kFirst + i, p) : hn::Zero(kF32); };
    store(hn::Add(fold_lanes(part), load(bias + kFirst % kChains)), sums + kFirst);
  });
}

// Advances the chains of a tile; after the last step sums has them folded, [kRows, kTileOuts].
template <int kRows>
HWY_INLINE void advance(const TileStep& step, const float* bias, float* HWY_RESTRICT sums) {
  for (std::size_t part = 0; part < kChains; part += kLanes) {
    F sum[kRows][kTileOuts];
    sum_chains<kRows>(step, part, sum);
    if (kParts == 1 && step.last) {  // all chains of a sum are in one register
      const auto chain = [&](int i, int) SIGHTLINE_LAMBDA { return sum[i / kTileOuts % kRows][i % kTileOuts]; };
      return fold_sums<kRows>(chain, bias, sums);
    }
    HWY_UNROLL(6) for (int r = 0; r < kRows; ++r) {
      HWY_UNROLL(4) for (int o = 0; o < kTileOuts; ++o) {
        store(sum[r][o], step.chains + (r * kTileOuts + o) * kChains + part);
      }
    }
  }
  if (!step.last) return;
  const auto chain = [&](int i, int p) SIGHTLINE_LAMBDA { return load(step.chains + i * kChains + p * kLanes); };
  fold_sums<kRows>(chain, bias, sums);
}

// kRows rows against a panel of outputs [first, ...).
template <int kRows>
void compute_tile(const ops::LinearBlock& block, std::int64_t row, std::int64_t first, const float* panel,
                  float* chains) {
  const std::int64_t out = block.layer->weight.rows, end = std::min(first + block.panel_outs, block.out_end);
  for (std::int64_t depth = 0; depth < std::max<std::int64_t>(block.padded_in, 1); depth += kDepth) {
    const std::int64_t inputs = std::min(kDepth, block.padded_in - depth);
    const bool last = depth + inputs == block.padded_in;
    for (std::int64_t o = first; o < end; o += kTileOuts) {
      const std::int64_t quad = (o - first) / kTileOuts;
      const TileStep step = {block.x + row * block.padded_in + depth,
                             block.padded_in,
                             panel + quad * kTileOuts * block.padded_in + depth * kTileOuts,
                             inputs,
                             chains + quad * kTileSums * static_cast<std::int64_t>(kChains),
                             depth == 0,
                             last};
      alignas(64) float bias[kChains], sums[(kTileSums + kChains - 1) / kChains * kChains];
      const int held = static_cast<int>(std::min<std::int64_t>(kTileOuts, end - o));
      for (int i = 0; last && i < static_cast<int>(kChains); ++i)
        bias[i] = block.bias(o + std::min(i % kTileOuts, held - 1));
      advance<kRows>(step, bias, sums);
      if (!last) continue;
      for (int r = 0; r < kRows; ++r) {
        float* y = block.y + (row + r) * out + o;
        if (held == kTileOuts) {  // of a known length: one store
          std::memcpy(y, sums + r * kTileOuts, kTileOuts * sizeof(float));
        } else {
          std::copy_n(sums + r * kTileOuts, held, y);
        }
      }
    }
  }
}

// As many rows as are left, up to a tile.
template <int kRows = kTileRows>
HWY_INLINE void compute_rows(const ops::LinearBlock& block, std::int64_t row, std::int64_t first, const float* panel,
                             float* chains) {
  if constexpr (kRows > 1) {
    if (block.row_end - row < kRows) return compute_rows<kRows - 1>(block, row, first, panel, chains);
  }
  compute_tile<kRows>(block, row, first, panel, chains);
}

inline void many_rows(const ops::LinearBlock& block) {
  AlignedBuffer<float> panel(block.panel_outs * block.padded_in);
  AlignedBuffer<float> chains(block.panel_outs / kTileOuts * kTileSums * kChains);
  for (std::int64_t first = block.out_begin; first < block.out_end; first += block.panel_outs) {
    const std::int64_t outs = std::min(block.panel_outs, block.out_end - first);
    widen_panel(block, first, (outs + kTileOuts - 1) / kTileOuts * kTileOuts, panel.data());
    for (std::int64_t row = block.row_begin; row < block.row_end; row += kTileRows) {
      compute_rows(block, row, first, panel.data(), chains.data());
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace sightline
HWY_AFTER_NAMESPACE();

#endif  // SIGHTLINE_OPS_LINEAR_TILES_INL_H_
