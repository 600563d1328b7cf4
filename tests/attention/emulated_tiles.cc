#include "tests/attention/emulated_tiles.h"

#include <cmath>

#include "src/attention/emulated_machine.h"
#include "src/attention/fast_tiles-inl.h"
#include "src/tensor/half.h"
#include "tests/attention/formats.h"

namespace sightline::testing {
namespace {

std::uint32_t pair_of(std::uint16_t first, std::uint16_t second) { return first | std::uint32_t{second} << 16; }

class EmulatedMachine : public EmulatedTileMachine {
 public:
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
