#include "sightline/kv_cache.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>
#include <optional>
#include <string>

#include "sightline/error.h"
#include "sightline/execution.h"
#include "src/cache/new_tokens.h"
#include "src/cache/page_memory.h"
#include "src/cache/sequence_pages.h"
#include "src/cpu/fp_environment.h"
#include "src/tensor/packed.h"

namespace sightline {
namespace {

using cache::NewTokens;
using cache::PageMemory;
using cache::SequencePages;

void check_range(const char* name, std::int64_t value, std::int64_t lowest, std::int64_t highest) {
  if (value >= lowest && value <= highest) return;
  throw BadArgument(std::string(name) + " of a cache must be " + std::to_string(lowest) + " to " +
                    std::to_string(highest) + ", not " + std::to_string(value));
}

// The options with their memory set.
KvCacheOptions checked(KvCacheOptions o) {
  constexpr std::int64_t kMostTokens = std::int64_t{1} << 30;
  check_range("layers", o.layers, 1, 4096);
  check_range("kv_heads", o.kv_heads, 1, std::int64_t{1} << 20);
  check_range("key_width", o.key_width, 1, cache::kMaxWidth);
  check_range("value_width", o.value_width, 1, o.values_in_keys ? o.key_width : cache::kMaxWidth);
  check_range("page_size", o.page_size, 16, kMostTokens);
  check_range("page_count", o.page_count, 1, INT32_MAX);
  check_range("max_sequences", o.max_sequences, 1, std::int64_t{1} << 24);
  check_range("max_tokens", o.max_tokens, 0, kMostTokens);
  check_range("window", o.window, 0, kMostTokens);
  if (!is_row_type(o.dtype)) {
    throw BadArgument(std::string("not supported: a cache of ") + dtype_name(o.dtype));
  }
  if (o.memory == nullptr) o.memory = o.huge_pages ? huge_page_resource() : std::pmr::new_delete_resource();
  return o;
}

// Never the same for two states of any caches, so that a view fits the one state that it was made of.
std::uint64_t next_version() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

// The lists here are of the standard library, which has its own way of saying that memory is gone.
template <class Body>
auto with_documented_errors(const Body& body) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    throw OutOfMemory("no memory for the lists of a cache's sequences and pages");
  }
}

}  // namespace

KvCacheOptions KvCacheOptions::contiguous(std::int64_t sequences, std::int64_t tokens) {
  KvCacheOptions options;
  options.page_size = tokens > 0 ? std::max<std::int64_t>(tokens, 16) : tokens;  // what is no size stays refused
  options.page_count = options.max_sequences = sequences;
  options.max_tokens = tokens;
  return options;
}

class KvCache::State {
 public:
  explicit State(const KvCacheOptions& checked_options)
      : options(checked_options),
        keys(options, options.key_width),
        pages(options),
        written_(static_cast<std::size_t>(options.max_sequences * options.layers), options.memory) {
    if (!options.values_in_keys) values.emplace(options, options.value_width);
  }

  /// [layers] how many tokens of a sequence each layer was given.
  std::span<std::int64_t> written(SequenceId id) {
    return {written_.data() + id.slot * options.layers, static_cast<std::size_t>(options.layers)};
  }
  void changed() { version = next_version(); }

  void check_layer(std::int64_t layer) const;
  void check_writable(std::int64_t layer, SequenceId id, std::int64_t count);
  void check_sees(SequenceId id, const SequenceSpan& span, const AttentionProblem& problem) const;
  void check_own(SequenceId id, std::int64_t begin) const;
  void check_kept(SequenceId id, std::int64_t length, std::span<const std::int64_t> positions);
  void copy(cache::Slot from, cache::Slot to, std::int64_t count);
  void truncate(SequenceId id, std::int64_t length);
  void extend(std::span<const SequenceId> ids, std::int64_t count);
  void store(std::int64_t layer, std::span<const SequenceId> ids, const NewTokens& tokens);
  std::int64_t rows_in(std::span<const std::byte> keys, std::span<const std::byte> values) const;
  void check_written(std::int64_t layer, SequenceId id, std::int64_t begin, std::int64_t count);

  /// Calls `row` with each head and token of [begin, begin + count), with where its key or value lies in `memory` and
  /// its index in [Hkv, count].
  template <class Row>
  void for_rows(PageMemory& memory, std::int64_t layer, SequenceId id, std::int64_t begin, std::int64_t count,
                const Row& row) const {
    for (std::int64_t token = 0; token < count; ++token) {
      const cache::Slot slot = pages.slot_of(id, begin + token);
      for (std::int64_t head = 0; head < options.kv_heads; ++head) {
        row(memory.row(layer, slot, head), head * count + token);
      }
    }
  }

