#include "src/ops/weight_matrix.h"

#include <string>

#include "sightline/error.h"

namespace sightline::ops {

void check_weight_dtype(const WeightMatrix& matrix, const char* what) {
  if (matrix.dtype == DType::f32 || matrix.dtype == DType::f16 || matrix.dtype == DType::bf16) return;
  throw BadArgument(std::string(what) + ": weights of type " + dtype_name(matrix.dtype) +
                    " are not supported (F32, F16 and BF16 are)");
}

}  // namespace sightline::ops
