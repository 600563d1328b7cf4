#ifndef SIGHTLINE_TENSOR_DTYPE_H_
#define SIGHTLINE_TENSOR_DTYPE_H_

#include <optional>
#include <string_view>

#include "sightline/tensor.h"

namespace sightline {

/// The type that the safetensors format spells so ("F32", exactly); nothing for a name outside the table.
std::optional<DType> parse_dtype(std::string_view name);

}  // namespace sightline

#endif  // SIGHTLINE_TENSOR_DTYPE_H_
