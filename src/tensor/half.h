#ifndef SIGHTLINE_TENSOR_HALF_H_
#define SIGHTLINE_TENSOR_HALF_H_

#include <bit>
#include <cstdint>

namespace sightline {

/// IEEE binary16 as fp32, exact for every pattern; the payload of a NaN is kept.
constexpr float f16_to_f32(std::uint16_t half) {
  const std::uint32_t sign = std::uint32_t{half & 0x8000u} << 16;
  const std::uint32_t exponent = (half >> 10) & 0x1Fu;
  const std::uint32_t mantissa = half & 0x3FFu;
  if (exponent == 0) {  // zero and subnormals: mantissa x 2^-24
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | sign);
  }
  // The exponent's bias grows from 15 to 127; that of Inf and NaN, all ones, stays all ones.
  const std::uint32_t widened = exponent == 0x1F ? 0xFFu : exponent + (127 - 15);
  return std::bit_cast<float>(sign | widened << 23 | mantissa << 13);
}

/// bfloat16 as fp32: its upper half.
constexpr float bf16_to_f32(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16); }

}  // namespace sightline

#endif  // SIGHTLINE_TENSOR_HALF_H_
