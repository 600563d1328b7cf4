// The tiles of AMX. Instructions are written out, since GCC's intrinsics for them are macros that take tile numbers as
// text; the semantics relied upon are those of Intel's manual for TDPBF16PS.

#ifndef SIGHTLINE_ATTENTION_FAST_AMX_TILES_INL_H_
#define SIGHTLINE_ATTENTION_FAST_AMX_TILES_INL_H_

#include <cstdint>

#include "src/attention/fast_round-inl.h"

namespace sightline {
namespace {

// What LDTILECFG reads: eight tiles, all alike.
struct alignas(64) TileConfiguration {
  static constexpr std::uint16_t kRowBytes = 64;
  static constexpr std::uint8_t kRows = 16;
  std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
  std::uint16_t row_bytes[16] = {kRowBytes, kRowBytes, kRowBytes, kRowBytes,
                                 kRowBytes, kRowBytes, kRowBytes, kRowBytes};
  std::uint8_t rows[16] = {kRows, kRows, kRows, kRows, kRows, kRows, kRows, kRows};
};
static_assert(sizeof(TileConfiguration) == 64);
constexpr TileConfiguration kConfiguration;

class AmxTiles {
 public:
  void begin() { __asm__ volatile("ldtilecfg %0" : : "m"(kConfiguration)); }
  // Tiles in use would have to be saved at each switch of threads.
  void end() { __asm__ volatile("tilerelease" : : : "memory"); }

  template <int kNumber>
  void zero() {
    __asm__ volatile("tilezero %%tmm%c0" : : "i"(kNumber));
  }
  template <int kNumber>
  void load(const void* from, std::int64_t row_bytes) {
    __asm__ volatile("tileloadd (%0,%1,1), %%tmm%c2" : : "r"(from), "r"(row_bytes), "i"(kNumber) : "memory");
  }
  template <int kNumber>
  void store(void* to, std::int64_t row_bytes) {
    __asm__ volatile("tilestored %%tmm%c2, (%0,%1,1)" : : "r"(to), "r"(row_bytes), "i"(kNumber) : "memory");
  }
  template <int kC, int kA, int kB>
  void dot() {
    __asm__ volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kC), "i"(kA), "i"(kB));
  }

  SIGHTLINE_BF16 static void turn(const std::uint32_t* const* rows, std::uint32_t* to, std::int64_t to_stride) {
    sightline::turn(rows, to, to_stride);
  }
};

}  // namespace
}  // namespace sightline

#endif  // SIGHTLINE_ATTENTION_FAST_AMX_TILES_INL_H_
