#ifndef SIGHTLINE_TENSOR_H_
#define SIGHTLINE_TENSOR_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace sightline {

/// Element types, named as in the safetensors format.
enum class DType : std::uint8_t {
  boolean,
  u8,
  i8,
  f8_e5m2,
  f8_e4m3,
  i16,
  u16,
  f16,
  bf16,
  i32,
  u32,
  f32,
  f64,
  i64,
  u64
};

/// Bytes of one element.
std::size_t dtype_size(DType dtype);
/// The safetensors spelling: "F32", "BF16", "BOOL", ...
const char* dtype_name(DType dtype);

/// A read-only strided view of a 4-D tensor. It owns nothing.
/// Strides are in elements, may be 0 (shared), negative or larger than 2^31. `data` points at element [0,0,0,0];
/// a null `data` means "no tensor" where a tensor is optional.
struct TensorView {
  const void* data = nullptr;
  DType dtype = DType::f32;
  std::array<std::int64_t, 4> shape{};    // [batch, heads, sequence, width] for queries, keys and values
  std::array<std::int64_t, 4> strides{};  // elements

  explicit operator bool() const { return data != nullptr; }
};

/// As TensorView, for output.
struct MutableTensorView {
  void* data = nullptr;
  DType dtype = DType::f32;
  std::array<std::int64_t, 4> shape{};
  std::array<std::int64_t, 4> strides{};

  explicit operator bool() const { return data != nullptr; }
};

/// Row-major strides of a dense tensor.
constexpr std::array<std::int64_t, 4> dense_strides(const std::array<std::int64_t, 4>& shape) {
  return {shape[1] * shape[2] * shape[3], shape[2] * shape[3], shape[3], 1};
}

inline TensorView dense_view(const float* data, const std::array<std::int64_t, 4>& shape) {
  return {data, DType::f32, shape, dense_strides(shape)};
}
inline MutableTensorView dense_view(float* data, const std::array<std::int64_t, 4>& shape) {
  return {data, DType::f32, shape, dense_strides(shape)};
}

}  // namespace sightline

#endif  // SIGHTLINE_TENSOR_H_
