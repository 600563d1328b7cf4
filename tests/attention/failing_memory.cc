// The operators below serve the whole test program.
#include "tests/attention/failing_memory.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "sightline/error.h"

namespace {

// Made so far, and the one that fails (counted from 1; 0: none).
std::atomic<std::int64_t> requests{0}, failing_request{0};

void* request(std::size_t size, std::size_t alignment) {
  constexpr std::size_t kMost = std::size_t{1} << 40;  // beyond it sanitizers end the program, where systems refuse
  if (++requests == failing_request || size > kMost) return nullptr;
  return std::aligned_alloc(alignment, (size + alignment) / alignment * alignment);
}
void* request_or_throw(std::size_t size, std::size_t alignment) {
  if (void* data = request(size, alignment)) return data;
  throw std::bad_alloc();
}

}  // namespace

// Not inlined: GCC would take free() here for a mismatch with new.
[[gnu::noinline]] void* operator new(std::size_t size) { return request_or_throw(size, alignof(std::max_align_t)); }
[[gnu::noinline]] void* operator new(std::size_t size, std::align_val_t alignment) {
  return request_or_throw(size, static_cast<std::size_t>(alignment));
}
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return request(size, alignof(std::max_align_t));
}
[[gnu::noinline]] void* operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return request(size, static_cast<std::size_t>(alignment));
}
[[gnu::noinline]] void operator delete(void* data) noexcept { std::free(data); }
[[gnu::noinline]] void operator delete(void* data, std::size_t) noexcept { std::free(data); }
[[gnu::noinline]] void operator delete(void* data, std::align_val_t) noexcept { std::free(data); }
[[gnu::noinline]] void operator delete(void* data, std::size_t, std::align_val_t) noexcept { std::free(data); }
[[gnu::noinline]] void operator delete(void* data, const std::nothrow_t&) noexcept { std::free(data); }
[[gnu::noinline]] void operator delete(void* data, std::align_val_t, const std::nothrow_t&) noexcept {
  std::free(data);
}

namespace sightline::testing {

std::int64_t requests_of(const std::function<void()>& call) {
  const std::int64_t before = requests;
  call();
  return requests - before;
}

void fail_request(std::int64_t n) { failing_request = n == 0 ? 0 : requests + n; }

std::int64_t fail_each_request(const std::function<void()>& call, const std::function<void()>& check) {
  for (std::int64_t n = 1;; ++n) {
    const std::int64_t failing = requests + n;
    failing_request = failing;
    bool succeeded = false, documented = false;
    try {
      call();
      succeeded = true;
    } catch (const OutOfMemory&) {
      documented = true;
    } catch (...) {
    }
    failing_request = 0;
    if (requests < failing) return n - 1;  // every request was tried
    EXPECT_TRUE(documented && !succeeded) << "request " << n;
    check();
  }
}

}  // namespace sightline::testing
