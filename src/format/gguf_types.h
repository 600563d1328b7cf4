#ifndef SIGHTLINE_FORMAT_GGUF_TYPES_H_
#define SIGHTLINE_FORMAT_GGUF_TYPES_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "sightline/tensor.h"
#include "src/format/gguf.h"

namespace sightline::format {

/// A tensor type by the number that stands in the file. Null where the format knows no such number.
struct GgufTensorType {
  const char* name;            // as the format spells it
  std::optional<DType> dtype;  // nothing: known, but not read
};
const GgufTensorType* find_tensor_type(std::uint32_t number);

/// Whether the format knows a value type of this number.
constexpr bool is_value_type(std::uint32_t number) { return number <= static_cast<std::uint32_t>(GgufType::f64); }
/// Bytes of a number of this type; 0 for strings and arrays.
std::size_t value_size(GgufType type);
const char* value_type_name(GgufType type);
/// Neither a float, nor a boolean, nor a string.
bool is_integer(GgufType type);

}  // namespace sightline::format

#endif  // SIGHTLINE_FORMAT_GGUF_TYPES_H_
