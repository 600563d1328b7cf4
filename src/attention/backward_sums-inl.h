// Sums over the rows of a tile, dV += P^T dO and dK += dS^T Q: columns in lanes, one fma chain over the rows ascending,
// then one addition to what earlier tiles left.

#if defined(SIGHTLINE_ATTENTION_BACKWARD_SUMS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SIGHTLINE_ATTENTION_BACKWARD_SUMS_INL_H_
#undef SIGHTLINE_ATTENTION_BACKWARD_SUMS_INL_H_
#else
#define SIGHTLINE_ATTENTION_BACKWARD_SUMS_INL_H_
#endif

#include "hwy/cache_control.h"
#include "src/cpu/simd-inl.h"
#include "src/observe/tile_block.h"

HWY_BEFORE_NAMESPACE();
namespace sightline {
namespace HWY_NAMESPACE {

// Vectors of columns that a register block has at most, and the slots that it has with so many: 6 x 4, 8 x 3, 8 x 2 of
// 32 registers, 6 x 2 of 16.
inline constexpr int kColumnVectors = kVectorRegisters == 32 ? 4 : 2;
constexpr int slots_with(int vectors) { return vectors == 4 || kVectorRegisters == 16 ? 6 : 8; }

// One tile's factors and rows, and the sums of one block.
struct RowProducts {
  const float* factors = nullptr;  // [kBlockKeys, lanes]
  int lanes = 0;
  const float* rows = nullptr;  // [row count, stride]
  int row_count = 0;
  float* sums = nullptr;    // [kBlockKeys, stride]
  std::int64_t stride = 0;  // a multiple of 16
};

// Slots [slot, slot + kSlots), columns [column, column + kVectors * kLanes).
template <int kSlots, int kVectors>
HWY_INLINE void add_products(const RowProducts& p, int slot, std::int64_t column) {
  const float* HWY_RESTRICT factors = p.factors + static_cast<std::ptrdiff_t>(slot) * p.lanes;
  const float* HWY_RESTRICT rows = p.rows + column;
  float* HWY_RESTRICT sums = p.sums + slot * p.stride + column;
  F sum[kSlots][kVectors];
  for (auto& of_slot : sum) {
    for (F& value : of_slot) value = hn::Zero(kF32);
  }
  for (int row = 0; row < p.row_count; ++row) {
    F value[kVectors];
    for (int v = 0; v < kVectors; ++v) value[v] = load(rows + row * p.stride + v * kLanes);
    if (row < kSlots) {
      for (int v = 0; v < kVectors; ++v) hwy::Prefetch(sums + row * p.stride + v * kLanes);
    }
    for (int i = 0; i < kSlots; ++i) {
      const F factor = splat(factors[i * p.lanes + row]);
      for (int v = 0; v < kVectors; ++v) sum[i][v] = fma(factor, value[v], sum[i][v]);
    }
  }
  for (int i = 0; i < kSlots; ++i) {
    for (int v = 0; v < kVectors; ++v) {
      float* at = sums + i * p.stride + v * kLanes;
      store(hn::Add(load(at), sum[i][v]), at);
    }
  }
}

// Slots [slot, end) in register blocks of kSlots, the rest in smaller ones.
template <int kSlots, int kVectors>
HWY_INLINE void add_slots(const RowProducts& p, int slot, int end, std::int64_t column) {
  for (; slot + kSlots <= end; slot += kSlots) add_products<kSlots, kVectors>(p, slot, column);
  if constexpr (kSlots > 1) add_slots<kSlots / 2, kVectors>(p, slot, end, column);
}

template <int kVectors>
HWY_INLINE void add_columns(const RowProducts& p, int begin, int end, std::int64_t column) {
  constexpr auto kWidth = static_cast<std::int64_t>(kVectors * kLanes);
  for (; column + kWidth <= p.stride; column += kWidth)
    add_slots<slots_with(kVectors), kVectors>(p, begin, end, column);
  if constexpr (kVectors > 1) add_columns<kVectors - 1>(p, begin, end, column);
}

// sums[slot] += sum over rows of factors[slot, row] * rows[row], for slots [begin, end).
inline void add_row_products(const RowProducts& p, int begin, int end) {
  add_columns<kColumnVectors>(p, begin, end, 0);
}

// The same where the rows are not finite and some do not see all keys: a hidden pair performs no operation.
// seen(slot, row) tells.
template <class Seen>
void add_row_products_selectively(const RowProducts& p, int begin, int end, const Seen& seen) {
  for (int slot = begin; slot < end; ++slot) {
    for (std::int64_t column = 0; column < p.stride; column += static_cast<std::int64_t>(kLanes)) {
      F sum = hn::Zero(kF32);
      for (int row = 0; row < p.row_count; ++row) {
        const F factor = splat(p.factors[static_cast<std::ptrdiff_t>(slot) * p.lanes + row]);
        if (seen(slot, row)) sum = fma(factor, load(p.rows + row * p.stride + column), sum);
      }
      float* at = p.sums + slot * p.stride + column;
      store(hn::Add(load(at), sum), at);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace sightline
HWY_AFTER_NAMESPACE();

#endif  // SIGHTLINE_ATTENTION_BACKWARD_SUMS_INL_H_
