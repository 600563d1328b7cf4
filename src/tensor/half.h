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

/// fp32 rounded to binary16, to nearest, ties to even; 65520 and more become infinite. A NaN stays one: quiet, with the
/// upper bits of its payload. All cases are computed and one is chosen, so that a loop over it is vectorised.
constexpr std::uint16_t f32_to_f16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7FFFFFFFu;
  // The bias of the exponent shrinks from 127 to 15; half a unit less one, plus the last bit kept, rounds to even.
  const std::uint32_t normal = (magnitude - (112u << 23) + 0xFFFu + (magnitude >> 13 & 1)) >> 13;
  // Beside 0.5 a unit of fp32 is 2^-24, that of subnormal halves: the addition rounds.
  const std::uint32_t subnormal = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3F000000u;
  const std::uint32_t nan = 0x7E00u | (magnitude >> 13 & 0x3FFu);
  const std::uint32_t finite = magnitude < 113u << 23 ? subnormal : normal;
  const std::uint32_t number = magnitude >= 0x477FF000u ? 0x7C00u : finite;
  return static_cast<std::uint16_t>((magnitude > 0x7F800000u ? nan : number) | (bits >> 16 & 0x8000u));
}

/// fp32 rounded to bfloat16, to nearest, ties to even. A NaN stays one: quiet, with the upper bits of its payload.
constexpr std::uint16_t f32_to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (bits + 0x7FFFu + (bits >> 16 & 1)) >> 16;
  return static_cast<std::uint16_t>((bits & 0x7FFFFFFFu) > 0x7F800000u ? (bits >> 16 | 0x40u) : rounded);
}

}  // namespace sightline

#endif  // SIGHTLINE_TENSOR_HALF_H_
