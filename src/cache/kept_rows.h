#ifndef SIGHTLINE_CACHE_KEPT_ROWS_H_
#define SIGHTLINE_CACHE_KEPT_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <memory_resource>

#include "sightline/attention.h"
#include "src/tensor/aligned_buffer.h"

namespace sightline::cache {

/// Rows of keys, or of values, that were chosen one by one: [heads, slots, width], each head's side by side, as a
/// tensor that attention() reads. Which token a slot holds is its user's to know.
class KeptRows {
 public:
  KeptRows(DType dtype, std::int64_t heads, std::int64_t slots, std::int64_t width);

  std::byte* row(std::int64_t head, std::int64_t slot) { return memory_.data() + (head * slots_ + slot) * row_stride_; }
  /// Copies `count` rows of a head to another place of it; the two may overlap.
  void move(std::int64_t head, std::int64_t from, std::int64_t to, std::int64_t count);
  /// Slots [begin, begin + count) of all heads, [1, heads, count, width].
  TensorView tensor(std::int64_t begin, std::int64_t count) const;

  DType dtype() const { return dtype_; }
  std::int64_t slots() const { return slots_; }
  std::size_t row_size() const { return static_cast<std::size_t>(row_stride_); }  // bytes
  static std::int64_t bytes(DType dtype, std::int64_t heads, std::int64_t slots, std::int64_t width);

 private:
  DType dtype_;
  std::int64_t heads_, slots_, width_;
  std::int64_t row_stride_;  // bytes
  AlignedBuffer<std::byte> memory_;
};

/// Row `key` of a head of `tensor`, k or v of a problem of one sequence: in pages, where the problem has such.
const std::byte* row_of(const AttentionProblem& problem, const TensorView& tensor, std::int64_t page_stride,
                        std::int64_t head, std::int64_t key);

}  // namespace sightline::cache

#endif  // SIGHTLINE_CACHE_KEPT_ROWS_H_
