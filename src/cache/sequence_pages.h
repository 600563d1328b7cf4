#ifndef SIGHTLINE_CACHE_SEQUENCE_PAGES_H_
#define SIGHTLINE_CACHE_SEQUENCE_PAGES_H_

#include <cstdint>
#include <span>
#include <vector>

#include "sightline/kv_cache.h"
#include "src/cache/page_pool.h"
#include "src/tensor/aligned_buffer.h"

namespace sightline::cache {

/// Which pages hold the tokens of each sequence: the bookkeeping of a cache, without its memory. Every member that
/// throws does so before it changes anything.
class SequencePages {
 public:
  struct Sequence {
    std::int64_t length = 0;  // the next position
    std::int64_t first = 0;   // the lowest position that a query may ask for
    std::int64_t gone = 0;    // pages given back at the front
    std::int64_t pages = 0;   // held now; its row of the table lists them
    std::uint32_t generation = 0;
    bool in_use = false;

    // What the last extend() did.
    std::int64_t leaving = 0;                       // pages given back
    std::int32_t copied_from = -1, copied_to = -1;  // the page that was shared, and its copy; -1: none
    std::uint64_t call = 0;                         // finds sequences that are named twice
  };

  /// Of checked options, whose memory is set.
  explicit SequencePages(const KvCacheOptions& options);

  SequenceId create();
  SequenceId fork(SequenceId id);
  void free(SequenceId id);
  void truncate(SequenceId id, std::int64_t length);
  /// Throws what truncate() would.
  void check_truncate(SequenceId id, std::int64_t length) const;
  void extend(std::span<const SequenceId> ids, std::int64_t count);

  /// Throws BadArgument for what is not in use.
  const Sequence& at(SequenceId id) const;
  std::span<const std::int32_t> pages(SequenceId id) const {
    return {row(id.slot), static_cast<std::size_t>(at(id).pages)};
  }
  /// Where the token at a position that the sequence keeps lies.
  Slot slot_of(SequenceId id, std::int64_t position) const {
    return {row(id.slot)[position / page_size_ - sequences_[id.slot].gone], position % page_size_};
  }

  const PagePool& pool() const { return pool_; }
  std::int64_t entries() const { return entries_; }
  std::int64_t in_use() const { return static_cast<std::int64_t>(sequences_.size() - free_slots_.size()); }

 private:
  std::int32_t* row(std::int32_t slot) { return table_.data() + slot * entries_; }
  const std::int32_t* row(std::int32_t slot) const { return table_.data() + slot * entries_; }
  Sequence& mutable_at(SequenceId id) {
    (void)at(id);
    return sequences_[id.slot];
  }

  std::int64_t pages_for(std::int64_t tokens) const { return (tokens + page_size_ - 1) / page_size_; }
  std::int64_t next_first(const Sequence& sequence) const;
  std::int64_t new_pages(const Sequence& sequence, std::int64_t count) const;
  void check_room(SequenceId id, std::int64_t count);
  std::int64_t let_front_go(Sequence& sequence, const std::int32_t* pages);
  void hold_front_again(const Sequence& sequence, const std::int32_t* pages);
  void drop_front(Sequence& sequence, std::int32_t* pages);
  bool must_copy(const Sequence& sequence, const std::int32_t* pages) const;
  std::int64_t plan(std::span<const SequenceId> ids, std::int64_t count);
  void add_tokens(Sequence& sequence, std::int32_t* pages, std::int64_t count);

  std::int64_t page_size_, window_, max_tokens_, entries_;
  PagePool pool_;
  std::pmr::vector<Sequence> sequences_;       // [max_sequences]
  AlignedBuffer<std::int32_t> table_;          // [max_sequences, entries]
  std::pmr::vector<std::int32_t> free_slots_;  // a stack, with room for all
  std::uint64_t calls_ = 0;
};

}  // namespace sightline::cache

#endif  // SIGHTLINE_CACHE_SEQUENCE_PAGES_H_
