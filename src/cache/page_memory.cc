#include "src/cache/page_memory.h"

#include <cstring>

#include "sightline/error.h"

namespace sightline::cache {
namespace {

std::int64_t round_up(std::int64_t bytes, std::int64_t multiple) {
  return (bytes + multiple - 1) / multiple * multiple;
}

std::int64_t product(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result)) throw OutOfMemory("the cache would be larger than any address space");
  return result;
}

}  // namespace

PageMemory::PageMemory(const KvCacheOptions& o, std::int64_t width)
    : dtype_(o.dtype),
      layers_(o.layers),
      pages_(o.page_count),
      heads_(o.kv_heads),
      page_size_(o.page_size),
      unit_(is_packed(o.dtype) ? 1 : static_cast<std::int64_t>(dtype_size(o.dtype))),
      // The scale of a packed row is read as an fp32.
      row_stride_(round_up(static_cast<std::int64_t>(row_bytes(o.dtype, width)), is_packed(o.dtype) ? 4 : 1)),
      // Limits keep a page of a layer below 2^62 bytes; it begins on a cache line.
      page_bytes_(round_up(product(product(heads_, page_size_), row_stride_), kBufferAlignment)),
      memory_(static_cast<std::size_t>(product(product(page_bytes_, pages_), layers_)), o.memory) {
  if (o.touch) std::memset(memory_.data(), 0, memory_.size());
}

void PageMemory::copy(Slot from, Slot to, std::int64_t count) {
  for (std::int64_t layer = 0; layer < layers_; ++layer) {
    for (std::int64_t head = 0; head < heads_; ++head) {
      std::memcpy(row(layer, to, head), row(layer, from, head), static_cast<std::size_t>(count * row_stride_));
    }
  }
}

TensorView PageMemory::tensor(std::int64_t layer, std::int64_t batch, std::int64_t keys, std::int64_t width) const {
  const std::int64_t row = row_stride_ / unit_;
  return {memory_.data() + layer * pages_ * page_bytes_,
          dtype_,
          {batch, heads_, keys, width},
          {0, page_size_ * row, row, 1}};
}

}  // namespace sightline::cache
