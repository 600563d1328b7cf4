#ifndef SIGHTLINE_OBSERVE_CHAIN_FOLD_H_
#define SIGHTLINE_OBSERVE_CHAIN_FOLD_H_

#include "src/observe/tile_block.h"

namespace sightline {

/// The sum of 16 sub-chains, folded by halving (r with r + 8, then r + 4, r + 2, r + 1), as everywhere.
inline float fold_chains(const float* chains) {
  float sums[kChains];
  for (int r = 0; r < kChains; ++r) sums[r] = chains[r];
  for (int width = kChains / 2; width > 0; width /= 2) {
    for (int r = 0; r < width; ++r) sums[r] += sums[r + width];
  }
  return sums[0];
}

}  // namespace sightline

#endif  // SIGHTLINE_OBSERVE_CHAIN_FOLD_H_
