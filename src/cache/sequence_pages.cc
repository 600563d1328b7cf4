#include "src/cache/sequence_pages.h"

#include <algorithm>
#include <string>

#include "sightline/error.h"

namespace sightline::cache {
namespace {

// Positions end where those of attention do.
constexpr std::int64_t kMaxLength = std::int64_t{1} << 30;

std::int64_t entries_of(const KvCacheOptions& o) {
  if (o.max_tokens == 0) return o.page_count;
  // A window begins anywhere in its first page.
  const std::int64_t pages = (o.max_tokens + o.page_size - 1) / o.page_size + (o.window > 0 ? 1 : 0);
  return std::min(pages, o.page_count);
}

}  // namespace

SequencePages::SequencePages(const KvCacheOptions& o)
    : page_size_(o.page_size),
      window_(o.window),
      max_tokens_(o.max_tokens > 0 ? o.max_tokens : kMaxLength),
      entries_(entries_of(o)),
      pool_(o.page_count, o.memory),
      sequences_(static_cast<std::size_t>(o.max_sequences), o.memory),
      table_(static_cast<std::size_t>(o.max_sequences * entries_), o.memory),
      free_slots_(o.memory) {
  free_slots_.reserve(sequences_.size());
  for (std::int64_t slot = o.max_sequences; slot-- > 0;) free_slots_.push_back(static_cast<std::int32_t>(slot));
}

const SequencePages::Sequence& SequencePages::at(SequenceId id) const {
  const bool exists = id.slot >= 0 && id.slot < static_cast<std::int64_t>(sequences_.size());
  if (!exists || !sequences_[id.slot].in_use || sequences_[id.slot].generation != id.generation) {
    throw BadArgument("sequence " + std::to_string(id.slot) +
                      " of the cache is not in use: it was freed or never made");
  }
  return sequences_[id.slot];
}

SequenceId SequencePages::create() {
  if (free_slots_.empty()) {
    throw OutOfMemory("all " + std::to_string(sequences_.size()) +
                      " sequences of the cache are in use: free one, or raise max_sequences");
  }
  const std::int32_t slot = free_slots_.back();
  free_slots_.pop_back();
  const std::uint32_t generation = sequences_[slot].generation + 1;
  sequences_[slot] = {};
  sequences_[slot].generation = generation;
  sequences_[slot].in_use = true;
  return {slot, generation};
}

SequenceId SequencePages::fork(SequenceId id) {
  const Sequence& parent = at(id);
  const SequenceId child_id = create();
  Sequence& child = sequences_[child_id.slot];
  child.length = parent.length;
  child.first = parent.first;
  child.gone = parent.gone;
  child.pages = parent.pages;
  std::copy_n(row(id.slot), parent.pages, row(child_id.slot));
  for (std::int64_t n = 0; n < parent.pages; ++n) pool_.hold(row(id.slot)[n]);
  return child_id;
}

void SequencePages::free(SequenceId id) {
  Sequence& sequence = mutable_at(id);
  for (std::int64_t n = 0; n < sequence.pages; ++n) pool_.drop(row(id.slot)[n]);
  sequence.pages = 0;
  sequence.in_use = false;
  free_slots_.push_back(id.slot);
}

void SequencePages::check_truncate(SequenceId id, std::int64_t length) const {
  const Sequence& sequence = at(id);
  if (length < 0 || length > sequence.length) {
    throw BadArgument("cannot truncate to " + std::to_string(length) + " tokens: the sequence has " +
                      std::to_string(sequence.length));
  }
  if (length > 0 && std::max<std::int64_t>(0, length - window_ + 1) < sequence.first && window_ > 0) {
    throw BadArgument("cannot go back to position " + std::to_string(length) + ": of the window of " +
                      std::to_string(window_) + " before it only positions from " + std::to_string(sequence.first) +
                      " are left; go back to " + std::to_string(sequence.first + window_ - 1) + " or more, or to 0");
  }
}

// A shared page keeps the tokens of the others: this sequence's length hides them, and the next token gets a copy.
void SequencePages::truncate(SequenceId id, std::int64_t length) {
  check_truncate(id, length);
  Sequence& sequence = sequences_[id.slot];
  if (length == 0) sequence.gone = sequence.first = 0;
  const std::int64_t kept = length == 0 ? 0 : pages_for(length) - sequence.gone;
  for (std::int64_t n = kept; n < sequence.pages; ++n) pool_.drop(row(id.slot)[n]);
  sequence.pages = kept;
  sequence.length = length;
}

std::int64_t SequencePages::next_first(const Sequence& sequence) const {
  return window_ > 0 ? std::max(sequence.first, sequence.length - window_ + 1) : 0;
}

std::int64_t SequencePages::new_pages(const Sequence& sequence, std::int64_t count) const {
  return pages_for(sequence.length + count) - sequence.gone - sequence.pages;
}

void SequencePages::check_room(SequenceId id, std::int64_t count) {
  Sequence& sequence = mutable_at(id);
  if (sequence.call == calls_) throw BadArgument("sequence " + std::to_string(id.slot) + " is named twice");
  sequence.call = calls_;
  if (count > kMaxLength - sequence.length) throw BadArgument("positions of a sequence end at 2^30");
  const std::int64_t tokens = sequence.length + count - next_first(sequence);
  if (tokens > max_tokens_) {
    throw OutOfMemory("a sequence of the cache keeps at most " + std::to_string(max_tokens_) + " tokens, not " +
                      std::to_string(tokens) + ": truncate it, or raise max_tokens");
  }
}

// The pages wholly before what queries may ask for. Returns how many nobody holds any more.
std::int64_t SequencePages::let_front_go(Sequence& sequence, const std::int32_t* pages) {
  sequence.leaving = next_first(sequence) / page_size_ - sequence.gone;
  std::int64_t freed = 0;
  for (std::int64_t n = 0; n < sequence.leaving; ++n) freed += pool_.let_go(pages[n]);
  return freed;
}

void SequencePages::hold_front_again(const Sequence& sequence, const std::int32_t* pages) {
  for (std::int64_t n = 0; n < sequence.leaving; ++n) pool_.hold(pages[n]);
}

void SequencePages::drop_front(Sequence& sequence, std::int32_t* pages) {
  for (std::int64_t n = 0; n < sequence.leaving; ++n) pool_.drop(pages[n]);
  std::copy(pages + sequence.leaving, pages + sequence.pages, pages);
  sequence.first = next_first(sequence);
  sequence.gone += sequence.leaving;
  sequence.pages -= sequence.leaving;
}

void SequencePages::add_tokens(Sequence& sequence, std::int32_t* pages, std::int64_t count) {
  const bool copies = sequence.copied_from >= 0;
  sequence.copied_to = copies ? pool_.take() : -1;
  if (copies) pages[sequence.pages - 1] = sequence.copied_to;
  for (std::int64_t n = new_pages(sequence, count); n > 0; --n) pages[sequence.pages++] = pool_.take();
  sequence.length += count;
}

bool SequencePages::must_copy(const Sequence& sequence, const std::int32_t* pages) const {
  return sequence.length % page_size_ != 0 && pool_.is_shared(pages[sequence.pages - 1]);
}

// Counts holders down as if the call had succeeded, and returns by how much the free pages suffice. All fronts come
// first: a page that one sequence gives back may thereby become another's own.
std::int64_t SequencePages::plan(std::span<const SequenceId> ids, std::int64_t count) {
  std::int64_t spare = pool_.free_pages();
  for (const SequenceId id : ids) spare += let_front_go(sequences_[id.slot], row(id.slot));
  for (const SequenceId id : ids) {
    Sequence& sequence = sequences_[id.slot];
    const bool copies = must_copy(sequence, row(id.slot));
    sequence.copied_from = copies ? row(id.slot)[sequence.pages - 1] : -1;
    if (copies) pool_.let_go(sequence.copied_from);
    spare -= new_pages(sequence, count) + (copies ? 1 : 0);
  }
  return spare;
}

void SequencePages::extend(std::span<const SequenceId> ids, std::int64_t count) {
  if (count < 0) throw BadArgument("cannot extend by " + std::to_string(count) + " tokens");
  ++calls_;
  for (const SequenceId id : ids) check_room(id, count);
  if (count == 0) return;
  const std::int64_t spare = plan(ids, count);
  for (const SequenceId id : ids) hold_front_again(sequences_[id.slot], row(id.slot));
  if (spare < 0) {
    for (const SequenceId id : ids) {
      Sequence& sequence = sequences_[id.slot];
      if (sequence.copied_from >= 0) pool_.hold(sequence.copied_from);
    }
    throw OutOfMemory("the cache's pool of " + std::to_string(pool_.size()) + " pages is " + std::to_string(-spare) +
                      " short: free or truncate sequences, or raise page_count");
  }
  for (const SequenceId id : ids) drop_front(sequences_[id.slot], row(id.slot));
  for (const SequenceId id : ids) add_tokens(sequences_[id.slot], row(id.slot), count);
}

}  // namespace sightline::cache
