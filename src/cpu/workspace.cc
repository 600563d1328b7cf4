#include "src/cpu/workspace.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <new>
#include <string>

#include "sightline/error.h"

namespace sightline {
namespace {

// Maps large blocks and asks for huge pages; small ones come from the heap.
class HugePages final : public std::pmr::memory_resource {
 private:
  static constexpr std::size_t kPage = std::size_t{2} << 20;
  static constexpr std::size_t kMost = PTRDIFF_MAX - 2 * kPage;  // beyond it sizes wrap when they are rounded

  static std::size_t rounded(std::size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    if (bytes < kPage || alignment > kPage) return std::pmr::new_delete_resource()->allocate(bytes, alignment);
    if (bytes > kMost) throw std::bad_alloc();
    // One page more than asked for, so that what is used begins at a page: the rest is given back at once.
    const std::size_t size = rounded(bytes);
    void* mapped = mmap(nullptr, size + kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) throw std::bad_alloc();
    auto* begin = static_cast<std::byte*>(mapped);
    const auto address = reinterpret_cast<std::uintptr_t>(begin);
    auto* data = begin + (rounded(address) - address);
    if (data > begin) munmap(begin, static_cast<std::size_t>(data - begin));
    const std::size_t tail = static_cast<std::size_t>(begin + kPage - data);
    if (tail > 0) munmap(data + size, tail);
    madvise(data, size, MADV_HUGEPAGE);  // a wish: without huge pages small ones serve
    return data;
  }
  void do_deallocate(void* data, std::size_t bytes, std::size_t alignment) override {
    if (bytes < kPage || alignment > kPage) {
      std::pmr::new_delete_resource()->deallocate(data, bytes, alignment);
    } else {
      munmap(data, rounded(bytes));
    }
  }
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
};

}  // namespace

std::pmr::memory_resource* huge_page_resource() {
  static HugePages pages;
  return &pages;
}

Workspace::Workspace(std::pmr::memory_resource* upstream) try : arena_(std::make_unique<Arena>(upstream)) {
} catch (const std::bad_alloc&) {
  throw OutOfMemory("no memory for a workspace");
}
Workspace::~Workspace() = default;

void Workspace::reserve(std::size_t bytes) {
  const Arena::Use use(*arena_);
  try {
    arena_->reserve(bytes);
  } catch (const std::bad_alloc&) {
    throw OutOfMemory("no memory for a workspace of " + std::to_string(bytes) + " bytes");
  }
}

std::size_t Workspace::capacity() const { return arena_->capacity(); }

Workspace::Arena::~Arena() { release(); }

Workspace::Arena::Use::Use(Arena& arena) : arena_(arena) {
  if (arena.in_use_.exchange(true)) throw BadArgument("the workspace is in use by another call; give each its own");
  try {
    arena.begin();
  } catch (...) {  // of the caller's memory resource
    arena.in_use_ = false;
    throw;
  }
}
Workspace::Arena::Use::~Use() { arena_.in_use_ = false; }

void Workspace::Arena::begin() {
  // Several chunks become one: the call that grew the arena may come again.
  if (chunks_.size() > 1) {
    const std::size_t all = capacity();
    release();
    try {
      add_chunk(all);
    } catch (const std::bad_alloc&) {
      // In one piece it may not be had; the call then takes what it needs in several.
    }
  }
  offset_ = used_ = 0;
}

void Workspace::Arena::reserve(std::size_t bytes) {
  if (bytes > PTRDIFF_MAX) throw std::bad_alloc();
  if (chunks_.size() == 1 && chunks_[0].size >= bytes) return;
  add_chunk(bytes);  // first, so that what is held stays held where there is no memory
  const Chunk grown = chunks_.back();
  chunks_.pop_back();
  release();
  chunks_.push_back(grown);
}

std::size_t Workspace::Arena::capacity() const {
  std::size_t bytes = 0;
  for (const Chunk& chunk : chunks_) bytes += chunk.size;
  return bytes;
}

void Workspace::Arena::add_chunk(std::size_t bytes) {
  chunks_.reserve(chunks_.size() + 1);
  chunks_.push_back({static_cast<std::byte*>(upstream_->allocate(bytes, kAlignment)), bytes});
  offset_ = 0;
}

void Workspace::Arena::release() {
  for (const Chunk& chunk : chunks_) upstream_->deallocate(chunk.data, chunk.size, kAlignment);
  chunks_.clear();
}

void* Workspace::Arena::do_allocate(std::size_t bytes, std::size_t alignment) {
  if (alignment > kAlignment) throw std::bad_alloc();
  // Everything begins at a cache line of its own, so that sizes do not depend on where a chunk begins.
  const std::size_t size = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  if (size < bytes) throw std::bad_alloc();
  if (chunks_.empty() || chunks_.back().size - offset_ < size) add_chunk(std::max(size, capacity()));
  void* data = chunks_.back().data + offset_;
  offset_ += size;
  used_ += size;
  return data;
}

}  // namespace sightline
