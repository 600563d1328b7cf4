#include "tests/attention/formats.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace sightline::testing {
namespace {

constexpr std::int64_t kBlock = 32;  // elements of a q4_1 block

// A number of `fraction_bits` and a least exponent: the nearest that has them. exact in fp32.
float round_to(float value, int fraction_bits, int least_exponent) {
  if (!std::isfinite(value) || value == 0) return value;
  const int exponent = std::max(std::ilogb(value), least_exponent);
  return std::ldexp(std::nearbyint(std::ldexp(value, fraction_bits - exponent)), exponent - fraction_bits);
}

template <class T>
void put(std::vector<std::uint8_t>& bytes, std::size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof(T));
}

float largest(const float* values, std::int64_t count) {
  float most = 0;
  for (std::int64_t i = 0; i < count; ++i) most = std::isnan(values[i]) ? NAN : std::max(most, std::abs(values[i]));
  return most;
}

EncodedRow encode_i8(const std::vector<float>& values) {
  const auto width = static_cast<std::int64_t>(values.size());
  EncodedRow row{std::vector<std::uint8_t>(row_bytes(DType::i8_row, width)), {}};
  const float scale = largest(values.data(), width) / 127;
  put(row.bytes, 0, scale);
  for (std::int64_t d = 0; d < width; ++d) {
    const bool plain = std::isfinite(scale) && scale > 0;
    const auto code = static_cast<std::int8_t>(plain ? std::nearbyint(values[d] / scale) : 1);
    put(row.bytes, sizeof(float) + d, code);
    row.magnitudes.push_back(std::abs(scale * static_cast<float>(code)));
  }
  return row;
}

void encode_q4_block(const float* values, std::int64_t count, std::size_t at, EncodedRow& row) {
  const auto [low, high] = std::minmax_element(values, values + count);
  const bool plain = std::isfinite(largest(values, count));
  const float scale = plain ? round_to((*high - *low) / 15, 10, -14) : NAN;
  const float minimum = plain ? round_to(*low, 10, -14) : 0;
  put(row.bytes, at, to_f16(scale));
  put(row.bytes, at + 2, to_f16(minimum));
  for (std::int64_t d = 0; d < count; ++d) {
    const float steps = plain && scale > 0 ? (values[d] - minimum) / scale : 0;
    const auto code = static_cast<std::uint8_t>(std::clamp(std::nearbyint(steps), 0.0f, 15.0f));
    row.bytes[at + 4 + d % 16] |= static_cast<std::uint8_t>(d < 16 ? code : code << 4);
    row.magnitudes.push_back(std::abs(scale * static_cast<float>(code)) + std::abs(minimum));
  }
}

EncodedRow encode_q4(const std::vector<float>& values) {
  const auto width = static_cast<std::int64_t>(values.size());
  EncodedRow row{std::vector<std::uint8_t>(row_bytes(DType::q4_1, width)), {}};
  for (std::int64_t d = 0; d < width; d += kBlock) {
    encode_q4_block(values.data() + d, std::min(kBlock, width - d), d / kBlock * 20, row);
  }
  return row;
}

}  // namespace

std::uint16_t to_f16(float value) {
  const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000 : 0);
  if (std::isnan(value)) return sign | 0x7E00;
  const float rounded = std::abs(round_to(value, 10, -14));
  if (rounded > 65504) return sign | 0x7C00;
  if (rounded < 0x1p-14f) return static_cast<std::uint16_t>(sign | static_cast<int>(rounded * 0x1p24f));
  const int exponent = std::ilogb(rounded);
  const int fraction = static_cast<int>(std::ldexp(rounded, 10 - exponent)) - 1024;
  return static_cast<std::uint16_t>(sign | (exponent + 15) << 10 | fraction);
}

std::uint16_t to_bf16(float value) {
  if (std::isnan(value)) return 0x7FC0;
  return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(round_to(value, 7, -126)) >> 16);
}

EncodedRow encode_row(DType dtype, const std::vector<float>& values) {
  return dtype == DType::i8_row ? encode_i8(values) : encode_q4(values);
}

float stored_magnitude(DType dtype, float value) {
  if (dtype == DType::f16) return std::abs(value) >= 65520 ? INFINITY : std::abs(round_to(value, 10, -14));
  return std::abs(dtype == DType::bf16 ? round_to(value, 7, -126) : value);
}

}  // namespace sightline::testing
