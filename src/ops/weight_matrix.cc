#include "src/ops/weight_matrix.h"

#include <cstring>
#include <string>

#include "sightline/error.h"
#include "src/tensor/half.h"

namespace sightline::ops {

void widen(const std::byte* from, DType dtype, std::span<float> to) {
  if (dtype == DType::f32) {
    if (!to.empty()) std::memcpy(to.data(), from, to.size_bytes());
    return;
  }
  for (float& value : to) {
    std::uint16_t bits;
    std::memcpy(&bits, from, sizeof bits);
    value = dtype == DType::f16 ? f16_to_f32(bits) : bf16_to_f32(bits);
    from += sizeof bits;
  }
}

void check_weight_dtype(const WeightMatrix& matrix, const char* what) {
  if (matrix.dtype == DType::f32 || matrix.dtype == DType::f16 || matrix.dtype == DType::bf16) return;
  throw BadArgument(std::string(what) + ": weights of type " + dtype_name(matrix.dtype) +
                    " are not supported (F32, F16 and BF16 are)");
}

}  // namespace sightline::ops
