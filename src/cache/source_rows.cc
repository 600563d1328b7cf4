#include "src/cache/source_rows.h"

#include <cstring>
#include <string>

#include "sightline/error.h"
#include "src/tensor/dtype.h"
#include "src/tensor/half.h"
#include "src/tensor/packed.h"

namespace sightline::cache {
namespace {

template <class T, class Widen>
void widen(const std::byte* row, std::int64_t stride, std::span<float> out, const Widen& to_f32) {
  const T* const elements = reinterpret_cast<const T*>(row);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = to_f32(elements[static_cast<std::int64_t>(i) * stride]);
}

}  // namespace

SourceRows::SourceRows(const TensorView& tensor, const char* name, const std::array<std::int64_t, 4>& shape)
    : tensor_(tensor), name_(name) {
  const std::string text(name);
  if (tensor.shape != shape) {
    throw BadArgument(text + " has shape " + shape_text(tensor.shape) + ", and the cache expects " + shape_text(shape));
  }
  if (!is_float(tensor.dtype)) {
    throw BadArgument(text + " is " + dtype_name(tensor.dtype) + ": the cache takes F32, F16 and BF16");
  }
  const bool empty = shape[0] == 0 || shape[2] == 0;
  if (!tensor && !empty) throw BadArgument(text + " has no data");
  if (reinterpret_cast<std::uintptr_t>(tensor.data) % dtype_size(tensor.dtype) != 0) {
    throw BadArgument(text + " lies at an address that its type may not have");
  }
}

const std::byte* SourceRows::address(std::int64_t b, std::int64_t head, std::int64_t token) const {
  const auto& strides = tensor_.strides;
  return static_cast<const std::byte*>(tensor_.data) + (b * strides[0] + head * strides[1] + token * strides[2]) *
                                                           static_cast<std::int64_t>(dtype_size(tensor_.dtype));
}

std::span<const float> SourceRows::widened(const std::byte* row, Buffer& buffer) const {
  const auto width = static_cast<std::size_t>(tensor_.shape[3]);
  const std::int64_t stride = tensor_.strides[3];
  const std::span<float> out(buffer.data(), width);
  switch (tensor_.dtype) {
    case DType::f16:
      widen<std::uint16_t>(row, stride, out, f16_to_f32);
      return out;
    case DType::bf16:
      widen<std::uint16_t>(row, stride, out, bf16_to_f32);
      return out;
    default:
      if (stride == 1) return {reinterpret_cast<const float*>(row), width};
      widen<float>(row, stride, out, [](float x) { return x; });
      return out;
  }
}

void SourceRows::check_values(DType dtype) const {
  if (!is_packed(dtype)) return;
  Buffer buffer;
  const auto& [batch, heads, tokens, width] = tensor_.shape;
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t head = 0; head < heads; ++head) {
      for (std::int64_t token = 0; token < tokens; ++token) {
        const std::int64_t column = first_unencodable(dtype, widened(address(b, head, token), buffer));
        if (column < 0) continue;
        throw BadArgument(std::string(name_) + " at " + shape_text({b, head, token, column}) +
                          " is not finite, or too large for a cache of type " + dtype_name(dtype));
      }
    }
  }
}

void SourceRows::store(std::int64_t b, std::int64_t head, std::int64_t token, DType dtype, std::byte* to) const {
  const std::byte* const row = address(b, head, token);
  if (tensor_.dtype == dtype && tensor_.strides[3] == 1) {  // also keeps the payload of a NaN
    std::memcpy(to, row, row_bytes(dtype, tensor_.shape[3]));
    return;
  }
  Buffer buffer;
  encode_row(dtype, widened(row, buffer), to);
}

}  // namespace sightline::cache
