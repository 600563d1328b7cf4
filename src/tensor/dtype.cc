#include "src/tensor/dtype.h"

#include <array>

#include "src/tensor/blocks.h"

namespace sightline {
namespace {

struct DTypeInfo {
  DType dtype;
  std::size_t size;
  const char* name;
};

// In the order of the enumeration, so that a type is its own index.
constexpr std::array<DTypeInfo, 29> kTable = {{
    {DType::boolean, 1, "BOOL"},    {DType::u8, 1, "U8"},           {DType::i8, 1, "I8"},
    {DType::f8_e5m2, 1, "F8_E5M2"}, {DType::f8_e4m3, 1, "F8_E4M3"}, {DType::i16, 2, "I16"},
    {DType::u16, 2, "U16"},         {DType::f16, 2, "F16"},         {DType::bf16, 2, "BF16"},
    {DType::i32, 4, "I32"},         {DType::u32, 4, "U32"},         {DType::f32, 4, "F32"},
    {DType::f64, 8, "F64"},         {DType::i64, 8, "I64"},         {DType::u64, 8, "U64"},
    {DType::i8_row, 0, "I8_ROW"},   {DType::q4_1, 0, "Q4_1"},       {DType::q4_0, 0, "Q4_0"},
    {DType::q5_0, 0, "Q5_0"},       {DType::q5_1, 0, "Q5_1"},       {DType::q8_0, 0, "Q8_0"},
    {DType::q2_k, 0, "Q2_K"},       {DType::q3_k, 0, "Q3_K"},       {DType::q4_k, 0, "Q4_K"},
    {DType::q5_k, 0, "Q5_K"},       {DType::q6_k, 0, "Q6_K"},       {DType::iq4_nl, 0, "IQ4_NL"},
    {DType::iq4_xs, 0, "IQ4_XS"},   {DType::mxfp4, 0, "MXFP4"},
}};

constexpr bool table_is_in_order() {
  for (std::size_t i = 0; i < kTable.size(); ++i) {
    if (static_cast<std::size_t>(kTable[i].dtype) != i) return false;
  }
  return true;
}
static_assert(table_is_in_order());

// A value that names no type has no size.
constexpr DTypeInfo kUnknown = {DType::u8, 0, "an unknown type"};

const DTypeInfo& info(DType dtype) {
  const auto index = static_cast<std::size_t>(dtype);
  return index < kTable.size() ? kTable[index] : kUnknown;
}

}  // namespace

std::size_t dtype_size(DType dtype) { return info(dtype).size; }

std::size_t row_bytes(DType dtype, std::int64_t width) {
  const auto elements = static_cast<std::size_t>(width);
  if (dtype == DType::i8_row) return sizeof(float) + elements;
  if (!is_block(dtype)) return elements * dtype_size(dtype);
  const BlockLayout block = block_layout(dtype);
  return (elements + block.width - 1) / block.width * block.bytes;
}

const char* dtype_name(DType dtype) { return info(dtype).name; }

std::optional<DType> parse_dtype(std::string_view name) {
  for (const DTypeInfo& entry : kTable) {
    if (name == entry.name && entry.size > 0) return entry.dtype;
  }
  return std::nullopt;
}

std::string shape_text(const std::array<std::int64_t, 4>& shape) {
  std::string text = "[";
  for (int axis = 0; axis < 4; ++axis) text += (axis == 0 ? "" : ", ") + std::to_string(shape[axis]);
  return text + "]";
}

}  // namespace sightline
