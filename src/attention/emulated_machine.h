#ifndef SIGHTLINE_ATTENTION_EMULATED_MACHINE_H_
#define SIGHTLINE_ATTENTION_EMULATED_MACHINE_H_

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "src/tensor/half.h"

namespace sightline::testing {

inline constexpr int kTile = 16;       // rows of a tile, and its columns of 32 bits
inline constexpr int kTileBytes = 64;  // of a row

// Denormal numbers count as 0, going in and coming out.
inline float flushed(float x) { return std::fabs(x) < std::numeric_limits<float>::min() ? std::copysign(0.0f, x) : x; }

inline float product(std::uint16_t a, std::uint16_t b) {
  return flushed(flushed(bf16_to_f32(a)) * flushed(bf16_to_f32(b)));
}

// The operation of each instruction as Intel's manual writes it down, for tiles of 16 rows of 64 bytes.
class EmulatedTileMachine {
 public:
  void begin() { open_ = true; }
  void end() { open_ = false; }

  template <int kNumber>
  void zero() {
    std::memset(tiles_[kNumber], 0, sizeof(tiles_[kNumber]));
  }
  template <int kNumber>
  void load(const void* from, std::int64_t row_bytes) {
    for (int row = 0; row < kTile; ++row) {
      std::memcpy(tiles_[kNumber][row], static_cast<const char*>(from) + row * row_bytes, kTileBytes);
    }
  }
  template <int kNumber>
  void store(void* to, std::int64_t row_bytes) {
    for (int row = 0; row < kTile; ++row) {
      std::memcpy(static_cast<char*>(to) + row * row_bytes, tiles_[kNumber][row], kTileBytes);
    }
  }
  template <int kC, int kA, int kB>
  void dot() {
    for (int m = 0; m < kTile; ++m) {
      for (int n = 0; n < kTile; ++n) {
        float even = 0, odd = 0;
        for (int k = 0; k < kTile; ++k) {
          even = flushed(even + product(half(kA, m, 2 * k), half(kB, k, 2 * n)));
          odd = flushed(odd + product(half(kA, m, 2 * k + 1), half(kB, k, 2 * n + 1)));
        }
        float sum;
        char* const at = tiles_[kC][m] + n * sizeof(float);
        std::memcpy(&sum, at, sizeof(sum));
        // What runs outside begin() and end() would fault on a machine.
        sum = open_ ? flushed(flushed(sum) + flushed(even + odd)) : std::numeric_limits<float>::quiet_NaN();
        std::memcpy(at, &sum, sizeof(sum));
      }
    }
  }

  static void turn(const std::uint32_t* const* rows, std::uint32_t* to, std::int64_t to_stride) {
    for (int r = 0; r < kTile; ++r) {
      // Bytes, whatever type they are written and read as elsewhere.
      for (int c = 0; c < kTile; ++c) std::memcpy(to + c * to_stride + r, rows[r] + c, sizeof(*to));
    }
  }

 private:
  std::uint16_t half(int tile, int row, int column) const {
    std::uint16_t value;
    std::memcpy(&value, tiles_[tile][row] + column * sizeof(value), sizeof(value));
    return value;
  }

  bool open_ = false;
  char tiles_[8][kTile][kTileBytes] = {};
};

}  // namespace sightline::testing

#endif  // SIGHTLINE_ATTENTION_EMULATED_MACHINE_H_
