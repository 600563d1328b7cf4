// The candidates of bench/linear_order.cc. Included once per target by way of hwy/foreach_target.h; only AVX-512 has
// kernels.
//
//   1 chain    one fma chain over the inputs; outputs in lanes, so weights are transposed: in registers for 1 token,
//   tile by tile for many 16 chains  by index mod 16, folded by a fixed tree; weights are read along their rows 32
//   chains  by index mod 32, likewise

#ifndef SIGHTLINE_BENCH_LINEAR_ORDER_TYPES_
#define SIGHTLINE_BENCH_LINEAR_ORDER_TYPES_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "src/tensor/half.h"

namespace sightline::bench {

enum class Format { f32, q8_0, q4_k };
inline constexpr const char* kFormatNames[] = {"F32", "Q8_0", "Q4_K"};
inline constexpr const char* kCandidateNames[] = {"1 chain", "16 chains", "32 chains"};
inline constexpr int kCandidates = 3, kReaders = 4;

using OneToken = void (*)(const float* x, const std::byte* w, std::int64_t out, std::int64_t in, float* y);
using ManyTokens = void (*)(const float* x, std::int64_t rows, const std::byte* w, std::int64_t out, std::int64_t in,
                            float* y);

struct Kernels {
  OneToken one_token[3][kCandidates];  // [format][candidate]
  ManyTokens many_tokens[kCandidates];
  // Sum all bytes as fp32: plain readers.
  float (*read[kReaders])(const std::uint8_t* bytes, std::size_t count);
  void (*peak)(double flops);  // that many operations in independent fma chains
};

// GGUF's Q8_0: 32 weights as an fp16 scale d and 32 signed bytes; weight = d * q.
inline constexpr std::size_t kQ8Bytes = 34;
// GGUF's Q4_K: 256 weights as fp16 d and dmin, 8 scales and 8 minima of 6 bits in 12 bytes, 128 bytes of nibbles: bytes
// 32 j ... 32 j + 31 hold sub-block 2 j in their low and 2 j + 1 in their high halves; weight = d * scale * q - dmin *
// minimum.
inline constexpr std::size_t kQ4Bytes = 144;

inline std::int64_t row_bytes(Format format, std::int64_t in) {
  if (format == Format::f32) return in * 4;
  return format == Format::q8_0 ? in / 32 * static_cast<std::int64_t>(kQ8Bytes)
                                : in / 256 * static_cast<std::int64_t>(kQ4Bytes);
}

inline float half_at(const std::byte* from) {
  std::uint16_t bits;
  std::memcpy(&bits, from, 2);
  return f16_to_f32(bits);
}

struct Q4Scales {
  float scale[8], minimum[8];
};

inline Q4Scales q4_scales(const std::byte* block) {
  const auto at = [block](int i) { return static_cast<unsigned>(block[4 + i]); };
  const float d = half_at(block), dmin = half_at(block + 2);
  Q4Scales s;
  for (int i = 0; i < 4; ++i) {
    s.scale[i] = d * static_cast<float>(at(i) & 63);
    s.minimum[i] = dmin * static_cast<float>(at(i + 4) & 63);
    s.scale[i + 4] = d * static_cast<float>((at(i + 8) & 15) | (at(i) >> 6) << 4);
    s.minimum[i + 4] = dmin * static_cast<float>((at(i + 8) >> 4) | (at(i + 4) >> 6) << 4);
  }
  return s;
}

inline void dequantise_row(Format format, const std::byte* w, std::int64_t in, float* row) {
  if (format == Format::f32) std::memcpy(row, w, in * 4);
  for (std::int64_t i = 0; format == Format::q8_0 && i < in; ++i) {
    const std::byte* block = w + i / 32 * kQ8Bytes;
    row[i] = half_at(block) * static_cast<float>(static_cast<std::int8_t>(block[2 + i % 32]));
  }
  for (std::int64_t i = 0; format == Format::q4_k && i < in; ++i) {
    const std::byte* block = w + i / 256 * kQ4Bytes;
    const Q4Scales s = q4_scales(block);
    const std::int64_t sub = i % 256 / 32;
    const unsigned byte = static_cast<unsigned>(block[16 + sub / 2 * 32 + i % 32]);
    row[i] = s.scale[sub] * static_cast<float>(sub % 2 == 0 ? byte & 15 : byte >> 4) - s.minimum[sub];
  }
}

}  // namespace sightline::bench
#endif  // SIGHTLINE_BENCH_LINEAR_ORDER_TYPES_

