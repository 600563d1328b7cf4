#ifndef SIGHTLINE_CAPI_CONVERT_H_
#define SIGHTLINE_CAPI_CONVERT_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "sightline/error.h"
#include "sightline/sightline.h"
#include "sightline/tensor.h"

namespace sightline::capi {

inline void require(bool holds, const char* otherwise) {
  if (!holds) throw BadArgument(otherwise);
}

/// The caller's struct in this library's size, whatever version the caller was compiled with. Fields from `required` on
/// may be left out, and are then 0.
template <class T>
T read_struct(const T* passed, std::size_t required, const std::string& type) {
  static_assert(std::is_trivially_copyable_v<T> && offsetof(T, struct_size) == 0);
  constexpr std::size_t kLargestSize = 1 << 16;  // above it struct_size was not set
  const std::size_t size = passed->struct_size;
  if (size < required || size > kLargestSize || size % alignof(T) != 0) {
    throw BadArgument("struct_size must be sizeof(" + type + ")");
  }
  const char* bytes = reinterpret_cast<const char*>(passed);
  if (std::any_of(bytes + std::min(size, sizeof(T)), bytes + size, [](char byte) { return byte != 0; })) {
    throw BadArgument("not supported: a field of " + type + " that is newer than this library");
  }
  T known{};
  std::memcpy(&known, bytes, std::min(size, sizeof(T)));
  return known;
}

/// What a code of the C interface stands for: codes count from 0.
template <class T, std::size_t kCount>
T decode(std::int64_t code, const std::array<T, kCount>& meanings, const char* otherwise) {
  require(code >= 0 && code < static_cast<std::int64_t>(kCount), otherwise);
  return meanings[static_cast<std::size_t>(code)];
}

/// In the order of their codes, SIGHTLINE_F32 to SIGHTLINE_Q4_1.
inline constexpr std::array kTypes = {DType::f32, DType::boolean, DType::f16, DType::bf16, DType::i8_row, DType::q4_1};

inline DType dtype(std::int64_t code) {
  return decode(code, kTypes,
                "dtype must be SIGHTLINE_F32, SIGHTLINE_BOOL, SIGHTLINE_F16, SIGHTLINE_BF16, SIGHTLINE_I8_ROW or "
                "SIGHTLINE_Q4_1");
}

template <class View, class Tensor>
View view(const Tensor& tensor) {
  return {tensor.data, dtype(tensor.dtype), std::to_array(tensor.shape), std::to_array(tensor.strides)};
}

/// A tensor of one of kTypes.
inline sightline_tensor in_c(const TensorView& view) {
  const auto code = std::find(kTypes.begin(), kTypes.end(), view.dtype) - kTypes.begin();
  sightline_tensor tensor{view.data, code, {}, {}};
  std::copy(view.shape.begin(), view.shape.end(), tensor.shape);
  std::copy(view.strides.begin(), view.strides.end(), tensor.strides);
  return tensor;
}

template <class T>
std::span<const T> array(const T* data, std::int64_t count, const char* otherwise) {
  require(count >= 0 && (count == 0 || data != nullptr), otherwise);
  return {data, static_cast<std::size_t>(count)};
}

/// An array that is there or not, whose size the shapes say.
template <class T>
std::span<const T> array_or_none(const T* data, std::int64_t count) {
  return {data, data == nullptr ? 0 : static_cast<std::size_t>(std::max<std::int64_t>(count, 0))};
}

/// An int field that the C interface widens, so that no padding hides in its structs.
template <class T>
T narrow(std::int64_t value, const char* otherwise) {
  require(std::in_range<T>(value), otherwise);
  return static_cast<T>(value);
}

template <class T>
T or_default(T value, T otherwise) {
  return value == 0 ? otherwise : value;
}

}  // namespace sightline::capi

#endif  // SIGHTLINE_CAPI_CONVERT_H_
