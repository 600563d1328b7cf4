#include "src/ops/weight_matrix.h"

#include <cstring>
#include <string>

#include "sightline/error.h"
#include "src/tensor/dtype.h"
#include "src/tensor/element.h"

namespace sightline::ops {

void widen(const std::byte* from, DType dtype, std::span<float> to) {
  if (dtype == DType::f32) {
    if (!to.empty()) std::memcpy(to.data(), from, to.size_bytes());
    return;
  }
  for (float& value : to) {
    value = element_as_f32(dtype, from);
    from += sizeof(std::uint16_t);
  }
}

void check_weight_dtype(const WeightMatrix& matrix, const char* what) {
  if (is_float(matrix.dtype)) return;
  throw BadArgument(std::string(what) + ": weights of type " + dtype_name(matrix.dtype) +
                    " are not supported (F32, F16 and BF16 are)");
}

}  // namespace sightline::ops
