#include "src/tensor/dtype.h"

#include <array>

namespace sightline {
namespace {

struct DTypeInfo {
  DType dtype;
  std::size_t size;
  const char* name;
};

// In the order of the enumeration, so that a type is its own index.
constexpr std::array<DTypeInfo, 15> kTable = {{
    {DType::boolean, 1, "BOOL"},
    {DType::u8, 1, "U8"},
    {DType::i8, 1, "I8"},
    {DType::f8_e5m2, 1, "F8_E5M2"},
    {DType::f8_e4m3, 1, "F8_E4M3"},
    {DType::i16, 2, "I16"},
    {DType::u16, 2, "U16"},
    {DType::f16, 2, "F16"},
    {DType::bf16, 2, "BF16"},
    {DType::i32, 4, "I32"},
    {DType::u32, 4, "U32"},
    {DType::f32, 4, "F32"},
    {DType::f64, 8, "F64"},
    {DType::i64, 8, "I64"},
    {DType::u64, 8, "U64"},
}};

constexpr bool table_is_in_order() {
  for (std::size_t i = 0; i < kTable.size(); ++i) {
    if (static_cast<std::size_t>(kTable[i].dtype) != i) return false;
  }
  return true;
}
static_assert(table_is_in_order());

const DTypeInfo& info(DType dtype) { return kTable[static_cast<std::size_t>(dtype)]; }

}  // namespace

std::size_t dtype_size(DType dtype) { return info(dtype).size; }

const char* dtype_name(DType dtype) { return info(dtype).name; }

std::optional<DType> parse_dtype(std::string_view name) {
  for (const DTypeInfo& entry : kTable) {
    if (name == entry.name) return entry.dtype;
  }
  return std::nullopt;
}

}  // namespace sightline
