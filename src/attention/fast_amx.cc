// Products by AMX tiles.

#include "src/attention/fast.h"

#if defined(__x86_64__)

#include "src/attention/fast_amx_tiles-inl.h"
#include "src/attention/fast_pack-inl.h"

#define SIGHTLINE_TILES __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,fma")))
#include "src/attention/fast_tiles-inl.h"

namespace sightline {
namespace {

class AmxMachine : public AmxTiles {
 public:
  SIGHTLINE_BF16 static void pair_weights(const float* weights, int lanes, int begin, int end, std::uint32_t* pairs) {
    sightline::pair_weights(weights, lanes, begin, end, pairs);
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
