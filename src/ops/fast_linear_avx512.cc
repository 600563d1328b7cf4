// Linear layers by vdpbf16ps: outputs in the lanes, inputs of a row of x broadcast pair by pair. A sum is one chain of
// them over the pairs, ascending, from 0; the bias is added once. Sixteen chains folded at the end, as the exact
// arithmetic has them, need two loads of 64 bytes where this needs one of 64 and one of 4, and were 12 % slower.

#include "src/ops/fast_linear.h"

#if defined(__x86_64__)

#include "src/attention/fast_round-inl.h"

namespace sightline::ops {
namespace {

// 24 accumulators of 32 registers: rows against groups of kFastTile outputs.
constexpr int kRows = 6, kGroups = 4;

// kTileRows rows against kTileGroups groups of outputs from `out` on.
template <int kTileRows, int kTileGroups>
SIGHTLINE_BF16 void compute_tile(const FastPanel& panel, std::int64_t row, std::int64_t out) {
  const std::uint16_t* x = panel.x + row * panel.width;
  const std::uint16_t* weights = panel.weights + out * panel.width;
  __m512 sum[kTileRows][kTileGroups];
  for (auto& of_row : sum) {
    for (__m512& value : of_row) value = _mm512_setzero_ps();
  }
  for (std::int64_t pair = 0; pair < panel.width / 2; ++pair) {
    __m512i weight[kTileGroups];
    for (int g = 0; g < kTileGroups; ++g) {
      weight[g] = _mm512_loadu_si512(weights + (g * (panel.width / 2) + pair) * 2 * kFastTile);
    }
    for (int r = 0; r < kTileRows; ++r) {
      std::int32_t both;
      __builtin_memcpy(&both, x + r * panel.width + 2 * pair, sizeof(both));
      const auto input = reinterpret_cast<__m512bh>(_mm512_set1_epi32(both));
      for (int g = 0; g < kTileGroups; ++g) {
        sum[r][g] = _mm512_dpbf16_ps(sum[r][g], input, reinterpret_cast<__m512bh>(weight[g]));
      }
    }
  }
  for (int g = 0; g < kTileGroups; ++g) {
    const std::int64_t first = out + g * kFastTile;
    const __mmask16 held = first_of_16(panel.outs - first);
    const __m512 bias = panel.bias == nullptr ? _mm512_setzero_ps() : _mm512_maskz_loadu_ps(held, panel.bias + first);
    for (int r = 0; r < kTileRows; ++r) {
      float* y = panel.y + (row + r) * panel.y_stride + first;
      const __m512 value = _mm512_add_ps(sum[r][g], bias);
      if (held == 0xffff) {  // a masked store takes longer
        _mm512_storeu_ps(y, value);
      } else {
        _mm512_mask_storeu_ps(y, held, value);
      }
    }
  }
}

template <int kTileRows>
SIGHTLINE_BF16 void compute_rows(const FastPanel& panel, std::int64_t row) {
  std::int64_t out = 0;
  for (; panel.outs - out > (kGroups - 1) * kFastTile; out += kGroups * kFastTile) {
    compute_tile<kTileRows, kGroups>(panel, row, out);
  }
  for (; panel.outs - out > kFastTile; out += 2 * kFastTile) compute_tile<kTileRows, 2>(panel, row, out);
  if (out < panel.outs) compute_tile<kTileRows, 1>(panel, row, out);
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

SIGHTLINE_BF16 void turn_weights(const std::uint16_t* weights, std::int64_t stride, std::int64_t width,
                                 std::uint16_t* to) {
  for (std::int64_t i = 0; i < width; i += kFastColumns) {
    const std::uint32_t* rows[kFastTile];
    for (int o = 0; o < kFastTile; ++o) {
      rows[o] = reinterpret_cast<const std::uint32_t*>(weights + o * stride + i);
      // The same place of the next group: prefetchers do not see 16 short streams.
      _mm_prefetch(rows[o] + kFastTile * stride / 2, _MM_HINT_T0);
    }
    turn(rows, reinterpret_cast<std::uint32_t*>(to) + i / 2 * kFastTile, kFastTile);
  }
}

constexpr FastLinear kLinear = {"avx512_bf16", pack, turn_weights, compute};

}  // namespace

const FastLinear* avx512_linear() { return &kLinear; }

}  // namespace sightline::ops

#else

namespace sightline::ops {
const FastLinear* avx512_linear() { return nullptr; }
}  // namespace sightline::ops

#endif
