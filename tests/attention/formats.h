#ifndef SIGHTLINE_TESTS_ATTENTION_FORMATS_H_
#define SIGHTLINE_TESTS_ATTENTION_FORMATS_H_

#include <cstdint>
#include <vector>

#include "sightline/tensor.h"

namespace sightline::testing {

/// Rounds to nearest, ties to even; what is too large becomes infinite.
std::uint16_t to_f16(float value);
std::uint16_t to_bf16(float value);

/// A row in a format, and what its elements may be off by in units of their roundings: |x|, or for formats with a
/// minimum |scale * code| + |minimum|, which may cancel.
struct EncodedRow {
  std::vector<std::uint8_t> bytes;
  std::vector<float> magnitudes;
};
/// i8_row or q4_1. A value that is not finite makes those that share its scale so too.
EncodedRow encode_row(DType dtype, const std::vector<float>& values);

/// The magnitude of a value after it was rounded to f32, f16 or bf16.
float stored_magnitude(DType dtype, float value);

}  // namespace sightline::testing

#endif  // SIGHTLINE_TESTS_ATTENTION_FORMATS_H_