  KvCacheOptions options;
  PageMemory keys;
  std::optional<PageMemory> values;  // none where they are in the keys
  SequencePages pages;
  std::uint64_t version = next_version();

 private:
  std::pmr::vector<std::int64_t> written_;  // [max_sequences, layers]
};

void KvCache::State::check_layer(std::int64_t layer) const {
  if (layer >= 0 && layer < options.layers) return;
  throw BadArgument("the cache has " + std::to_string(options.layers) + " layers, and none is layer " +
                    std::to_string(layer));
}

// The last `count` tokens must be the sequence's own, and leave no gap behind those written before.
void KvCache::State::check_writable(std::int64_t layer, SequenceId id, std::int64_t count) {
  const SequencePages::Sequence& sequence = pages.at(id);
  const std::int64_t begin = sequence.length - count, kept = sequence.gone * options.page_size;
  const std::int64_t known = written(id)[layer];
  if (begin < kept || begin > known) {
    throw BadArgument("cannot write the last " + std::to_string(count) + " of the " + std::to_string(sequence.length) +
                      " tokens of a sequence: this layer has " + std::to_string(known) + ", of which " +
                      std::to_string(known - std::min(kept, known)) + " are kept");
  }
  check_own(id, begin);
}

// The tokens from `begin` on are in pages that no fork shares.
void KvCache::State::check_own(SequenceId id, std::int64_t begin) const {
  const std::int64_t length = pages.at(id).length;
  for (std::int64_t at = begin; at < length; at += options.page_size - at % options.page_size) {
    if (!pages.pool().is_shared(pages.slot_of(id, at).page)) continue;
    throw BadArgument("the token at position " + std::to_string(at) +
                      " is shared with a fork: write and choose tokens before the sequence is forked");
  }
}

void KvCache::State::check_kept(SequenceId id, std::int64_t length, std::span<const std::int64_t> positions) {
  const std::int64_t first = pages.at(id).first, end = pages.at(id).length;
  if (length < first || length > end) {
    throw BadArgument("cannot choose tokens from position " + std::to_string(length) + " on: the sequence keeps " +
                      std::to_string(first) + " to " + std::to_string(end));
  }
  std::int64_t last = length - 1;
  for (const std::int64_t position : positions) {
    if (position <= last || position >= end) {
      throw BadArgument("cannot keep position " + std::to_string(position) + ": positions ascend from " +
                        std::to_string(length) + " and are below the length, " + std::to_string(end));
    }
    last = position;
  }
  pages.check_truncate(id, length + static_cast<std::int64_t>(positions.size()));
  check_own(id, length);
  const std::span<const std::int64_t> given = written(id);
  const auto behind = std::ranges::find_if(given, [&](std::int64_t tokens) { return tokens < end; });
  if (behind != given.end()) {
    throw BadArgument("layer " + std::to_string(behind - given.begin()) + " was given " + std::to_string(*behind) +
                      " of the " + std::to_string(end) + " tokens of a sequence: write the others first");
  }
}

// What a query asks for must not have been given back.
void KvCache::State::check_sees(SequenceId id, const SequenceSpan& span, const AttentionProblem& problem) const {
  if (options.window == 0) return;
  if (problem.window_left < 0 || problem.window_left >= options.window) {
    throw BadArgument("the cache keeps a window of " + std::to_string(options.window) + " tokens: set window_left to " +
                      std::to_string(options.window - 1) + " or less");
  }
  if (!span.query_position && problem.alignment != Alignment::bottom_right) {
    throw BadArgument("a cache with a window needs the alignment bottom_right");
  }
  const SequencePages::Sequence& sequence = pages.at(id);
  // What attention() refuses must not overflow here.
  constexpr std::int64_t kFar = std::int64_t{1} << 40;
  const std::int64_t queries = std::clamp<std::int64_t>(problem.q.shape[2], 0, kFar);
  const std::int64_t query = std::clamp(span.query_position.value_or(sequence.length - queries), -kFar, kFar);
  if (sequence.first > 0 && query - problem.window_left < sequence.first) {
    throw BadArgument("the query at position " + std::to_string(query) + " sees further back than position " +
                      std::to_string(sequence.first) + ", the lowest that the cache has kept");
  }
}

void KvCache::State::copy(cache::Slot from, cache::Slot to, std::int64_t count) {
  keys.copy(from, to, count);
  if (values) values->copy(from, to, count);
}

void KvCache::State::truncate(SequenceId id, std::int64_t length) {
  pages.truncate(id, length);
  for (std::int64_t& tokens : written(id)) tokens = std::min(tokens, length);
  changed();
}

void KvCache::State::extend(std::span<const SequenceId> ids, std::int64_t count) {
  pages.extend(ids, count);
  if (count == 0) return;
  for (const SequenceId id : ids) {
    const SequencePages::Sequence& sequence = pages.at(id);
    if (sequence.copied_from < 0) continue;
    const std::int64_t tokens = (sequence.length - count) % options.page_size;
    copy({sequence.copied_from, 0}, {sequence.copied_to, 0}, tokens);
  }
  changed();
}

