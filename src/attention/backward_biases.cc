#include "src/attention/backward_biases.h"

#include <algorithm>

namespace sightline {
namespace {

void add_pairs(const Matrix<float>& dbias, const TileRows& tile, const TileBlock& block, const float* slopes) {
  for (int lane = 0; lane < tile.live_end; ++lane) {
    float* to = &dbias.at(tile.first + lane, block.first_key + block.begin);
    for (int slot = block.begin; slot < block.end; ++slot, to += dbias.column_stride) {
      *to += slopes[slot * tile.lanes + lane];
    }
  }
}

// One sum a key.
void add_keys(const Matrix<float>& dbias, const TileRows& tile, const TileBlock& block, const float* slopes) {
  for (int slot = block.begin; slot < block.end; ++slot) {
    double sum = 0;
    for (int lane = 0; lane < tile.live_end; ++lane) sum += slopes[slot * tile.lanes + lane];
    dbias.at(0, block.first_key + slot) += static_cast<float>(sum);
  }
}

// One sum a row.
void add_rows(const Matrix<float>& dbias, const TileRows& tile, const TileBlock& block, const float* slopes) {
  double sums[kTileRows] = {};
  for (int slot = block.begin; slot < block.end; ++slot) {
    for (int lane = 0; lane < tile.live_end; ++lane) sums[lane] += slopes[slot * tile.lanes + lane];
  }
  for (int lane = 0; lane < tile.live_end; ++lane) dbias.at(tile.first + lane, 0) += static_cast<float>(sums[lane]);
}

}  // namespace

void add_bias_gradient(const Matrix<float>& dbias, const TileRows& tile, const TileBlock& block, const float* slopes) {
  if (dbias.column_stride == 0) return add_rows(dbias, tile, block, slopes);
  if (dbias.row_stride == 0) return add_keys(dbias, tile, block, slopes);
  add_pairs(dbias, tile, block, slopes);
}

}  // namespace sightline
