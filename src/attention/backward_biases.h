#ifndef SIGHTLINE_ATTENTION_BACKWARD_BIASES_H_
#define SIGHTLINE_ATTENTION_BACKWARD_BIASES_H_

#include "src/attention/backward_group.h"
#include "src/observe/tile_block.h"

namespace sightline {

/// Adds a block of dL/d(score), [kBlockKeys, lanes], to the gradient of the head's bias: rows ascending where it is
/// shared by rows, keys ascending where it is shared by keys.
void add_bias_gradient(const Matrix<float>& dbias, const TileRows& tile, const TileBlock& block, const float* slopes);

}  // namespace sightline

#endif  // SIGHTLINE_ATTENTION_BACKWARD_BIASES_H_
