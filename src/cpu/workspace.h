#ifndef SIGHTLINE_CPU_WORKSPACE_H_
#define SIGHTLINE_CPU_WORKSPACE_H_

#include <atomic>
#include <cstddef>
#include <memory_resource>
#include <vector>

#include "sightline/execution.h"

namespace sightline {

/// Hands out memory front to back and takes it back all at once, when the next call begins. What one call took is there
/// in one piece for the next.
class Workspace::Arena final : public std::pmr::memory_resource {
 public:
  explicit Arena(std::pmr::memory_resource* upstream) : upstream_(upstream) {}
  ~Arena() override;

  void reserve(std::size_t bytes);
  std::size_t capacity() const;
  /// Bytes handed out since begin().
  std::size_t used() const { return used_; }

  /// For the length of a call. Throws BadArgument if another call is using the arena.
  class Use {
   public:
    explicit Use(Arena& arena);
    ~Use();
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    Arena& arena_;
  };

 private:
  struct Chunk {
    std::byte* data;
    std::size_t size;
  };
  static constexpr std::size_t kAlignment = 64;  // of chunks, and the most that is asked for

  void* do_allocate(std::size_t bytes, std::size_t alignment) override;
  void do_deallocate(void*, std::size_t, std::size_t) override {}
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

  void begin();
  void add_chunk(std::size_t bytes);
  void release();

  std::pmr::memory_resource* const upstream_;
  std::pmr::vector<Chunk> chunks_{upstream_};
  std::size_t offset_ = 0;  // in the last chunk
  std::size_t used_ = 0;
  std::atomic<bool> in_use_{false};
};

}  // namespace sightline

#endif  // SIGHTLINE_CPU_WORKSPACE_H_
