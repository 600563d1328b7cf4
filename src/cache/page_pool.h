#ifndef SIGHTLINE_CACHE_PAGE_POOL_H_
#define SIGHTLINE_CACHE_PAGE_POOL_H_

#include <cstdint>
#include <memory_resource>

#include "src/tensor/aligned_buffer.h"

namespace sightline::cache {

/// Where a token lies.
struct Slot {
  std::int32_t page;
  std::int64_t index;  // within the page
};

/// Which pages are free, and how many sequences hold each of the others. Nothing here throws once it is made.
class PagePool {
 public:
  PagePool(std::int64_t pages, std::pmr::memory_resource* memory)
      : holders_(AlignedBuffer<std::int32_t>::zeroed(static_cast<std::size_t>(pages), memory)),
        free_(static_cast<std::size_t>(pages), memory) {
    // A stack: what was given back last, and may still be in cache, is handed out first.
    for (std::int64_t page = pages; page-- > 0;) push(static_cast<std::int32_t>(page));
  }

  std::int64_t size() const { return static_cast<std::int64_t>(holders_.size()); }
  std::int64_t free_pages() const { return free_count_; }
  bool is_shared(std::int32_t page) const { return holders_[page] > 1; }

  /// A free page, of which there is one, now held once.
  std::int32_t take() {
    const std::int32_t page = free_[--free_count_];
    holders_[page] = 1;
    return page;
  }
  void hold(std::int32_t page) { ++holders_[page]; }
  /// True where nobody holds the page any more. It is free only after push().
  bool let_go(std::int32_t page) { return --holders_[page] == 0; }
  void push(std::int32_t page) { free_[free_count_++] = page; }
  void drop(std::int32_t page) {
    if (let_go(page)) push(page);
  }

 private:
  AlignedBuffer<std::int32_t> holders_, free_;
  std::int64_t free_count_ = 0;
};

}  // namespace sightline::cache

#endif  // SIGHTLINE_CACHE_PAGE_POOL_H_