void KvCache::State::store(std::int64_t layer, std::span<const SequenceId> ids, const NewTokens& tokens) {
  for (std::size_t b = 0; b < ids.size(); ++b) {
    tokens.store(static_cast<std::int64_t>(b), ids[b], layer, pages, keys, values ? &*values : nullptr);
    if (tokens.count() > 0) written(ids[b])[layer] = pages.at(ids[b]).length;
  }
}

// How many tokens these bytes are rows of.
std::int64_t KvCache::State::rows_in(std::span<const std::byte> k, std::span<const std::byte> v) const {
  const auto bytes_of = [&](std::int64_t width) {
    return options.kv_heads * static_cast<std::int64_t>(row_bytes(options.dtype, width));
  };
  const std::int64_t count = std::ssize(k) / bytes_of(options.key_width);
  const std::int64_t of_values = values ? count * bytes_of(options.value_width) : 0;
  if (count * bytes_of(options.key_width) == std::ssize(k) && of_values == std::ssize(v)) return count;
  throw BadArgument(std::to_string(k.size()) + " bytes of keys and " + std::to_string(v.size()) +
                    " of values are no rows of as many tokens of this cache");
}

void KvCache::State::check_written(std::int64_t layer, SequenceId id, std::int64_t begin, std::int64_t count) {
  const std::int64_t kept = pages.at(id).gone * options.page_size,
                     known = std::min(written(id)[layer], pages.at(id).length);
  if (begin >= kept && begin <= known && count <= known - begin) return;
  throw BadArgument("cannot copy " + std::to_string(count) + " tokens from position " + std::to_string(begin) +
                    " on: this layer keeps " + std::to_string(kept) + " to " + std::to_string(known));
}

KvCache::KvCache(const KvCacheOptions& options)
    : state_(with_documented_errors([&] { return std::make_unique<State>(checked(options)); })) {}
KvCache::~KvCache() = default;
KvCache::KvCache(KvCache&&) noexcept = default;
KvCache& KvCache::operator=(KvCache&&) noexcept = default;

SequenceId KvCache::create() {
  const SequenceId id = state_->pages.create();
  std::ranges::fill(state_->written(id), 0);
  state_->changed();
  return id;
}

SequenceId KvCache::fork(SequenceId sequence) {
  const SequenceId id = state_->pages.fork(sequence);
  std::ranges::copy(state_->written(sequence), state_->written(id).begin());
  state_->changed();
  return id;
}

void KvCache::free(SequenceId sequence) {
  state_->pages.free(sequence);
  state_->changed();
}

void KvCache::truncate(SequenceId sequence, std::int64_t length) { state_->truncate(sequence, length); }

void KvCache::keep(SequenceId sequence, std::int64_t length, std::span<const std::int64_t> positions) {
  State& s = *state_;
  s.check_kept(sequence, length, positions);
  std::int64_t to = length;
  for (const std::int64_t from : positions) {
    if (from != to) s.copy(s.pages.slot_of(sequence, from), s.pages.slot_of(sequence, to), 1);
    ++to;
  }
  s.truncate(sequence, to);
}

void KvCache::extend(std::span<const SequenceId> sequences, std::int64_t count) { state_->extend(sequences, count); }

void KvCache::write(std::int64_t layer, std::span<const SequenceId> sequences, const TensorView& k,
                    const TensorView& v) {
  const cpu::ScopedFpEnvironment environment;  // values are rounded
  state_->check_layer(layer);
  const NewTokens tokens(state_->options, sequences.size(), k, v);
  for (const SequenceId id : sequences) state_->check_writable(layer, id, tokens.count());
  state_->store(layer, sequences, tokens);
}

void KvCache::append(std::span<const SequenceId> sequences, const TensorView& k, const TensorView& v) {
  const cpu::ScopedFpEnvironment environment;
  if (state_->options.layers != 1)
    throw BadArgument("append() is for caches of one layer: extend(), then write() each");
  const NewTokens tokens(state_->options, sequences.size(), k, v);
  for (const SequenceId id : sequences) state_->check_writable(0, id, 0);
  state_->extend(sequences, tokens.count());
  state_->store(0, sequences, tokens);
}

std::int64_t KvCache::key_bytes() const {
  return static_cast<std::int64_t>(row_bytes(state_->options.dtype, state_->options.key_width));
}
std::int64_t KvCache::value_bytes() const {
  return state_->values ? static_cast<std::int64_t>(row_bytes(state_->options.dtype, state_->options.value_width)) : 0;
}

