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
  u64,
  i8_row,  ///< packed row of the last axis: an f32 scale, then one i8 an element; value = float(i8) * scale
  q4_1,    ///< packed blocks of 32 along the last axis (the last one padded), 20 bytes each: an f16 scale, an f16
           ///< minimum, then 16 bytes whose low halves are elements 0-15 and whose high halves 16-31; value =
           ///< fma(q, scale, minimum)
  // Blocks of weights, laid out as GGUF files store them (docs/gguf.md); q4_1 above is one of them.
  q4_0,
  q5_0,
  q5_1,
  q8_0,
  q2_k,
  q3_k,
  q4_k,
  q5_k,
  q6_k,
  iq4_nl,
  iq4_xs,
  mxfp4,
};

/// Whether keys and values of this type are packed row by row of the last axis.
constexpr bool is_packed(DType dtype) { return dtype == DType::i8_row || dtype == DType::q4_1; }
/// Bytes of one element; packed rows and blocks have none and give 0.
std::size_t dtype_size(DType dtype);
/// Bytes of a row of `width` elements that lie side by side; a last block that is not full counts whole.
std::size_t row_bytes(DType dtype, std::int64_t width);
/// The safetensors spelling: "F32", "BF16", "BOOL", ...
const char* dtype_name(DType dtype);

/// A read-only strided view of a 4-D tensor. It owns nothing.
/// Strides are in elements, may be 0 (shared), negative or larger than 2^31; those of packed types are in bytes, and
/// their last one is not read: a row is contiguous. `data` points at element [0,0,0,0];
/// a null `data` means "no tensor" where a tensor is optional.
struct TensorView {
  const void* data = nullptr;
  DType dtype = DType::f32;
  std::array<std::int64_t, 4> shape{};    // [batch, heads, sequence, width] for queries, keys and values
  std::array<std::int64_t, 4> strides{};  // elements

  explicit operator bool() const { return data != nullptr; }
};

/// As TensorView, for output; where one is read, it is one.
struct MutableTensorView {
  void* data = nullptr;
  DType dtype = DType::f32;
  std::array<std::int64_t, 4> shape{};
  std::array<std::int64_t, 4> strides{};

  explicit operator bool() const { return data != nullptr; }
  operator TensorView() const { return {data, dtype, shape, strides}; }
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
