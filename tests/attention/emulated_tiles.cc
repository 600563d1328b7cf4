#include "tests/attention/emulated_tiles.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "src/attention/fast_tiles-inl.h"
#include "src/tensor/half.h"
#include "tests/attention/formats.h"

namespace sightline::testing {
namespace {

// Denormal numbers count as 0, going in and coming out.
float flushed(float x) { return std::fabs(x) < std::numeric_limits<float>::min() ? std::copysign(0.0f, x) : x; }

float product(std::uint16_t a, std::uint16_t b) { return flushed(flushed(bf16_to_f32(a)) * flushed(bf16_to_f32(b))); }

std::uint32_t pair_of(std::uint16_t first, std::uint16_t second) { return first | std::uint32_t{second} << 16; }

// The operation of each instruction as Intel's manual writes it down, for tiles of 16 rows of 64 bytes.
class EmulatedMachine {
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

  static void pair_weights(const float* weights, int lanes, int begin, int end, std::uint32_t* pairs) {
    const auto at = [&](int slot, int lane) {
      return slot >= begin && slot < end ? to_bf16(weights[slot * lanes + lane]) : std::uint16_t{0};
    };
    for (int pair = 0; pair < kSlotPairs; ++pair) {
      for (int lane = 0; lane < lanes; ++lane) {
        pairs[pair * lanes + lane] = pair_of(at(2 * pair, lane), at(2 * pair + 1, lane));
      }
    }
  }
  static void turn(const std::uint32_t* const* rows, std::uint32_t* to, std::int64_t to_stride) {
    for (int r = 0; r < kTile; ++r) {
      for (int c = 0; c < kTile; ++c) to[c * to_stride + r] = rows[r][c];
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

void round(const float* from, std::int64_t width, std::uint16_t* to) {
  for (std::int64_t t = 0; t < padded_columns(width); ++t) to[t] = t < width ? to_bf16(flushed(from[t])) : 0;
}

bool pair_values(const std::uint16_t* const* rows, std::int64_t columns, int begin, int end, std::uint32_t* pairs) {
  bool finite = true;
  const auto at = [&](int slot, std::int64_t column) {
    if (slot < begin || slot >= end || column >= columns) return std::uint16_t{0};
    const bool bounded = std::isfinite(bf16_to_f32(rows[slot][column]));
    finite &= bounded;
    return bounded ? rows[slot][column] : std::uint16_t{0};
  };
  for (int pair = 0; pair < kSlotPairs; ++pair) {
    for (std::int64_t column = 0; column < padded_values(columns); ++column) {
      pairs[pair * padded_values(columns) + column] = pair_of(at(2 * pair, column), at(2 * pair + 1, column));
    }
  }
  return finite;
}

constexpr FastProducts kProducts = {"emulated tiles", round, pair_values, TileProducts<EmulatedMachine>::score,
                                    TileProducts<EmulatedMachine>::mix};

}  // namespace

const FastProducts* emulated_tiles() { return &kProducts; }

}  // namespace sightline::testing
