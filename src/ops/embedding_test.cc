#include "src/ops/embedding.h"

#include <gtest/gtest.h>

#include <vector>

#include "sightline/error.h"
#include "src/ops/testing.h"

namespace sightline::ops {
namespace {

// Three rows of F16 at an odd address: 1 2 | -0.5 0 | 2^-24 (subnormal) 65504.
const unsigned char kHalves[] = {0xEE, 0x00, 0x3C, 0x00, 0x40, 0x00, 0xB8, 0x00, 0x00, 0x01, 0x00, 0xFF, 0x7B};

WeightMatrix table() { return {reinterpret_cast<const std::byte*>(kHalves + 1), DType::f16, 3, 2}; }

TEST(Embedding, AddsTheNamedRows) {
  std::vector<float> y = {10, 20, 0, 0, 0, 0};
  add_embedding(table(), std::vector<std::int32_t>{1, 2, 0}, y.data());
  EXPECT_EQ((std::vector<float>{9.5f, 20, 0x1p-24f, 65504, 1, 2}), y);
}

TEST(Embedding, AddsRowsOfBlocks) {
  const testing::StoredWeights w = testing::random_weights(DType::q6_k, 5, 256, 1, 1);
  std::vector<float> y(2 * 256);
  add_embedding(w.matrix, std::vector<std::int32_t>{3, 0}, y.data());
  EXPECT_EQ(std::vector<float>(w.row(3), w.row(4)), std::vector<float>(y.begin(), y.begin() + 256));
  EXPECT_EQ(std::vector<float>(w.row(0), w.row(1)), std::vector<float>(y.begin() + 256, y.end()));
}

TEST(Embedding, RefusesATransposedTable) {
  WeightMatrix turned = table();
  turned.transposed = true;
  std::vector<float> y(2);
  EXPECT_THROW(add_embedding(turned, std::vector<std::int32_t>{0}, y.data()), BadArgument);
}

TEST(Embedding, RefusesIndexesOutsideTheTable) {
  std::vector<float> y(2);
  EXPECT_THROW(add_embedding(table(), std::vector<std::int32_t>{3}, y.data()), BadArgument);
  EXPECT_THROW(add_embedding(table(), std::vector<std::int32_t>{-1}, y.data()), BadArgument);
}

}  // namespace
}  // namespace sightline::ops
