#ifndef SIGHTLINE_OPS_TESTING_H_
#define SIGHTLINE_OPS_TESTING_H_

#include <array>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <vector>

#include "src/ops/weight_matrix.h"
#include "src/tensor/blocks.h"
#include "src/tensor/element.h"

/// Matrices of weights for tests and benchmarks.
namespace sightline::ops::testing {

inline constexpr std::array<DType, 16> kWeightTypes = {
    DType::f32,  DType::f16,  DType::bf16, DType::q4_0, DType::q4_1, DType::q5_0,   DType::q5_1,   DType::q8_0,
    DType::q2_k, DType::q3_k, DType::q4_k, DType::q5_k, DType::q6_k, DType::iq4_nl, DType::iq4_xs, DType::mxfp4};

/// Stored weights as bytes that start `shift` bytes after an aligned address, and what they are worth.
struct StoredWeights {
  std::vector<std::byte> bytes;
  std::vector<float> values;  // [rows, cols]
  WeightMatrix matrix;

  const float* row(std::int64_t r) const { return values.data() + r * matrix.cols; }
};

inline std::vector<float> normal_values(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& v : values) v = normal(random);
  return values;
}

/// Where a block has its numbers of f16.
inline std::vector<std::size_t> f16_places(DType dtype) {
  switch (dtype) {
    case DType::q4_1:
    case DType::q5_1:
    case DType::q4_k:
    case DType::q5_k:
      return {0, 2};
    case DType::q2_k:
      return {80, 82};
    case DType::q3_k:
      return {108};
    case DType::q6_k:
      return {208};
    case DType::mxfp4:
      return {};
    default:
      return {0};
  }
}

inline void put_f16(std::byte* to, float value) {
  const std::uint16_t half = f32_to_f16(value);
  std::memcpy(to, &half, sizeof half);
}

/// Random bits but for what scales a whole block, which are normal numbers divided by 64.
inline void fill_block(DType dtype, std::mt19937& random, std::byte* block) {
  for (std::size_t i = 0; i < block_layout(dtype).bytes; ++i) block[i] = static_cast<std::byte>(random());
  for (std::size_t at : f16_places(dtype)) put_f16(block + at, std::normal_distribution<float>()(random) / 64);
  if (dtype == DType::mxfp4) block[0] = static_cast<std::byte>(118 + random() % 8);
}

inline void fill_element(DType dtype, std::mt19937& random, std::byte* to) {
  const float value = std::normal_distribution<float>()(random);
  const std::uint16_t half = dtype == DType::f16 ? f32_to_f16(value) : f32_to_bf16(value);
  std::memcpy(to, dtype == DType::f32 ? static_cast<const void*>(&value) : &half, dtype == DType::f32 ? 4 : 2);
}

/// cols: rounded up to whole blocks.
inline StoredWeights random_weights(DType dtype, std::int64_t rows, std::int64_t cols, std::size_t shift,
                                    unsigned seed) {
  const BlockLayout layout = is_block(dtype) ? block_layout(dtype) : BlockLayout{1, dtype == DType::f32 ? 4u : 2u};
  const std::int64_t units =
      (cols + static_cast<std::int64_t>(layout.width) - 1) / static_cast<std::int64_t>(layout.width);
  std::mt19937 random(seed);
  StoredWeights w;
  w.bytes.resize(shift + rows * units * layout.bytes);
  w.values.resize(rows * units * layout.width);
  for (std::int64_t unit = 0; unit < rows * units; ++unit) {
    std::byte* to = w.bytes.data() + shift + unit * layout.bytes;
    if (is_block(dtype)) {
      fill_block(dtype, random, to);
      decode_blocks(dtype, to, std::span(w.values).subspan(unit * layout.width, layout.width));
    } else {
      fill_element(dtype, random, to);
      w.values[unit] = element_as_f32(dtype, to);
    }
  }
  w.matrix = {w.bytes.data() + shift, dtype, rows, units * static_cast<std::int64_t>(layout.width)};
  return w;
}

/// The same values, stored [cols, rows]. Of floats alone.
inline StoredWeights stored_transposed(const StoredWeights& from, std::size_t shift) {
  const std::int64_t rows = from.matrix.rows, cols = from.matrix.cols;
  const std::size_t size = from.matrix.dtype == DType::f32 ? 4 : 2;
  StoredWeights w = from;
  w.bytes.assign(shift + from.values.size() * size, std::byte{});
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < cols; ++c) {
      std::memcpy(w.bytes.data() + shift + (c * rows + r) * size, from.matrix.data + (r * cols + c) * size, size);
    }
  }
  w.matrix = {w.bytes.data() + shift, from.matrix.dtype, rows, cols, true};
  return w;
}

}  // namespace sightline::ops::testing

#endif  // SIGHTLINE_OPS_TESTING_H_