void KvCache::copy_rows(std::int64_t layer, SequenceId sequence, std::int64_t begin, std::span<std::byte> keys,
                        std::span<std::byte> values) const {
  State& s = *state_;
  s.check_layer(layer);
  const std::int64_t count = s.rows_in(keys, values);
  s.check_written(layer, sequence, begin, count);
  const auto copy = [&](PageMemory& memory, std::int64_t bytes, std::span<std::byte> to) {
    s.for_rows(memory, layer, sequence, begin, count, [&](const std::byte* row, std::int64_t index) {
      std::memcpy(to.data() + index * bytes, row, static_cast<std::size_t>(bytes));
    });
  };
  copy(s.keys, key_bytes(), keys);
  if (s.values) copy(*s.values, value_bytes(), values);
}

void KvCache::write_rows(std::int64_t layer, SequenceId sequence, std::span<const std::byte> keys,
                         std::span<const std::byte> values) {
  State& s = *state_;
  s.check_layer(layer);
  const std::int64_t count = s.rows_in(keys, values);
  s.check_writable(layer, sequence, count);
  const std::int64_t length = s.pages.at(sequence).length;
  const auto copy = [&](PageMemory& memory, std::int64_t bytes, std::span<const std::byte> from) {
    s.for_rows(memory, layer, sequence, length - count, count, [&](std::byte* row, std::int64_t index) {
      std::memcpy(row, from.data() + index * bytes, static_cast<std::size_t>(bytes));
    });
  };
  copy(s.keys, key_bytes(), keys);
  if (s.values) copy(*s.values, value_bytes(), values);
  if (count > 0) s.written(sequence)[layer] = length;
}

void KvCache::view(std::span<const SequenceId> sequences, KvView& view) const {
  const State& s = *state_;
  std::int64_t stride = 1;
  for (const SequenceId id : sequences) stride = std::max(stride, s.pages.at(id).pages);
  with_documented_errors([&] {
    view.version = 0;
    view.ids.assign(sequences.begin(), sequences.end());
    view.sequences.assign(sequences.size(), {});
    // Room for sequences at their longest: a view that is filled step by step takes memory once.
    view.table.reserve(sequences.size() * static_cast<std::size_t>(s.pages.entries()));
    view.table.assign(sequences.size() * static_cast<std::size_t>(stride), 0);
  });
  view.table_stride = stride;
  view.keys = 0;
  for (std::size_t b = 0; b < sequences.size(); ++b) {
    const SequencePages::Sequence& sequence = s.pages.at(sequences[b]);
    const std::int64_t begin = sequence.gone * s.options.page_size;
    view.sequences[b] = {sequence.length - begin, begin, {}};
    view.keys = std::max(view.keys, sequence.length - begin);
    std::ranges::copy(s.pages.pages(sequences[b]), view.table.begin() + static_cast<std::int64_t>(b) * stride);
  }
  view.version = s.version;
}

void KvCache::bind(const KvView& view, std::int64_t layer, AttentionProblem& problem) const {
  State& s = *state_;
  s.check_layer(layer);
  if (view.version != s.version)
    throw BadArgument("the view is older than the cache, or of another: call view() again");
  for (std::size_t b = 0; b < view.ids.size(); ++b) {
    const std::int64_t length = s.pages.at(view.ids[b]).length, written = s.written(view.ids[b])[layer];
    if (written < length) {
      throw BadArgument("layer " + std::to_string(layer) + " was given " + std::to_string(written) + " of the " +
                        std::to_string(length) + " tokens of a sequence: write the others first");
    }
    s.check_sees(view.ids[b], view.sequences[b], problem);
  }
  const auto batch = static_cast<std::int64_t>(view.ids.size());
  const PageMemory& values = s.values ? *s.values : s.keys;
  problem.k = s.keys.tensor(layer, batch, view.keys, s.options.key_width);
  problem.v = values.tensor(layer, batch, view.keys, s.options.value_width);
  problem.pages = {view.table.data(),    view.table_stride,    s.options.page_size,
                   s.options.page_count, s.keys.page_stride(), values.page_stride()};
  problem.sequences = view.sequences;
}

std::int64_t KvCache::length(SequenceId sequence) const { return state_->pages.at(sequence).length; }
std::int64_t KvCache::first_position(SequenceId sequence) const { return state_->pages.at(sequence).first; }
std::int64_t KvCache::sequences_in_use() const { return state_->pages.in_use(); }
std::int64_t KvCache::pages_in_use() const { return state_->pages.pool().size() - state_->pages.pool().free_pages(); }
std::int64_t KvCache::page_bytes() const {
  return state_->keys.page_bytes() + (state_->values ? state_->values->page_bytes() : 0);
}
std::int64_t KvCache::bytes() const { return page_bytes() * state_->options.page_count; }
const KvCacheOptions& KvCache::options() const { return state_->options; }

}  // namespace sightline
