#ifndef SIGHTLINE_ATTENTION_FAST_H_
#define SIGHTLINE_ATTENTION_FAST_H_

#include <cstdint>

#include "sightline/execution.h"

namespace sightline {

/// Columns that a row of bf16 is padded to with zeros where it does not lie as the caller has it: a row of an AMX tile.
inline constexpr std::int64_t kFastColumns = 32;
/// Value columns and lanes come in vectors of so many pairs.
inline constexpr std::int64_t kFastLanes = 16;

// static: the units that are compiled for bf16 leave no symbol that the linker could take for another unit's.
static constexpr std::int64_t padded_columns(std::int64_t width) {
  return (width + kFastColumns - 1) / kFastColumns * kFastColumns;
}
static constexpr std::int64_t padded_values(std::int64_t columns) {
  return (columns + kFastLanes - 1) / kFastLanes * kFastLanes;
}

/// The scores of a block. A pair is two bf16 that follow one another in a sum, the first in the low half.
struct FastScores {
  const std::uint16_t* const* keys = nullptr;  // [kBlockKeys] rows of bf16; of slots without a key zeros
  bool padded = false;                         // all rows lie one after the other, padded_columns(width) apart
  const std::uint32_t* queries = nullptr;      // pairs [padded_columns(width) / 2, lanes], rows in lanes
  std::int64_t width = 0;
  int lanes = 0, rows = 0;         // rows: the lanes that matter, the first ones
  int begin = 0, end = 0;          // slots that hold keys
  float scale = 0;                 // of the sums
  std::uint16_t* stage = nullptr;  // [kBlockKeys, padded_columns(width)] scratch; where `padded`, the rows themselves
  float* scores = nullptr;         // [kBlockKeys, lanes]; slots [begin, end) are written, and some around them
  float* block_max = nullptr;      // [lanes], of the slots that were written
};

/// The mix of a block, on top of the output: out = out * rescale + sum of weights * values.
struct FastMix {
  const std::uint32_t* values = nullptr;  // pairs [kBlockKeys / 2, padded_values(columns)], slots in a pair
  std::int64_t columns = 0;
  const float* weights = nullptr;  // [kBlockKeys, lanes], read in slots [begin, end)
  const float* rescale = nullptr;  // [lanes]
  int lanes = 0, rows = 0;
  int begin = 0, end = 0;
  std::uint32_t* weight_pairs = nullptr;  // [kBlockKeys / 2, lanes] scratch
  std::uint32_t* turned = nullptr;        // [padded_values(columns), kBlockKeys / 2] scratch
  bool few = false;                       // out is [rows, columns], not [columns, lanes]
  float* out = nullptr;
};

/// Products of bf16 with fp32 sums, by one instruction of the machine. Whatever the number of lanes, a sum has the same
/// order of operations.
struct FastProducts {
  const char* instruction = nullptr;
  /// To the nearest bf16, ties to even; zeros from `width` to padded_columns(width).
  void (*round)(const float* from, std::int64_t width, std::uint16_t* to) = nullptr;
  /// Values of slots [begin, end) as pairs; the other slots are 0, and so is what is not finite. Whether all were.
  bool (*pair_values)(const std::uint16_t* const* rows, std::int64_t columns, int begin, int end,
                      std::uint32_t* pairs) = nullptr;
  void (*score)(const FastScores& block) = nullptr;
  void (*mix)(const FastMix& block) = nullptr;
};

/// By vdpbf16ps and by AMX tiles; null where the program was not compiled for x86-64.
const FastProducts* avx512_products();
const FastProducts* amx_products();

/// Whether this machine, its kernel and this process can run them. Asking for AMX asks the kernel for permission.
bool has_avx512_bf16();
bool has_amx_bf16();

/// Null for Precision::exact. Throws BadArgument where the machine has no instruction for the precision, or
/// SIGHTLINE_FAST names none.
const FastProducts* products_of(Precision precision);

/// For tests: other products than the machine's, or null for the machine's again; ones without an instruction stand for
/// a machine that has none. Not to be called while kernels run.
void force_products(const FastProducts* products);

}  // namespace sightline

#endif  // SIGHTLINE_ATTENTION_FAST_H_
