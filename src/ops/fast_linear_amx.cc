// Linear layers by AMX tiles.

#include "src/ops/fast_linear.h"

#if defined(__x86_64__)

#include "src/attention/fast_amx_tiles-inl.h"

#define SIGHTLINE_TILES __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,fma")))
#include "src/ops/fast_linear_tiles-inl.h"

namespace sightline::ops {
namespace {

SIGHTLINE_BF16 void pack(const float* x, std::int64_t in, std::int64_t rows, std::uint16_t* scratch,
                         std::uint16_t* to) {
  LinearTiles<AmxTiles>::pack(x, in, rows, scratch, to, round_row);
}

constexpr FastLinear kLinear = {"amx_bf16", pack, nullptr, LinearTiles<AmxTiles>::compute};

}  // namespace

const FastLinear* amx_linear() { return &kLinear; }

}  // namespace sightline::ops

#else

namespace sightline::ops {
const FastLinear* amx_linear() { return nullptr; }
}  // namespace sightline::ops

#endif
