#include "src/tensor/dtype.h"

#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

namespace sightline {
namespace {

TEST(DType, HasTheSizeAndNameOfTheFormat) {
  const std::vector<std::tuple<DType, std::size_t, std::string>> table = {
      {DType::boolean, 1, "BOOL"},    {DType::u8, 1, "U8"},   {DType::i8, 1, "I8"},   {DType::f8_e5m2, 1, "F8_E5M2"},
      {DType::f8_e4m3, 1, "F8_E4M3"}, {DType::i16, 2, "I16"}, {DType::u16, 2, "U16"}, {DType::f16, 2, "F16"},
      {DType::bf16, 2, "BF16"},       {DType::i32, 4, "I32"}, {DType::u32, 4, "U32"}, {DType::f32, 4, "F32"},
      {DType::f64, 8, "F64"},         {DType::i64, 8, "I64"}, {DType::u64, 8, "U64"},
  };
  for (const auto& [dtype, size, name] : table) {
    EXPECT_EQ(dtype_size(dtype), size) << name;
    EXPECT_EQ(dtype_name(dtype), name);
    EXPECT_EQ(parse_dtype(name), dtype) << name;
  }
}

TEST(DType, KnowsNoOtherSpelling) {
  for (const char* name : {"", "f32", "F", "F3", "F320", "F32 ", "F4", "F8_E8M0", "C64", "float32", "bool"}) {
    EXPECT_EQ(parse_dtype(name), std::nullopt) << name;
  }
}

TEST(DType, AValueThatNamesNoTypeHasNoSize) {
  for (const int value : {static_cast<int>(DType::mxfp4) + 1, 99, 255}) {
    EXPECT_EQ(dtype_size(static_cast<DType>(value)), 0u);
    EXPECT_STREQ(dtype_name(static_cast<DType>(value)), "an unknown type");
  }
}

}  // namespace
}  // namespace sightline
