#ifndef SIGHTLINE_TENSOR_ALIGNED_BUFFER_H_
#define SIGHTLINE_TENSOR_ALIGNED_BUFFER_H_

#include <cstddef>
#include <cstring>
#include <limits>
#include <memory>
#include <memory_resource>
#include <new>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "sightline/error.h"

namespace sightline {

/// Bytes of a cache line and of the widest SIMD vector in use (AVX-512).
inline constexpr std::size_t kBufferAlignment = 64;

/// Owned memory for `size()` elements that starts on a 64-byte boundary. New elements are left unset, since the buffers
/// of kernels are written before they are read and touching them twice costs bandwidth; `zeroed()` is for those that
/// accumulate. Throws OutOfMemory, also for a size that no address space holds (a negative count converted to size_t is
/// one).
template <typename T>
class AlignedBuffer {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);
  static_assert(alignof(T) <= kBufferAlignment);

 public:
  AlignedBuffer() = default;
  /// memory: where it comes from and goes back to; it must outlive the buffer.
  explicit AlignedBuffer(std::size_t size, std::pmr::memory_resource* memory = std::pmr::new_delete_resource())
      : data_(allocate(size, memory), Free{memory, size}), size_(size) {}

  static AlignedBuffer zeroed(std::size_t size, std::pmr::memory_resource* memory = std::pmr::new_delete_resource()) {
    AlignedBuffer buffer(size, memory);
    if (size > 0) std::memset(static_cast<void*>(buffer.data()), 0, size * sizeof(T));
    return buffer;
  }

  AlignedBuffer(AlignedBuffer&& other) noexcept : data_(std::move(other.data_)), size_(std::exchange(other.size_, 0)) {}
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept {
    data_ = std::move(other.data_);
    size_ = std::exchange(other.size_, 0);
    return *this;
  }

  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  T& operator[](std::size_t i) { return data_.get()[i]; }
  const T& operator[](std::size_t i) const { return data_.get()[i]; }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }

  std::span<T> span() { return {data(), size_}; }
  std::span<const T> span() const { return {data(), size_}; }

 private:
  struct Free {
    std::pmr::memory_resource* memory = nullptr;
    std::size_t size = 0;
    void operator()(T* data) const { memory->deallocate(data, size * sizeof(T), kBufferAlignment); }
  };

  static T* allocate(std::size_t size, std::pmr::memory_resource* memory) {
    if (size == 0) return nullptr;
    constexpr std::size_t kMaxBytes = std::numeric_limits<std::ptrdiff_t>::max();
    if (size > kMaxBytes / sizeof(T)) {
      throw OutOfMemory("a buffer of " + std::to_string(size) + " elements of " + std::to_string(sizeof(T)) +
                        " bytes is larger than any address space");
    }
    try {
      return static_cast<T*>(memory->allocate(size * sizeof(T), kBufferAlignment));
    } catch (const std::bad_alloc&) {
      throw OutOfMemory("no memory for a buffer of " + std::to_string(size * sizeof(T)) + " bytes");
    }
  }

  std::unique_ptr<T, Free> data_;
  std::size_t size_ = 0;
};

}  // namespace sightline

#endif  // SIGHTLINE_TENSOR_ALIGNED_BUFFER_H_
