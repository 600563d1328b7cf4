#ifndef SIGHTLINE_TENSOR_ELEMENT_H_
#define SIGHTLINE_TENSOR_ELEMENT_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "sightline/tensor.h"
#include "src/tensor/half.h"

namespace sightline {

/// A value at any byte alignment.
template <class T>
T load_element(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

/// An f32, f16 or bf16 element as fp32, exactly.
inline float element_as_f32(DType dtype, const std::byte* from) {
  if (dtype == DType::f32) return load_element<float>(from);
  const auto half = load_element<std::uint16_t>(from);
  return dtype == DType::f16 ? f16_to_f32(half) : bf16_to_f32(half);
}

}  // namespace sightline

#endif  // SIGHTLINE_TENSOR_ELEMENT_H_
