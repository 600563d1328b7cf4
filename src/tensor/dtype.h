#ifndef SIGHTLINE_TENSOR_DTYPE_H_
#define SIGHTLINE_TENSOR_DTYPE_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sightline/tensor.h"

namespace sightline {

/// The type that the safetensors format spells so ("F32", exactly); nothing for a name outside the table.
std::optional<DType> parse_dtype(std::string_view name);

/// The types that are widened to fp32 element by element: f32, f16 and bf16.
constexpr bool is_float(DType dtype) { return dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16; }

/// "[2, 8, 128, 64]", for messages.
std::string shape_text(const std::array<std::int64_t, 4>& shape);

}  // namespace sightline

#endif  // SIGHTLINE_TENSOR_DTYPE_H_