#if defined(SIGHTLINE_BENCH_LINEAR_ORDER_KERNELS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SIGHTLINE_BENCH_LINEAR_ORDER_KERNELS_INL_H_
#undef SIGHTLINE_BENCH_LINEAR_ORDER_KERNELS_INL_H_
#else
#define SIGHTLINE_BENCH_LINEAR_ORDER_KERNELS_INL_H_
#endif

#include "src/ops/fold-inl.h"
#include "src/ops/widen-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sightline {
namespace HWY_NAMESPACE {
namespace {

#if HWY_TARGET == HWY_AVX3

using U = hn::Vec<DU>;
using hn::BitCast;

// A run of weights of one row, prepared once, of which 16 are had at a time.
struct F32Row {
  static constexpr int kWeights = 32;
  static constexpr std::size_t kBytes = 128;
  const std::byte* from;
  explicit F32Row(const std::byte* block) : from(block) {}
  HWY_INLINE F weights(int group) const { return widen_lanes<DType::f32>(from + 64 * group); }
};

HWY_INLINE F from_signed_bytes(const std::byte* from) {
  const hn::Rebind<std::int8_t, DF> bytes;
  return hn::ConvertTo(kF32, hn::PromoteTo(kI32, hn::LoadU(bytes, reinterpret_cast<const std::int8_t*>(from))));
}

struct Q8Row {
  static constexpr int kWeights = 32;
  static constexpr std::size_t kBytes = bench::kQ8Bytes;
  const std::byte* from;
  F scale;
  explicit Q8Row(const std::byte* block) : from(block + 2), scale(splat(bench::half_at(block))) {}
  HWY_INLINE F weights(int group) const { return hn::Mul(from_signed_bytes(from + 16 * group), scale); }
};

struct Q4Row {
  static constexpr int kWeights = 256;
  static constexpr std::size_t kBytes = bench::kQ4Bytes;
  const std::byte* from;
  bench::Q4Scales scales;
  explicit Q4Row(const std::byte* block) : from(block + 16), scales(bench::q4_scales(block)) {}
  HWY_INLINE F weights(int group) const {
    const int sub = group / 2;
    const hn::Rebind<std::uint8_t, DF> bytes;
    const auto* at = reinterpret_cast<const std::uint8_t*>(from + 32 * (sub / 2) + 16 * (group % 2));
    const auto pair = hn::PromoteTo(kI32, hn::LoadU(bytes, at));
    const auto q = sub % 2 == 0 ? hn::And(pair, hn::Set(kI32, 15)) : hn::ShiftRight<4>(pair);
    return fma(hn::ConvertTo(kF32, q), splat(scales.scale[sub]), splat(-scales.minimum[sub]));
  }
};

// 4 outputs x kRows rows of x, in kSets sets of 16 chains each.
template <class Row, int kSets, int kRows>
HWY_INLINE void sum_tile(const float* x, const std::byte* w, std::int64_t in, std::int64_t stride, float* sums) {
  F sum[kSets][kRows][4];
  for (auto& set : sum) {
    for (auto& row : set) {
      for (F& s : row) s = hn::Zero(kF32);
    }
  }
  for (std::int64_t b = 0; b < in / Row::kWeights; ++b) {
    const std::byte* at = w + b * Row::kBytes;
    const Row rows[4] = {Row(at), Row(at + stride), Row(at + 2 * stride), Row(at + 3 * stride)};
    for (int o = 0; kRows == 1 && o < 4; ++o) {  // the next four rows
      for (std::size_t line = 0; line < Row::kBytes; line += 64) __builtin_prefetch(at + (4 + o) * stride + line);
    }
    HWY_UNROLL(16) for (int g = 0; g < Row::kWeights / 16; ++g) {
      F xs[kRows];
      HWY_UNROLL(4) for (int r = 0; r < kRows; ++r) xs[r] = load(x + r * in + b * Row::kWeights + 16 * g);
      HWY_UNROLL(4) for (int o = 0; o < 4; ++o) {
        const F weights = rows[o].weights(g);
        HWY_UNROLL(4) for (int r = 0; r < kRows; ++r) sum[g % kSets][r][o] = fma(xs[r], weights, sum[g % kSets][r][o]);
      }
    }
  }
  alignas(64) float chains[16 * 16];
  for (int r = 0; r < kRows; ++r) {
    for (int o = 0; o < 4; ++o) {
      F all = sum[0][r][o];
      for (int set = 1; set < kSets; ++set) all = hn::Add(all, sum[set][r][o]);
      store(all, chains + (r * 4 + o) * 16);
    }
  }
  store(fold_lanes([&](int i, int) SIGHTLINE_LAMBDA { return load(chains + 16 * i); }), sums);
}

template <class Row, int kSets>
void one_token(const float* x, const std::byte* w, std::int64_t out, std::int64_t in, float* y) {
  const std::int64_t stride = in / Row::kWeights * Row::kBytes;
  for (std::int64_t o = 0; o < out; o += 4) {
    alignas(64) float sums[16];
    sum_tile<Row, kSets, 1>(x, w + o * stride, in, stride, sums);
    std::memcpy(y + o, sums, 16);
  }
}

// kRows: what the registers hold, 16 accumulators with 16 chains, 24 with 32.
template <int kSets, int kRows>
void many_tokens(const float* x, std::int64_t rows, const std::byte* w, std::int64_t out, std::int64_t in, float* y) {
  constexpr std::int64_t kBlock = 120;  // rows whose x stays in the L2 cache
  for (std::int64_t begin = 0; begin < rows; begin += kBlock) {
    for (std::int64_t o = 0; o < out; o += 4) {
      for (std::int64_t r = begin; r < std::min(begin + kBlock, rows); r += kRows) {
        const std::int64_t first = std::min(r, rows - kRows);  // the last tile may overlap
        alignas(64) float sums[16];
        sum_tile<F32Row, kSets, kRows>(x + first * in, w + o * in * 4, in, in * 4, sums);
        for (int k = 0; k < kRows; ++k) std::memcpy(y + (first + k) * out + o, sums + 4 * k, 16);
      }
    }
  }
}

// 4 x 4 blocks: v[4 g + c] block k becomes column 4 k + c of rows 4 g ... 4 g + 3.
HWY_INLINE void transpose_in_blocks(F v[4]) {
  const hn::Repartition<double, DF> d64;
  const F a = hn::InterleaveLower(kF32, v[0], v[1]), b = hn::InterleaveUpper(kF32, v[0], v[1]);
  const F c = hn::InterleaveLower(kF32, v[2], v[3]), d = hn::InterleaveUpper(kF32, v[2], v[3]);
  const auto lower = [&](F x, F y) SIGHTLINE_LAMBDA {
    return BitCast(kF32, hn::InterleaveLower(d64, BitCast(d64, x), BitCast(d64, y)));
  };
  const auto upper = [&](F x, F y) SIGHTLINE_LAMBDA {
    return BitCast(kF32, hn::InterleaveUpper(d64, BitCast(d64, x), BitCast(d64, y)));
  };
  v[0] = lower(a, c), v[1] = upper(a, c), v[2] = lower(b, d), v[3] = upper(b, d);
}

// [a0 a1 a2 a3], [b0 b1 b2 b3] (blocks) to [a0 b0 a2 b2], [a1 b1 a3 b3].
HWY_INLINE void swap_odd_blocks(F& a, F& b) {
  const F even = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(b), a);
  b = hn::OddEvenBlocks(b, hn::SwapAdjacentBlocks(a));
  a = even;
}

// 16 rows of 16 to 16 columns; column 4 k + c ends in v[4 k + c].
HWY_INLINE void transpose16(F v[16]) {
  for (int g = 0; g < 4; ++g) transpose_in_blocks(v + 4 * g);
  for (int c = 0; c < 4; ++c) {
    swap_odd_blocks(v[c], v[4 + c]);       // [g0k0 g1k0 g0k2 g1k2], [g0k1 g1k1 g0k3 g1k3]
    swap_odd_blocks(v[8 + c], v[12 + c]);  // likewise g2, g3
    const F k02a = v[c], k13a = v[4 + c], k02b = v[8 + c], k13b = v[12 + c];
    v[c] = hn::ConcatLowerLower(kF32, k02b, k02a);
    v[4 + c] = hn::ConcatLowerLower(kF32, k13b, k13a);
    v[8 + c] = hn::ConcatUpperUpper(kF32, k02b, k02a);
    v[12 + c] = hn::ConcatUpperUpper(kF32, k13b, k13a);
  }
}

// 16 rows of 32 bytes, `stride` apart: word c holds bytes 4 c ... 4 c + 3 of all rows.
HWY_INLINE void transpose_bytes(const std::byte* from, std::int64_t stride, U words[8]) {
  const hn::Half<DF> half;
  F v[8];
  for (int r = 0; r < 8; ++r) {
    const auto row = [&](int k) SIGHTLINE_LAMBDA {
      return hn::LoadU(half, reinterpret_cast<const float*>(from + k * stride));
    };
    v[r] = hn::Combine(kF32, row(r + 8), row(r));
  }
  transpose_in_blocks(v);
  transpose_in_blocks(v + 4);
  for (int c = 0; c < 4; ++c) {
    swap_odd_blocks(v[c], v[4 + c]);
    words[c] = BitCast(kU32, v[c]);
    words[4 + c] = BitCast(kU32, v[4 + c]);
  }
}

// Adds a run of inputs to the chains of 16 outputs.
struct F32Columns {
  static constexpr int kWeights = 16;
  static constexpr std::size_t kBytes = 64;
  static HWY_INLINE F add(const float* x, const std::byte* w, std::int64_t stride, F sum) {
    F v[16];
    HWY_UNROLL(16) for (int r = 0; r < 16; ++r) v[r] = widen_lanes<DType::f32>(w + r * stride);
    transpose16(v);
    HWY_UNROLL(16) for (int i = 0; i < 16; ++i) sum = fma(splat(x[i]), v[i], sum);
    return sum;
  }
};

struct Q8Columns {
  static constexpr int kWeights = 32;
  static constexpr std::size_t kBytes = bench::kQ8Bytes;
  static HWY_INLINE F add(const float* x, const std::byte* w, std::int64_t stride, F sum) {
    alignas(64) float d[16];
    for (int r = 0; r < 16; ++r) d[r] = bench::half_at(w + r * stride);
    const F scale = load(d);
    U words[8];
    transpose_bytes(w + 2, stride, words);
    HWY_UNROLL(8) for (int c = 0; c < 8; ++c) {
      const auto word = BitCast(kI32, words[c]);
      const auto step = [&](int i, hn::Vec<DI> q) SIGHTLINE_LAMBDA {
        sum = fma(splat(x[4 * c + i]), hn::Mul(hn::ConvertTo(kF32, hn::ShiftRight<24>(q)), scale), sum);
      };
      step(0, hn::ShiftLeft<24>(word));
      step(1, hn::ShiftLeft<16>(word));
      step(2, hn::ShiftLeft<8>(word));
      step(3, word);
    }
    return sum;
  }
};

struct Q4Columns {
  static constexpr int kWeights = 256;
  static constexpr std::size_t kBytes = bench::kQ4Bytes;
  static HWY_INLINE F add(const float* x, const std::byte* w, std::int64_t stride, F sum) {
    alignas(64) float scale[8][16], minimum[8][16];
    for (int r = 0; r < 16; ++r) {
      const bench::Q4Scales s = bench::q4_scales(w + r * stride);
      for (int k = 0; k < 8; ++k) scale[k][r] = s.scale[k], minimum[k][r] = -s.minimum[k];
    }
    for (int pair = 0; pair < 4; ++pair) {
      U words[8];
      transpose_bytes(w + 16 + 32 * pair, stride, words);
      sum = add_half(x + 64 * pair, words, load(scale[2 * pair]), load(minimum[2 * pair]), sum);
      for (U& word : words) word = hn::ShiftRight<4>(word);
      sum = add_half(x + 64 * pair + 32, words, load(scale[2 * pair + 1]), load(minimum[2 * pair + 1]), sum);
    }
    return sum;
  }
  static HWY_INLINE F add_half(const float* x, const U words[8], F scale, F minimum, F sum) {
    HWY_UNROLL(8) for (int c = 0; c < 8; ++c) {
      const auto step = [&](int i, U q) SIGHTLINE_LAMBDA {
        const F value = hn::ConvertTo(kF32, BitCast(kI32, hn::And(q, hn::Set(kU32, 15))));
        sum = fma(splat(x[4 * c + i]), fma(value, scale, minimum), sum);
      };
      step(0, words[c]);
      step(1, hn::ShiftRight<8>(words[c]));
      step(2, hn::ShiftRight<16>(words[c]));
      step(3, hn::ShiftRight<24>(words[c]));
    }
    return sum;
  }
};

// Two chains of 16 outputs side by side, since each step of a chain waits for the one before.
template <class Columns>
void one_token_one_chain(const float* x, const std::byte* w, std::int64_t out, std::int64_t in, float* y) {
  const std::int64_t stride = in / Columns::kWeights * Columns::kBytes;
  for (std::int64_t o = 0; o < out; o += 32) {
    const std::byte* rows = w + o * stride;
    F first = hn::Zero(kF32), second = hn::Zero(kF32);
    for (std::int64_t b = 0; b < in / Columns::kWeights; ++b) {
      const std::byte* at = rows + b * Columns::kBytes;
      for (std::size_t line = 0; line < Columns::kBytes; line += 64) {
        for (int r = 0; r < 32; ++r) __builtin_prefetch(at + (32 + r) * stride + line);
      }
      first = Columns::add(x + b * Columns::kWeights, at, stride, first);
      second = Columns::add(x + b * Columns::kWeights, at + 16 * stride, stride, second);
    }
    store(first, y + o);
    store(second, y + o + 16);
  }
}

constexpr int kTileVectors = 3, kTileRows = 8;  // outputs / 16 and rows of the register block

// Weights of 48 outputs as [in][48], zeros past the last.
void pack_tile(const std::byte* w, std::int64_t outs, std::int64_t in, float* packed) {
  for (int v = 0; v < kTileVectors; ++v) {
    for (std::int64_t i = 0; i < in; i += 16) {
      F rows[16];
      for (int r = 0; r < 16; ++r) {
        rows[r] = 16 * v + r < outs ? widen_lanes<DType::f32>(w + ((16 * v + r) * in + i) * 4) : hn::Zero(kF32);
      }
      transpose16(rows);
      for (int k = 0; k < 16; ++k) store(rows[k], packed + ((i + k) * kTileVectors + v) * 16);
    }
  }
}

void many_tokens_one_chain(const float* x, std::int64_t rows, const std::byte* w, std::int64_t out, std::int64_t in,
                           float* y) {
  std::vector<float> packed(in * 16 * kTileVectors + 16);
  for (std::int64_t o = 0; o < out; o += 16 * kTileVectors) {
    const std::int64_t outs = std::min<std::int64_t>(16 * kTileVectors, out - o);
    pack_tile(w + o * in * 4, outs, in, packed.data());
    for (std::int64_t r = 0; r < rows; r += kTileRows) {
      F sum[kTileRows][kTileVectors];
      for (auto& row : sum) {
        for (F& s : row) s = hn::Zero(kF32);
      }
      for (std::int64_t i = 0; i < in; ++i) {
        const float* at = packed.data() + i * 16 * kTileVectors;
        const F v[kTileVectors] = {load(at), load(at + 16), load(at + 32)};
        HWY_UNROLL(8) for (int k = 0; k < kTileRows; ++k) {
          const F value = splat(x[(r + k) * in + i]);
          HWY_UNROLL(3) for (int n = 0; n < kTileVectors; ++n) sum[k][n] = fma(value, v[n], sum[k][n]);
        }
      }
      for (int k = 0; k < kTileRows; ++k) {
        for (int n = 0; n < kTileVectors && 16 * n < outs; ++n) store(sum[k][n], y + (r + k) * out + o + 16 * n);
      }
    }
  }
}

// kStreams readers abreast, each through its own part of every 96 KiB; the prefetchers of the machine follow some
// patterns better than others, and the best is the bandwidth.
template <int kStreams, std::size_t kAhead>
float read_streams(const std::uint8_t* bytes, std::size_t count) {
  constexpr std::size_t kChunk = 96 << 10, kPart = kChunk / kStreams;
  F sum[8];
  for (F& s : sum) s = hn::Zero(kF32);
  const auto* from = reinterpret_cast<const std::byte*>(bytes);
  for (std::size_t chunk = 0; chunk + kChunk <= count; chunk += kChunk) {
    for (std::size_t i = 0; i < kPart; i += 512 / kStreams) {
      HWY_UNROLL(8) for (std::size_t k = 0; k < 8; ++k) {
        const std::byte* at = from + chunk + k % kStreams * kPart + i + k / kStreams * 64;
        if (kAhead > 0) __builtin_prefetch(at + kAhead);
        sum[k] = hn::Add(sum[k], widen_lanes<DType::f32>(at));
      }
    }
  }
  for (int k = 1; k < 8; ++k) sum[0] = hn::Add(sum[0], sum[k]);
  return hn::GetLane(sum[0]);
}

void fma_peak(double flops) {
  constexpr int kIndependent = 12;
  F a[kIndependent];
  for (F& v : a) v = splat(1e-3f);
  const F b = splat(0.999f), c = splat(1e-9f);
  for (double done = 0; done < flops; done += kIndependent * 32) {
    HWY_UNROLL(12) for (F& v : a) asm volatile("vfmadd213ps %2, %1, %0" : "+v"(v.raw) : "v"(b.raw), "v"(c.raw));
  }
}

const bench::Kernels kKernels = {{{one_token_one_chain<F32Columns>, one_token<F32Row, 1>, one_token<F32Row, 2>},
                                  {one_token_one_chain<Q8Columns>, one_token<Q8Row, 1>, one_token<Q8Row, 2>},
                                  {one_token_one_chain<Q4Columns>, one_token<Q4Row, 1>, one_token<Q4Row, 2>}},
                                 {many_tokens_one_chain, many_tokens<1, 4>, many_tokens<2, 3>},
                                 {read_streams<1, 0>, read_streams<1, 4096>, read_streams<4, 0>, read_streams<4, 4096>},
                                 fma_peak};

const bench::Kernels* kernels() { return &kKernels; }
#else
const bench::Kernels* kernels() { return nullptr; }
#endif

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace sightline
HWY_AFTER_NAMESPACE();

#endif  // SIGHTLINE_BENCH_LINEAR_ORDER_KERNELS_INL_H_
