// Products by AMX tiles. Instructions are written out, since GCC's intrinsics for them are macros that take tile
// numbers as text; the semantics relied upon are those of Intel's manual for TDPBF16PS.

#include "src/attention/fast.h"

#if defined(__x86_64__)

#include "src/attention/fast_pack-inl.h"

#define SIGHTLINE_TILES __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,fma")))
#include "src/attention/fast_tiles-inl.h"

namespace sightline {
namespace {

// What LDTILECFG reads: eight tiles, all alike.
struct alignas(64) TileConfiguration {
  std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
  std::uint16_t row_bytes[16] = {kTileBytes, kTileBytes, kTileBytes, kTileBytes,
                                 kTileBytes, kTileBytes, kTileBytes, kTileBytes};
  std::uint8_t rows[16] = {kTile, kTile, kTile, kTile, kTile, kTile, kTile, kTile};
};
static_assert(sizeof(TileConfiguration) == 64);
constexpr TileConfiguration kConfiguration;

class AmxMachine {
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

  SIGHTLINE_BF16 static void pair_weights(const float* weights, int lanes, int begin, int end, std::uint32_t* pairs) {
    sightline::pair_weights(weights, lanes, begin, end, pairs);
  }
  SIGHTLINE_BF16 static void turn(const std::uint32_t* const* rows, std::uint32_t* to, std::int64_t to_stride) {
    sightline::turn(rows, to, to_stride);
  }
};

constexpr FastProducts kProducts = {"amx_bf16", round_row, pair_values, TileProducts<AmxMachine>::score,
                                    TileProducts<AmxMachine>::mix};

}  // namespace

const FastProducts* amx_products() { return &kProducts; }

}  // namespace sightline

#else

namespace sightline {
const FastProducts* amx_products() { return nullptr; }
}  // namespace sightline

#endif
