#ifndef SIGHTLINE_OPS_FAST_LINEAR_H_
#define SIGHTLINE_OPS_FAST_LINEAR_H_

#include <cstdint>

#include "src/attention/fast.h"
#include "src/ops/linear.h"

namespace sightline::ops {

/// Outputs, and rows of x, that a tile of AMX takes at once.
inline constexpr std::int64_t kFastTile = 16;

/// Rows of x against some outputs of a linear layer, both in bf16, padded_columns(in) wide with zeros at the end.
struct FastPanel {
  std::int64_t width = 0;  // padded_columns(in)
  // Rows of outputs, weight_stride apart; or what turn_weights() made of groups of kFastTile outputs, one after the
  // other. Either way readable to a multiple of kFastTile.
  const std::uint16_t* weights = nullptr;
  std::int64_t weight_stride = 0;
  std::int64_t outs = 0;
  const float* bias = nullptr;       // [outs] or null
  const std::uint16_t* x = nullptr;  // what pack() made of groups of kFastTile rows, one after the other
  std::int64_t row_begin = 0;        // a multiple of kFastTile
  std::int64_t row_end = 0;
  float* y = nullptr;  // of row 0 and the first output
  std::int64_t y_stride = 0;
};

/// A linear layer by one instruction of the machine. A sum has the same order of operations wherever it stands.
struct FastLinear {
  const char* instruction = nullptr;
  /// Rounds up to kFastTile rows of x, `in` wide and dense, into kFastTile * padded_columns(in) numbers; rows that are
  /// missing may be left unset. scratch: as many numbers.
  void (*pack)(const float* x, std::int64_t in, std::int64_t rows, std::uint16_t* scratch, std::uint16_t* to) = nullptr;
  /// kFastTile rows of weights, `stride` apart, turned over to pairs of inputs, [width / 2, kFastTile]; null where the
  /// instruction takes them as they lie.
  void (*turn_weights)(const std::uint16_t* weights, std::int64_t stride, std::int64_t width,
                       std::uint16_t* to) = nullptr;
  void (*compute)(const FastPanel& panel) = nullptr;
};

/// By vdpbf16ps and by AMX tiles; null where the program was not compiled for x86-64.
const FastLinear* avx512_linear();
const FastLinear* amx_linear();

/// y = x W^T + b as linear() has them, of weights that are checked; at least one row and output. products: of the same
/// instruction.
void fast_linear(const FastLinear& unit, const FastProducts& products, const Linear& layer, const float* x,
                 std::int64_t rows, float* y, int threads);

}  // namespace sightline::ops

#endif  // SIGHTLINE_OPS_FAST_LINEAR_H_
