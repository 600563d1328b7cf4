// Linear layers for one row: each weight is used once, so it goes from the file's bytes to the fma in registers.
// Included once per target by way of hwy/foreach_target.h.

#if defined(SIGHTLINE_OPS_LINEAR_ONE_ROW_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SIGHTLINE_OPS_LINEAR_ONE_ROW_INL_H_
#undef SIGHTLINE_OPS_LINEAR_ONE_ROW_INL_H_
#else
#define SIGHTLINE_OPS_LINEAR_ONE_ROW_INL_H_
#endif

#include <algorithm>
#include <array>

#include "hwy/cache_control.h"
#include "src/ops/fold-inl.h"
#include "src/ops/linear_block.h"
#include "src/ops/widen-inl.h"
#include "src/tensor/aligned_buffer.h"

HWY_BEFORE_NAMESPACE();
namespace sightline {
namespace HWY_NAMESPACE {

inline constexpr int kStreams = 4;           // outputs that are computed together
inline constexpr std::size_t kAhead = 3072;  // bytes that are asked for before they are needed

// to[o], o < kStreams: the sum of x and the row of weights at rows[o]. Of floats.
template <DType kType>
HWY_INLINE void dot_floats(const float* HWY_RESTRICT x, std::size_t in, const std::byte* const (&rows)[kStreams],
                           float* to) {
  constexpr std::size_t kWidth = unit_width<kType>(), kBytes = unit_bytes<kType>();
  F sum[kStreams][kParts];
  for (auto& of_row : sum) {
    for (F& chains : of_row) chains = hn::Zero(kF32);
  }
  const std::size_t units = in / kWidth;
  for (std::size_t unit = 0; unit < units; ++unit) {
    for (const std::byte* row : rows) hwy::Prefetch(row + unit * kBytes + kAhead);
    unroll<kStreams>([&](auto stream) SIGHTLINE_LAMBDA {
      constexpr int kOut = decltype(stream)::value;
      widen_unit<kType>(rows[kOut] + unit * kBytes, [&](std::size_t i, F value) SIGHTLINE_LAMBDA {
        F& chains = sum[kOut][i / kLanes % kParts];
        chains = fma(load(x + unit * kWidth + i), value, chains);
      });
    });
  }
  alignas(64) float sums[std::max<std::size_t>(kLanes, kStreams)];
  for (std::size_t first = 0; first < kStreams; first += kLanes) {
    const auto part = [&](int i, int p) SIGHTLINE_LAMBDA {
      return first + i < kStreams ? sum[(first + i) % kStreams][p] : hn::Zero(kF32);
    };
    store(fold_lanes(part), sums + first);
  }
  std::copy_n(sums, kStreams, to);
}

#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_AVX3
// The same of blocks. sum[team][b]: lane 4 r + j holds chain 4 j + b of row r of the team, as RowsInLanes has them; x
// is turned over to match.
template <DType kType>
HWY_INLINE void dot_blocks(const float* HWY_RESTRICT x, std::size_t in, const std::byte* const (&rows)[kStreams],
                           float* to) {
  constexpr int kTeams = kStreams / kRowsTogether;
  constexpr std::size_t kWidth = unit_width<kType>(), kBytes = unit_bytes<kType>();
  F sum[kTeams][4];
  for (auto& of_team : sum) {
    for (F& chains : of_team) chains = hn::Zero(kF32);
  }
  const std::size_t units = in / kWidth;
  for (std::size_t unit = 0; unit < units; ++unit) {
    // The next rows of a stream follow on this one. There are too many operations a byte for loads to run ahead alone.
    for (int o = 0; o < kStreams; ++o) {
      for (std::size_t line = 0; line < kBytes; line += 64) hwy::Prefetch(rows[o] + unit * kBytes + line + kAhead);
    }
    unroll<kTeams>([&](auto team) SIGHTLINE_LAMBDA {
      constexpr int kTeam = decltype(team)::value;
      widen_row_blocks<kType>(rows + kTeam * kRowsTogether, unit * kBytes,
                              [&](int first, int b, F value) SIGHTLINE_LAMBDA {
                                const F inputs = hn::LoadDup128(kF32, x + unit * kWidth + first + 4 * b);
                                sum[kTeam][b] = fma(inputs, value, sum[kTeam][b]);
                              });
    });
  }
  // The tree of fold-inl.h: j and j + 2, then j and j + 1; b and b + 2, then b and b + 1.
  unroll<kTeams>([&](auto team) SIGHTLINE_LAMBDA {
    constexpr int kTeam = decltype(team)::value;
    F folded[4];
    for (int b = 0; b < 4; ++b) {
      const F halves = hn::Add(sum[kTeam][b], hn::Shuffle1032(sum[kTeam][b]));
      folded[b] = hn::Add(halves, hn::Shuffle2301(halves));
    }
    alignas(64) float sums[kLanes];
    store(hn::Add(hn::Add(folded[0], folded[2]), hn::Add(folded[1], folded[3])), sums);
    for (int r = 0; r < kRowsTogether; ++r) to[kTeam * kRowsTogether + r] = sums[4 * r];
  });
}
#endif

#if HWY_TARGET == HWY_AVX3
// A block of each stream. The f16 that they begin with are widened together, by one instruction instead of eight that
// lookups and shifts wait for too.
template <DType kType>
HWY_INLINE std::array<TableBlock<kType>, kStreams> blocks_of(const std::byte* a, const std::byte* b, const std::byte* c,
                                                             const std::byte* d) {
  using Block = TableBlock<kType>;
  if constexpr (Block::kParts > 1 || kType == DType::mxfp4) {
    return {table_block<kType>(a), table_block<kType>(b), table_block<kType>(c), table_block<kType>(d)};
  } else {
    const auto bits = [](const std::byte* from) { return std::uint64_t{load_element<std::uint16_t>(from)}; };
    const std::uint64_t all = bits(a) | bits(b) << 16 | bits(c) << 32 | bits(d) << 48;
    const auto halves = hn::BitCast(hn::FixedTag<hwy::float16_t, 4>(), hn::Set(hn::FixedTag<std::uint64_t, 1>(), all));
    alignas(16) float scales[kStreams];
    const hn::FixedTag<float, 4> four;
    hn::Store(hn::PromoteTo(four, halves), four, scales);
    const float* stored = from_memory(scales);
    return {Block(a, splat(stored[0])), Block(b, splat(stored[1])), Block(c, splat(stored[2])),
            Block(d, splat(stored[3]))};
  }
}

// The same of blocks, whose rows take turns part by part.
template <DType kType>
HWY_INLINE void dot_blocks(const float* HWY_RESTRICT x, std::size_t in, const std::byte* const (&rows)[kStreams],
                           float* to) {
  using Block = TableBlock<kType>;
  constexpr std::size_t kWidth = unit_width<kType>(), kBytes = unit_bytes<kType>();
  F sum[kStreams];
  for (F& chains : sum) chains = hn::Zero(kF32);
  const std::size_t units = in / kWidth;
  for (std::size_t unit = 0; unit < units; ++unit, x += kWidth) {
    for (int o = 0; o < kStreams; ++o) {
      for (std::size_t line = 0; line < kBytes; line += 64) hwy::Prefetch(rows[o] + unit * kBytes + line + kAhead);
    }
    const auto at = [&](int o) SIGHTLINE_LAMBDA { return rows[o] + unit * kBytes; };
    const auto blocks = blocks_of<kType>(at(0), at(1), at(2), at(3));
    unroll<Block::kParts>([&](auto part) SIGHTLINE_LAMBDA {
      unroll<kStreams>([&](auto stream) SIGHTLINE_LAMBDA {
        constexpr int kOut = decltype(stream)::value;
        blocks[kOut].template emit<decltype(part)::value>(
            [&](int i, F value) SIGHTLINE_LAMBDA { sum[kOut] = fma(load(x + i), value, sum[kOut]); });
      });
    });
  }
  alignas(64) float sums[kLanes];
  store(fold_lanes([&](int i, int) SIGHTLINE_LAMBDA { return i < kStreams ? sum[i % kStreams] : hn::Zero(kF32); }),
        sums);
  std::copy_n(sums, kStreams, to);
}
#endif

template <DType kType>
HWY_INLINE void dot_rows(const float* HWY_RESTRICT x, std::size_t in, const std::byte* const (&rows)[kStreams],
                         float* to) {
#if HWY_TARGET != HWY_SCALAR
  if constexpr (is_block(kType)) return dot_blocks<kType>(x, in, rows, to);
#endif
  dot_floats<kType>(x, in, rows, to);
}

// x as dot_rows() takes it, empty where that is x itself: for rows of blocks side by side, of each 16 inputs first 0,
// 4, 8, 12, then 1, 5, ...
template <DType kType>
AlignedBuffer<float> turned_row(const float* x, std::int64_t in) {
  AlignedBuffer<float> turned;
  if constexpr (is_block(kType) && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_AVX3) {
    turned = AlignedBuffer<float>(in);
    for (std::int64_t i = 0; i < in; ++i) turned[i / 16 * 16 + i % 4 * 4 + i % 16 / 4] = x[i];
  }
  return turned;
}

// The outputs of a tile are a quarter of the block apart: four long streams reach 1.2 to 1.8 times the bandwidth that
// four neighbouring rows do.
template <DType kType>
void one_row_of(const ops::LinearBlock& block) {
  const ops::WeightMatrix& weight = block.layer->weight;
  const std::int64_t row_bytes = weight.row_bytes();
  const float* x = block.x + block.row_begin * block.padded_in;
  const AlignedBuffer<float> turned = turned_row<kType>(x, block.padded_in);
  if (!turned.empty()) x = turned.data();
  float* y = block.y + block.row_begin * weight.rows;
  const std::int64_t quarter = (block.out_end - block.out_begin + kStreams - 1) / kStreams;
  for (std::int64_t k = 0; k < quarter; ++k) {
    std::int64_t outs[kStreams];
    const std::byte* rows[kStreams];
    for (int o = 0; o < kStreams; ++o) {  // one past the end repeats the last
      outs[o] = std::min(block.out_begin + k + o * quarter, block.out_end - 1);
      rows[o] = weight.data + outs[o] * row_bytes;
    }
    float sums[kStreams];
    dot_rows<kType>(x, block.padded_in, rows, sums);
    for (int o = 0; o < kStreams; ++o) y[outs[o]] = sums[o] + block.bias(outs[o]);
  }
}

inline void one_row(const ops::LinearBlock& block) {
  with_weight_type(block.layer->weight.dtype,
                   [&](auto type) SIGHTLINE_LAMBDA { one_row_of<decltype(type)::value>(block); });
}

// Of a matrix stored [in, out]: outputs in the lanes, and so each of the 16 chains of an output in a row of its own of
// `chains`, [16, outs]. Four inputs of a chain are added at a time, so that its numbers are fetched once for four fma.
template <DType kType>
void add_inputs(const ops::LinearBlock& block, std::int64_t input, std::int64_t chain, float* HWY_RESTRICT sums) {
  const ops::WeightMatrix& weight = block.layer->weight;
  const float* x = block.x + block.row_begin * block.padded_in + input + chain;
  const std::int64_t outs = block.out_end - block.out_begin, size = dtype_size(kType);
  const std::byte* rows[4];
  int held = 0;
  for (; held < 4 && input + chain + held * static_cast<std::int64_t>(kChains) < weight.cols; ++held) {
    rows[held] = weight.stored_row(input + chain + held * kChains) + block.out_begin * size;
  }
  std::int64_t o = 0;
  for (; held == 4 && o + static_cast<std::int64_t>(kLanes) <= outs; o += kLanes) {
    F sum = load(sums + o);
    for (int k = 0; k < 4; ++k) sum = fma(splat(x[k * kChains]), widen_lanes<kType>(rows[k] + o * size), sum);
    store(sum, sums + o);
  }
  for (; o < outs; ++o) {
    for (int k = 0; k < held; ++k) {
      sums[o] = std::fma(x[k * kChains], element_as_f32(kType, rows[k] + o * size), sums[o]);
    }
  }
}

template <DType kType>
void one_row_transposed_of(const ops::LinearBlock& block) {
  const std::int64_t outs = block.out_end - block.out_begin, chains = kChains;
  AlignedBuffer<float> sums = AlignedBuffer<float>::zeroed(outs * chains);
  for (std::int64_t input = 0; input < block.padded_in; input += 4 * chains) {
    for (std::int64_t chain = 0; chain < chains; ++chain) {
      add_inputs<kType>(block, input, chain, sums.data() + chain * outs);
    }
  }
  for (std::int64_t half = chains / 2; half > 0; half /= 2) {  // the tree of fold-inl.h
    for (std::int64_t i = 0; i < half * outs; ++i) sums[i] += sums[half * outs + i];
  }
  float* y = block.y + block.row_begin * block.layer->weight.rows + block.out_begin;
  for (std::int64_t o = 0; o < outs; ++o) y[o] = sums[o] + block.bias(block.out_begin + o);
}

inline void one_row_transposed(const ops::LinearBlock& block) {
  with_weight_type(block.layer->weight.dtype, [&](auto type) SIGHTLINE_LAMBDA {
    constexpr DType kType = decltype(type)::value;
    if constexpr (!is_block(kType)) one_row_transposed_of<kType>(block);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace sightline
HWY_AFTER_NAMESPACE();

#endif  // SIGHTLINE_OPS_LINEAR_ONE_ROW_INL_H_
