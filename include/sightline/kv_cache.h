#ifndef SIGHTLINE_KV_CACHE_H_
#define SIGHTLINE_KV_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <span>
#include <vector>

#include "sightline/attention.h"
#include "sightline/tensor.h"

namespace sightline {

/// What a cache is made for. Its memory is taken once, when it is made: nothing is allocated later. Beside the pool it
/// takes a table of max_sequences rows, 4 bytes for each page that max_tokens may need.
struct KvCacheOptions {
  /// Layers that keep the same tokens: one table of pages serves them all. 1 to 4096. Models that mix windows have a
  /// cache for the layers of each window.
  std::int64_t layers = 1;
  std::int64_t kv_heads = 0;       ///< Hkv, 1 to 2^20
  std::int64_t key_width = 0;      ///< D, 1 to 1024
  std::int64_t value_width = 0;    ///< Dv, 1 to 1024
  bool values_in_keys = false;     ///< values are the first Dv columns of the keys (MLA): kept once
  DType dtype = DType::f32;        ///< as kept: f32, f16, bf16, i8_row or q4_1
  std::int64_t page_size = 64;     ///< tokens a page, 16 to 2^30
  std::int64_t page_count = 0;     ///< pages of the pool, 1 to 2^31 - 1
  std::int64_t max_sequences = 1;  ///< at one time, forks included; 1 to 2^24
  std::int64_t max_tokens = 0;     ///< that a sequence keeps at one time, to 2^30; 0: what the pool holds
  std::int64_t window = 0;         ///< > 0: tokens that a query sees, its own included; older ones go
  bool touch = false;              ///< writes to the memory at once, so that none is faulted in later
  bool huge_pages = true;          ///< asks the system for large pages, where it has them
  /// Where memory comes from; it must outlive the cache. Null: huge_page_resource(), or new without huge_pages.
  std::pmr::memory_resource* memory = nullptr;

  /// `sequences` sequences of up to `tokens` tokens, each in one page, to be completed by sizes and type.
  static KvCacheOptions contiguous(std::int64_t sequences, std::int64_t tokens);
};

/// A sequence of a cache. Once freed its handle names no other sequence of it. Caches do not know each other's handles.
struct SequenceId {
  std::int32_t slot = -1;
  std::uint32_t generation = 0;

  friend bool operator==(const SequenceId&, const SequenceId&) = default;
};

/// Where the tokens of a batch of sequences lie. Filled by KvCache::view(), which uses its memory again.
struct KvView {
  std::vector<SequenceId> ids;          ///< [B]
  std::vector<SequenceSpan> sequences;  ///< [B] key_count, and the position of the first token kept
  std::vector<std::int32_t> table;      ///< [B, table_stride] pages of the pool
  std::int64_t table_stride = 0;
  std::int64_t keys = 0;      ///< the largest key_count
  std::uint64_t version = 0;  ///< of the cache that it shows
};

/// Keys and values of the tokens so far, of many sequences, in pages of a pool (Kwon et al. 2023). A contiguous cache
/// has one page for each sequence, a rolling one (`window`) gives pages back at the front.
///
/// Positions are absolute: token n of a sequence stands at position n, whatever was given back. Forks share pages;
/// tokens that are added to a shared page get a copy of it first. Attention over a cache, of any kind and however it
/// was filled, has the bits of attention over the same rows in one tensor.
///
/// Errors: BadArgument for handles that are not in use and sizes that do not fit, OutOfMemory where the pool, a
/// sequence or the number of sequences is at its end. After either the cache is what it was before the call.
///
/// A cache that was moved from can be assigned to or destroyed, and nothing else.
///
/// Threads: const functions may run at the same time, and so may write() for different sequences or layers; all others
/// need the cache for themselves. Memory is first touched, and so placed, by the thread that writes to it.
class KvCache {
 public:
  explicit KvCache(const KvCacheOptions& options);
  ~KvCache();
  KvCache(KvCache&&) noexcept;
  KvCache& operator=(KvCache&&) noexcept;

  /// A sequence without tokens.
  SequenceId create();
  /// A sequence with the same tokens, which are shared until either changes.
  SequenceId fork(SequenceId sequence);
  /// Forgets a sequence. Pages that no other shares are free again.
  void free(SequenceId sequence);
  /// Forgets the tokens from `length` on. Where a window gave tokens back that the next query would see, this is a
  /// BadArgument that says how far back the sequence can go; 0 always can, and begins anew.
  void truncate(SequenceId sequence, std::int64_t length);

  /// Of the tokens from `length` on keeps those at `positions`, which ascend, and forgets the others: they follow one
  /// another from `length`, as what was accepted of a tree of drafted tokens does. Tokens that a fork shares are not
  /// moved, and all layers must have been written.
  void keep(SequenceId sequence, std::int64_t length, std::span<const std::int64_t> positions);

  /// Makes room for `count` more tokens of each sequence, for all or none of them; write() then fills them, layer by
  /// layer. A window first gives back the pages that the first of these tokens no longer sees.
  void extend(std::span<const SequenceId> sequences, std::int64_t count);
  /// Writes the last n tokens of each sequence: k [B, Hkv, n, D] and v [B, Hkv, n, Dv] in f32, f16 or bf16, any
  /// strides (no v where values are in keys). Tokens that a fork shares cannot be written. For packed types NaN,
  /// infinity and values beyond their range are a BadArgument that names the place.
  void write(std::int64_t layer, std::span<const SequenceId> sequences, const TensorView& k, const TensorView& v);
  /// extend() and write() in one, for caches of one layer.
  void append(std::span<const SequenceId> sequences, const TensorView& k, const TensorView& v);

  /// Bytes of a key, and of a value, as kept: row_bytes() of the type and the width. No value where they are in the
  /// keys.
  std::int64_t key_bytes() const;
  std::int64_t value_bytes() const;
  /// Copies `keys.size()` bytes of keys as they are kept, and of values: [Hkv, n, bytes of a row], of the n tokens from
  /// position `begin` on, which must be kept and written.
  void copy_rows(std::int64_t layer, SequenceId sequence, std::int64_t begin, std::span<std::byte> keys,
                 std::span<std::byte> values) const;
  /// Writes the last n tokens of a sequence from such bytes, of a cache of the same type and sizes, whatever its pages.
  void write_rows(std::int64_t layer, SequenceId sequence, std::span<const std::byte> keys,
                  std::span<const std::byte> values);

  /// Fills `view` with the pages of these sequences, for all layers; sequences may occur more than once. It holds until
  /// the cache changes otherwise than by write().
  void view(std::span<const SequenceId> sequences, KvView& view) const;
  /// Lets `problem`, whose q and window_left are set, read a layer: sets k, v, pages and sequences, which point into
  /// the view and the cache. Refused: a view that is out of date, tokens that this layer has not been given yet, and
  /// queries that see further back than the window has kept (query 0 stands where bottom_right puts it).
  void bind(const KvView& view, std::int64_t layer, AttentionProblem& problem) const;

  std::int64_t length(SequenceId sequence) const;  ///< tokens ever added less those truncated: the next position
  std::int64_t first_position(SequenceId sequence) const;  ///< the lowest position that a query may still ask for
  std::int64_t sequences_in_use() const;
  std::int64_t pages_in_use() const;
  std::int64_t page_bytes() const;  ///< of one page, all layers, keys and values
  std::int64_t bytes() const;       ///< of the whole pool
  const KvCacheOptions& options() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace sightline

#endif  // SIGHTLINE_KV_CACHE_H_
