#include "src/ops/weight_matrix.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <string>

#include "sightline/error.h"
#include "src/cpu/target.h"
#include "src/ops/testing.h"

namespace sightline::ops {
namespace {

class WeightMatrixTest : public ::testing::Test {
 protected:
  void TearDown() override { cpu::force_target(""); }
};

bool same_bits(float a, float b) {
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b) || (std::isnan(a) && std::isnan(b));
}

// Fully random bits: scales that are infinite, subnormal, negative zero or NaN are among them.
TEST_F(WeightMatrixTest, WidensBlocksToTheBitsOfTheirDefinition) {
  for (DType dtype : testing::kWeightTypes) {
    if (!is_block(dtype)) continue;
    const BlockLayout layout = block_layout(dtype);
    constexpr std::size_t kBlocks = 3000, kShift = 3;
    std::mt19937 random(7);
    std::vector<std::byte> bytes(kShift + kBlocks * layout.bytes);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
    std::vector<float> expected(kBlocks * layout.width), widened(expected.size());
    decode_blocks(dtype, bytes.data() + kShift, expected);
    for (const std::string& target : cpu::available_targets()) {
      cpu::force_target(target);
      widen(bytes.data() + kShift, dtype, widened);
      for (std::size_t i = 0; i < expected.size(); ++i) {
        ASSERT_TRUE(same_bits(expected[i], widened[i]))
            << target << " " << dtype_name(dtype) << " element " << i << ": " << expected[i] << " " << widened[i];
      }
    }
  }
}

TEST_F(WeightMatrixTest, WidensFloatsOfAnyCount) {
  for (const std::string& target : cpu::available_targets()) {
    cpu::force_target(target);
    for (DType dtype : {DType::f32, DType::f16, DType::bf16}) {
      for (std::int64_t count : {0, 1, 15, 16, 17, 50}) {
        const testing::StoredWeights w = testing::random_weights(dtype, 1, count, 1, 2);
        std::vector<float> widened(count + 1, 7);
        widen(w.matrix.data, dtype, std::span(widened).first(count));
        for (std::int64_t i = 0; i < count; ++i) ASSERT_EQ(w.values[i], widened[i]) << target << " " << i;
        EXPECT_EQ(7, widened[count]);
      }
    }
  }
}

std::string refusal(const WeightMatrix& matrix) {
  try {
    check_weights(matrix, "layer");
  } catch (const BadArgument& error) {
    return error.what();
  }
  return "";
}

TEST_F(WeightMatrixTest, RefusesWhatNoMatrixCanBe) {
  EXPECT_EQ("", refusal({nullptr, DType::q4_k, 3, 512}));
  EXPECT_EQ("", refusal({nullptr, DType::bf16, 3, 5, true}));
  EXPECT_NE(std::string::npos, refusal({nullptr, DType::i32, 3, 5}).find("I32"));
  EXPECT_NE(std::string::npos, refusal({nullptr, DType::i8_row, 3, 5}).find("I8_ROW"));
  EXPECT_NE(std::string::npos, refusal({nullptr, DType::q4_k, 3, 640}).find("hold 256"));
  EXPECT_NE(std::string::npos, refusal({nullptr, DType::q8_0, 32, 32, true}).find("transposed"));
  EXPECT_NE("", refusal({nullptr, DType::f32, -1, 5}));
  EXPECT_NE("", refusal({nullptr, DType::f32, 1, -5}));
}

}  // namespace
}  // namespace sightline::ops
