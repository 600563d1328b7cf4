// Linear layers by vdpbf16ps. A sum has 16 chains, chain c over the pairs of inputs 2 c, 2 c + 1, then 32 further on,
// ascending, from 0; they are folded by the tree of fold-inl.h, and the bias is added once.

#include "src/ops/fast_linear.h"

#if defined(__x86_64__)

#include "src/attention/fast_round-inl.h"

namespace sightline::ops {
namespace {

// 24 accumulators of 32 registers, as in linear_tiles-inl.h.
constexpr int kRows = 6, kOuts = 4;

SIGHTLINE_BF16 inline __m512i load(const std::uint16_t* from) { return _mm512_loadu_si512(from); }

// Four rows of sums from kFirst on, zeros after the last. Step by step: chains 8 apart, 4, 2, 1 apart. Lane 4 r + o of
// the result is sum[kFirst + r][o].
template <int kFirst, int kTileRows>
SIGHTLINE_BF16 inline __m512 fold(const __m512 (&sum)[kTileRows][kOuts]) {
  __m512 eights[4][2];  // [r][o]: 8 chains of outputs o and o + 2
#pragma GCC unroll 4
  for (int r = 0; r < 4; ++r) {
#pragma GCC unroll 2
    for (int o = 0; o < 2; ++o) {
      const bool held = kFirst + r < kTileRows;
      const __m512 a = held ? sum[(kFirst + r) % kTileRows][o] : _mm512_setzero_ps();
      const __m512 b = held ? sum[(kFirst + r) % kTileRows][o + 2] : _mm512_setzero_ps();
      eights[r][o] = _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x44), _mm512_shuffle_f32x4(a, b, 0xee));
    }
  }
  __m512 fours[4];  // [r]: 4 chains of outputs 0, 2, 1, 3
#pragma GCC unroll 4
  for (int r = 0; r < 4; ++r) {
    fours[r] = _mm512_add_ps(_mm512_shuffle_f32x4(eights[r][0], eights[r][1], 0x88),
                             _mm512_shuffle_f32x4(eights[r][0], eights[r][1], 0xdd));
  }
  __m512 twos[2];  // rows 0 and 1, 2 and 3
#pragma GCC unroll 2
  for (int r = 0; r < 2; ++r) {
    const __m512d a = _mm512_castps_pd(fours[2 * r]), b = _mm512_castps_pd(fours[2 * r + 1]);
    twos[r] = _mm512_add_ps(_mm512_castpd_ps(_mm512_unpacklo_pd(a, b)), _mm512_castpd_ps(_mm512_unpackhi_pd(a, b)));
  }
  // Block by block (outputs 0, 2, 1, 3) the sums of rows 0 to 3; then turned over.
  const __m512 ones =
      _mm512_add_ps(_mm512_shuffle_ps(twos[0], twos[1], 0x88), _mm512_shuffle_ps(twos[0], twos[1], 0xdd));
  const __m512i order = _mm512_set_epi32(15, 7, 11, 3, 14, 6, 10, 2, 13, 5, 9, 1, 12, 4, 8, 0);
  return _mm512_permutexvar_ps(order, ones);
}

// The sums of four rows from kFirst on, with the bias, to y.
template <int kFirst, int kTileRows>
SIGHTLINE_BF16 inline void finish(const __m512 (&sum)[kTileRows][kOuts], __m128 bias, int outs, std::int64_t y_stride,
                                  float* y) {
  alignas(64) float sums[4][kOuts];
  _mm512_storeu_ps(sums, _mm512_add_ps(fold<kFirst>(sum), _mm512_broadcast_f32x4(bias)));
  for (int r = 0; r < 4 && kFirst + r < kTileRows; ++r) {
    float* to = y + (kFirst + r) * y_stride;
    if (outs == kOuts) {  // a masked store takes longer
      _mm_storeu_ps(to, _mm_load_ps(sums[r]));
    } else {
      for (int o = 0; o < outs; ++o) to[o] = sums[r][o];
    }
  }
}

// outs: how many of the kOuts are written.
template <int kTileRows>
SIGHTLINE_BF16 inline void compute_tile(const FastPanel& panel, std::int64_t row, std::int64_t out, int outs) {
  const std::uint16_t* x = panel.x + row * panel.width;
  const std::uint16_t* weights = panel.weights + out * panel.weight_stride;
  __m512 sum[kTileRows][kOuts];
  for (auto& of_row : sum) {
    for (__m512& value : of_row) value = _mm512_setzero_ps();
  }
  for (std::int64_t i = 0; i < panel.width; i += 32) {
    __m512i xs[kTileRows];
    for (int r = 0; r < kTileRows; ++r) xs[r] = load(x + r * panel.width + i);
    for (int o = 0; o < kOuts; ++o) {
      const __m512i weight = load(weights + o * panel.weight_stride + i);
      for (int r = 0; r < kTileRows; ++r) {
        sum[r][o] = _mm512_dpbf16_ps(sum[r][o], reinterpret_cast<__m512bh>(xs[r]), reinterpret_cast<__m512bh>(weight));
      }
    }
  }
  const __mmask8 held = static_cast<__mmask8>((1 << outs) - 1);
  const __m128 bias = panel.bias == nullptr ? _mm_setzero_ps() : _mm_maskz_loadu_ps(held, panel.bias + out);
  float* y = panel.y + row * panel.y_stride + out;
  finish<0>(sum, bias, outs, panel.y_stride, y);
  if constexpr (kTileRows > 4) finish<4>(sum, bias, outs, panel.y_stride, y);
}

template <int kTileRows>
SIGHTLINE_BF16 void compute_rows(const FastPanel& panel, std::int64_t row) {
  for (std::int64_t out = 0; out < panel.outs; out += kOuts) {
    const std::int64_t left = panel.outs - out;
    compute_tile<kTileRows>(panel, row, out, left < kOuts ? static_cast<int>(left) : kOuts);
  }
}

SIGHTLINE_BF16 void compute(const FastPanel& panel) {
  std::int64_t row = panel.row_begin;
  for (; row + kRows <= panel.row_end; row += kRows) compute_rows<kRows>(panel, row);
  for (; row + 2 <= panel.row_end; row += 2) compute_rows<2>(panel, row);
  for (; row < panel.row_end; ++row) compute_rows<1>(panel, row);
}

SIGHTLINE_BF16 void pack(const float* x, std::int64_t in, std::int64_t rows, std::uint16_t*, std::uint16_t* to) {
  for (std::int64_t r = 0; r < rows; ++r) round_row(x + r * in, in, to + r * padded_columns(in));
}

constexpr FastLinear kLinear = {"avx512_bf16", pack, compute};

}  // namespace

const FastLinear* avx512_linear() { return &kLinear; }

}  // namespace sightline::ops

#else

namespace sightline::ops {
const FastLinear* avx512_linear() { return nullptr; }
}  // namespace sightline::ops

#endif
