// The additive bias of one block of keys, from the caller's matrix with keys along its rows to a tile with rows in
// lanes.

#if defined(SIGHTLINE_ATTENTION_BIAS_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SIGHTLINE_ATTENTION_BIAS_TILE_INL_H_
#undef SIGHTLINE_ATTENTION_BIAS_TILE_INL_H_
#else
#define SIGHTLINE_ATTENTION_BIAS_TILE_INL_H_
#endif

#include <algorithm>
#include <cstring>

#include "hwy/cache_control.h"
#include "src/attention/head_problem.h"
#include "src/attention/rows-inl.h"
#include "src/attention/transpose-inl.h"
#include "src/cpu/simd-inl.h"
#include "src/observe/tile_block.h"

HWY_BEFORE_NAMESPACE();
namespace sightline {
namespace HWY_NAMESPACE {

class BiasTile {
 public:
  // to: [kBlockKeys, lanes].
  BiasTile(const HeadMatrix& bias, const TileRows& tile, const TileBlock& block, float* to)
      : bias_(bias), tile_(tile), block_(block), count_(block.end - block.begin), to_(to + block.begin * tile.lanes) {}

  // Fills the slots that hold a key. seen: by lane a bit a slot; those whose bias is -inf go.
  void fill(std::uint64_t* seen) {
    for (int lane = 0; lane < tile_.lanes; lane += kTurned) {
      const float* rows[kTurned];
      point(lane, rows);
      float* to = to_ + lane;
      if (std::all_of(rows, rows + kTurned, [&](const float* row) { return row == rows[0]; })) {
        for (int slot = 0; slot < count_; ++slot, to += tile_.lanes) store(splat(rows[0][slot]), to);
      } else {
        turn_rows(rows, count_, tile_.lanes, to);
      }
      std::uint64_t hidden = 0;
      for (int i = 0; i < kTurned; ++i) {
        if (i == 0 || rows[i] != rows[i - 1]) hidden = hidden_bits(rows[i]) << block_.begin;
        seen[lane + i] &= ~hidden;
      }
    }
  }

 private:
  // The rows of lanes from `lane` on as fp32, in place or widened; lanes that share a row share a pointer.
  void point(int lane, const float** rows) {
    const bool in_place = bias_.dtype == DType::f32 && bias_.column_stride == 1;
    const std::byte* last = nullptr;
    const float* row = nullptr;
    for (int i = 0; i < kTurned; ++i) {
      const std::byte* at = bias_.at(tile_.head(lane + i), tile_.row(lane + i), block_.first_key + block_.begin);
      if (at != last) row = in_place ? read(at) : widened(at, widened_[i]);
      last = at;
      rows[i] = row;
    }
  }

  // A row's next block comes after the other rows' of this one, too late for the machine to guess.
  static const float* read(const std::byte* at) {
    for (int line = 0; line < kBlockKeys * 4; line += 64) hwy::Prefetch(at + kBlockKeys * 4 + line);
    return reinterpret_cast<const float*>(at);
  }

  const float* widened(const std::byte* at, float* to) const {
    if (bias_.column_stride == 0) {
      std::fill_n(to, count_, element_as_f32(bias_.dtype, at));
      return to;
    }
    if (bias_.column_stride == 1) hwy::Prefetch(at + kBlockKeys * 2), hwy::Prefetch(at + kBlockKeys * 2 + 64);
    widen(RowSource{at, bias_.dtype, 0, bias_.column_stride}, 0, count_, to);
    return to;
  }

  // Bit s: number s is -inf.
  std::uint64_t hidden_bits(const float* row) const {
    std::uint64_t bits = 0;
    int slot = 0;
    for (; slot + kTurned <= count_; slot += kTurned) {
      std::uint8_t bytes[8] = {};
      hn::StoreMaskBits(kF32, hn::Eq(load(row + slot), splat(kHidden)), bytes);
      std::uint64_t word;
      std::memcpy(&word, bytes, sizeof word);
      bits |= word << slot;
    }
    for (; slot < count_; ++slot) bits |= std::uint64_t{row[slot] == kHidden} << slot;
    return bits;
  }

  const HeadMatrix& bias_;
  const TileRows& tile_;
  const TileBlock& block_;
  const int count_;
  float* const to_;
  alignas(64) float widened_[kTurned][kBlockKeys];
};

}  // namespace HWY_NAMESPACE
}  // namespace sightline
HWY_AFTER_NAMESPACE();

#endif  // SIGHTLINE_ATTENTION_BIAS_TILE_INL_H_
