#ifndef SIGHTLINE_CACHE_PAGE_MEMORY_H_
#define SIGHTLINE_CACHE_PAGE_MEMORY_H_

#include <cstddef>
#include <cstdint>

#include "sightline/kv_cache.h"
#include "src/cache/page_pool.h"
#include "src/tensor/aligned_buffer.h"

namespace sightline::cache {

/// The rows of all keys, or of all values: [layers, pages, Hkv, page_size, width]. Within a page the rows of a head lie
/// side by side, since decoding reads one head at a time: a stream that the hardware prefetches, where rows of a token
/// side by side would be pieces Hkv rows apart.
class PageMemory {
 public:
  /// Of checked options, whose memory is set. Throws OutOfMemory.
  PageMemory(const KvCacheOptions& options, std::int64_t width);

  std::byte* row(std::int64_t layer, Slot slot, std::int64_t head) {
    return memory_.data() + (layer * pages_ + slot.page) * page_bytes_ + (head * page_size_ + slot.index) * row_stride_;
  }
  /// Copies `count` tokens that follow one another in a page to another place, in every layer.
  void copy(Slot from, Slot to, std::int64_t count);
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
