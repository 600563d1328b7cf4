#include "src/tensor/blocks.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <vector>

#include "src/format/safetensors.h"
#include "src/tensor/dtype.h"
#include "src/tensor/element.h"

namespace sightline::format {
namespace {

const std::filesystem::path kBlocks =
    std::filesystem::path(SIGHTLINE_SOURCE_DIR) / "tests/data/conformance/gguf/blocks.safetensors";

// Random blocks of each type beside their values by another implementation, which multiplies in another order.
TEST(Blocks, HaveTheReferenceValues) {
  const SafetensorsFile file = SafetensorsFile::open(kBlocks);
  for (int number = static_cast<int>(DType::q4_1); number <= static_cast<int>(DType::mxfp4); ++number) {
    const auto dtype = static_cast<DType>(number);
    const std::string name = dtype_name(dtype);
    const Tensor* raw = file.find(name + ".raw");
    const Tensor* values = file.find(name + ".values");
    ASSERT_TRUE(raw != nullptr && values != nullptr) << name;
    const BlockLayout layout = block_layout(dtype);
    const std::size_t blocks = raw->bytes.size() / layout.bytes;
    ASSERT_EQ(raw->bytes.size(), blocks * layout.bytes) << name;
    ASSERT_EQ(values->bytes.size(), blocks * layout.width * sizeof(float)) << name;
    std::vector<float> decoded(blocks * layout.width, NAN);
    decode_blocks(dtype, raw->bytes.data(), decoded);
    for (std::size_t i = 0; i < decoded.size(); ++i) {
      const auto expected = load_element<float>(values->bytes.data() + i * sizeof(float));
      ASSERT_NEAR(expected, decoded[i], 1e-6 * std::abs(expected)) << name << " element " << i;
    }
  }
}

}  // namespace
}  // namespace sightline::format
