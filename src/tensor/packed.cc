#include "src/tensor/packed.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>

#include "src/tensor/dtype.h"
#include "src/tensor/element.h"

namespace sightline {
namespace {

// 1.5 * 2^23: beside it a unit of fp32 is 1, so that adding it rounds to nearest even and leaves the number in the low
// bits. The baseline of x86-64 has no instruction that rounds.
constexpr float kRounder = 12582912.0f;

std::int32_t nearest(float value) {
  return std::bit_cast<std::int32_t>(value + kRounder) - std::bit_cast<std::int32_t>(kRounder);
}

template <class T>
void store(T value, std::byte* to) {
  std::memcpy(to, &value, sizeof(T));
}

// Patterns of magnitudes are ordered as the magnitudes are, NaN last. A maximum of integers is vectorised, one of
// floats is not.
std::uint32_t largest_magnitude(std::span<const float> row) {
  std::int32_t largest = 0;
  for (const float x : row) largest = std::max(largest, std::bit_cast<std::int32_t>(x) & 0x7FFFFFFF);
  return static_cast<std::uint32_t>(largest);
}

template <class Narrow>
void narrow_row(std::span<const float> row, std::byte* out, Narrow narrow) {
  for (std::size_t i = 0; i < row.size(); ++i) store(narrow(row[i]), out + 2 * i);
}

template <class Widen>
void widen_row(const std::byte* row, std::span<float> out, Widen widen) {
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = widen(load_element<std::uint16_t>(row + 2 * i));
}

void encode_i8_row(std::span<const float> row, std::byte* out) {
  const float largest = std::bit_cast<float>(largest_magnitude(row));
  // Subnormal scales are so coarse that 127 of them may fall short of the largest element.
  const float scale = std::max(largest / 127, std::numeric_limits<float>::min());
  store(largest > 0 ? scale : 0.0f, out);
  std::byte* const elements = out + sizeof(float);
  for (std::size_t i = 0; i < row.size(); ++i) elements[i] = static_cast<std::byte>(nearest(row[i] / scale));
}

void decode_i8_row(const std::byte* row, std::span<float> out) {
  const auto scale = load_element<float>(row);
  const std::byte* const elements = row + sizeof(float);
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = static_cast<float>(static_cast<std::int8_t>(elements[i])) * scale;
}

// The number of f16 at or below, and at or above, a value within its range. The next pattern away from zero is one
// more.
std::uint16_t f16_below(float value) {
  const std::uint16_t nearest_half = f32_to_f16(value);
  if (!(f16_to_f32(nearest_half) > value)) return nearest_half;
  return static_cast<std::uint16_t>((nearest_half & 0x8000u) != 0 ? nearest_half + 1 : nearest_half - 1);
}

std::uint16_t f16_above_positive(float value) {
  const std::uint16_t nearest_half = f32_to_f16(value);
  return static_cast<std::uint16_t>(f16_to_f32(nearest_half) < value ? nearest_half + 1 : nearest_half);
}

using Block = std::array<float, kQ4BlockWidth>;

struct Range {
  float low, high;
};

// Patterns of floats, those of negative ones turned round, are ordered as the floats are.
std::int32_t ordered(std::int32_t bits) { return bits ^ (bits >> 31 & 0x7FFFFFFF); }

Range range_of(const Block& block) {
  std::int32_t low = std::numeric_limits<std::int32_t>::max(), high = std::numeric_limits<std::int32_t>::min();
  for (const float x : block) {
    const std::int32_t key = ordered(std::bit_cast<std::int32_t>(x));
    low = std::min(low, key);
    high = std::max(high, key);
  }
  return {std::bit_cast<float>(ordered(low)), std::bit_cast<float>(ordered(high))};
}

void encode_q4_block(const Block& block, std::byte* out) {
  const Range range = range_of(block);
  const std::uint16_t minimum_bits = f16_below(range.low);
  const float minimum = f16_to_f32(minimum_bits);
  const float span = range.high - minimum;
  const auto scale_bits = std::max<std::uint16_t>(f16_above_positive(span / 15), span > 0 ? 1 : 0);
  const float scale = f16_to_f32(scale_bits);
  store(scale_bits, out);
  store(minimum_bits, out + 2);
  const float divisor = scale > 0 ? scale : 1;  // a block of one f16 number: every element is 0 steps above it
  std::array<std::int32_t, kQ4BlockWidth> steps;
  for (std::size_t i = 0; i < block.size(); ++i) steps[i] = nearest((block[i] - minimum) / divisor);
  for (std::size_t i = 0; i < block.size() / 2; ++i) out[4 + i] = static_cast<std::byte>(steps[i] | steps[i + 16] << 4);
}

void encode_q4_row(std::span<const float> row, std::byte* out) {
  Block block;
  for (std::size_t begin = 0; begin < row.size(); begin += block.size(), out += kQ4BlockBytes) {
    const std::span<const float> part = row.subspan(begin, std::min(block.size(), row.size() - begin));
    std::fill(std::copy(part.begin(), part.end(), block.begin()), block.end(), part.back());
    encode_q4_block(block, out);
  }
}

void decode_q4_row(const std::byte* row, std::span<float> out) {
  for (std::size_t begin = 0; begin < out.size(); begin += kQ4BlockWidth, row += kQ4BlockBytes) {
    const float scale = f16_to_f32(load_element<std::uint16_t>(row)),
                minimum = f16_to_f32(load_element<std::uint16_t>(row + 2));
    const std::size_t count = std::min<std::size_t>(kQ4BlockWidth, out.size() - begin);
    for (std::size_t i = 0; i < count; ++i) {
      const auto pair = std::to_integer<unsigned>(row[4 + i % 16]);
      // The product of 4 and 11 bits is exact, so that this is the fma, which the baseline of x86-64 has to call.
      out[begin + i] = static_cast<float>(i < 16 ? pair & 15 : pair >> 4) * scale + minimum;
    }
  }
}

}  // namespace

bool is_row_type(DType dtype) { return is_float(dtype) || is_packed(dtype); }

std::int64_t first_unencodable(DType dtype, std::span<const float> row) {
  if (!is_packed(dtype)) return -1;
  const auto limit = std::bit_cast<std::uint32_t>(dtype == DType::q4_1 ? kQ4Largest : kI8Largest);
  if (largest_magnitude(row) <= limit) return -1;
  const auto bad = std::find_if(row.begin(), row.end(), [&](float x) { return largest_magnitude({&x, 1}) > limit; });
  return bad - row.begin();
}

void encode_row(DType dtype, std::span<const float> row, std::byte* out) {
  switch (dtype) {
    case DType::f16:
      return narrow_row(row, out, f32_to_f16);
    case DType::bf16:
      return narrow_row(row, out, f32_to_bf16);
    case DType::i8_row:
      return encode_i8_row(row, out);
    case DType::q4_1:
      return encode_q4_row(row, out);
    default:
      std::memcpy(out, row.data(), row.size_bytes());
  }
}

void decode_row(DType dtype, const std::byte* row, std::span<float> out) {
  switch (dtype) {
    case DType::f16:
      return widen_row(row, out, f16_to_f32);
    case DType::bf16:
      return widen_row(row, out, bf16_to_f32);
    case DType::i8_row:
      return decode_i8_row(row, out);
    case DType::q4_1:
      return decode_q4_row(row, out);
    default:
      std::memcpy(out.data(), row, out.size_bytes());
  }
}

}  // namespace sightline
