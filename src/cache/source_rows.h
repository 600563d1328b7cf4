#ifndef SIGHTLINE_CACHE_SOURCE_ROWS_H_
#define SIGHTLINE_CACHE_SOURCE_ROWS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "sightline/tensor.h"

namespace sightline::cache {

/// Widest row, as in attention.
inline constexpr std::int64_t kMaxWidth = 1024;

/// Reads rows of keys or values that a caller passes, [B, Hkv, n, width] in f32, f16 or bf16.
class SourceRows {
 public:
  /// Throws BadArgument, naming the tensor, unless it has that shape and such a type.
  SourceRows(const TensorView& tensor, const char* name, const std::array<std::int64_t, 4>& shape);

  /// Throws BadArgument where a row of `dtype` cannot hold a value, naming its place.
  void check_values(DType dtype) const;
  /// Writes row [b, head, token] as a row of `dtype` that can hold it.
  void store(std::int64_t b, std::int64_t head, std::int64_t token, DType dtype, std::byte* to) const;

 private:
  using Buffer = std::array<float, kMaxWidth>;
  const std::byte* address(std::int64_t b, std::int64_t head, std::int64_t token) const;
  std::span<const float> widened(const std::byte* row, Buffer& buffer) const;

  const TensorView& tensor_;
  const char* name_;
};

}  // namespace sightline::cache

#endif  // SIGHTLINE_CACHE_SOURCE_ROWS_H_
