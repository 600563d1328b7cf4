#ifndef SIGHTLINE_CACHE_PAGE_MEMORY_H_
#define SIGHTLINE_CACHE_PAGE_MEMORY_H_

#include <cstddef>
#include <cstdint>

#include "sightline/kv_cache.h"
#include "src/tensor/aligned_buffer.h"

namespace sightline::cache {

/// The rows of all keys, or of all values: [layers, pages, Hkv, page_size, width]. Within a page the rows of a head lie
/// side by side, since decoding reads one head at a time: a stream that the hardware prefetches, where rows of a token
/// side by side would be pieces Hkv rows apart.
class PageMemory {
 public:
  /// Of checked options. Throws OutOfMemory.
  PageMemory(const KvCacheOptions& options, std::int64_t width);

  std::byte* row(std::int64_t layer, std::int32_t page, std::int64_t head, std::int64_t slot) {
    return memory_.data() + (layer * pages_ + page) * page_bytes_ + (head * page_size_ + slot) * row_stride_;
  }
  /// Bytes between rows of neighbouring tokens.
  std::int64_t row_stride() const { return row_stride_; }
  /// Copies the first `tokens` of a page to another, in every layer.
  void copy(std::int32_t from, std::int32_t to, std::int64_t tokens);
  /// All pages of a layer, as attention() reads them, each width rows of the first `width` columns.
  TensorView tensor(std::int64_t layer, std::int64_t batch, std::int64_t keys, std::int64_t width) const;
  /// In elements; bytes for packed rows.
  std::int64_t page_stride() const { return page_bytes_ / unit_; }
  std::int64_t page_bytes() const { return page_bytes_ * layers_; }

 private:
  DType dtype_;
  std::int64_t layers_, pages_, heads_, page_size_;
  std::int64_t unit_, row_stride_, page_bytes_;  // bytes: what strides count, a row, a page of one layer
  AlignedBuffer<std::byte> memory_;
};

}  // namespace sightline::cache

#endif  // SIGHTLINE_CACHE_PAGE_MEMORY_H_
