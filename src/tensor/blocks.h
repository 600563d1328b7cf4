#ifndef SIGHTLINE_TENSOR_BLOCKS_H_
#define SIGHTLINE_TENSOR_BLOCKS_H_

#include <cstddef>
#include <span>

#include "sightline/tensor.h"

/// Blocks of quantised weights, as GGUF files store them: `width` elements side by side share their scales.
namespace sightline {

struct BlockLayout {
  std::size_t width;  // elements
  std::size_t bytes;
};

/// Of a type that is no block: {1, 0}.
constexpr BlockLayout block_layout(DType dtype) {
  switch (dtype) {
    case DType::q4_0:
      return {32, 18};
    case DType::q4_1:
      return {32, 20};
    case DType::q5_0:
      return {32, 22};
    case DType::q5_1:
      return {32, 24};
    case DType::q8_0:
      return {32, 34};
    case DType::q2_k:
      return {256, 84};
    case DType::q3_k:
      return {256, 110};
    case DType::q4_k:
      return {256, 144};
    case DType::q5_k:
      return {256, 176};
    case DType::q6_k:
      return {256, 210};
    case DType::iq4_nl:
      return {32, 18};
    case DType::iq4_xs:
      return {256, 136};
    case DType::mxfp4:
      return {32, 17};
    default:
      return {1, 0};
  }
}

constexpr bool is_block(DType dtype) { return block_layout(dtype).bytes > 0; }

}  // namespace sightline

#endif  // SIGHTLINE_TENSOR_BLOCKS_H_
