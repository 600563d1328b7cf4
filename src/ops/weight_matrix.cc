#include "src/ops/weight_matrix.h"

#include <string>

#include "sightline/error.h"
#include "src/cpu/dispatch.h"
#include "src/tensor/blocks.h"
#include "src/tensor/dtype.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/ops/weight_matrix.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, as Highway asks.
#include "src/ops/widen-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sightline {
namespace HWY_NAMESPACE {
namespace {

void widen_span(const std::byte* from, DType dtype, std::span<float> to) {
  with_weight_type(dtype, [&](auto type) SIGHTLINE_LAMBDA {
    widen_row<decltype(type)::value>(from, to.size(),
                                     [&](std::size_t i, F value) SIGHTLINE_LAMBDA { store(value, to.data() + i); });
  });
  widen_rest(from, dtype, to);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace sightline
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sightline {
HWY_EXPORT(widen_span);

namespace ops {

void widen(const std::byte* from, DType dtype, std::span<float> to) { SIGHTLINE_DISPATCH(widen_span)(from, dtype, to); }

void check_weights(const WeightMatrix& matrix, const char* what) {
  const auto refuse = [&](const std::string& why) { throw BadArgument(std::string(what) + ": " + why); };
  const std::string type = dtype_name(matrix.dtype);
  if (!is_weight_type(matrix.dtype)) {
    refuse("weights of type " + type + " are not supported (F32, F16, BF16 and GGUF's blocks are)");
  }
  if (matrix.rows < 0 || matrix.cols < 0) refuse("negative size");
  if (!is_block(matrix.dtype)) return;
  if (matrix.transposed) refuse("a transposed matrix of type " + type + " is not supported (F32, F16 and BF16 are)");
  const auto width = static_cast<std::int64_t>(block_layout(matrix.dtype).width);
  if (matrix.cols % width != 0) {
    refuse("rows of " + std::to_string(matrix.cols) + " weights are no whole blocks of " + type + ", which hold " +
           std::to_string(width));
  }
}

}  // namespace ops
}  // namespace sightline
#endif  // HWY_ONCE
