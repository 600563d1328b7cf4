#ifndef SIGHTLINE_CACHE_NEW_TOKENS_H_
#define SIGHTLINE_CACHE_NEW_TOKENS_H_

#include <cstdint>
#include <optional>

#include "sightline/kv_cache.h"
#include "src/cache/page_memory.h"
#include "src/cache/sequence_pages.h"
#include "src/cache/source_rows.h"

namespace sightline::cache {

/// Keys and values that a caller passes for a batch of sequences, checked: nothing throws while they are stored.
class NewTokens {
 public:
  /// Throws BadArgument.
  NewTokens(const KvCacheOptions& options, std::size_t batch, const TensorView& k, const TensorView& v);

  std::int64_t count() const { return count_; }  // of each sequence
  /// Stores those of sequence b of the batch as the last tokens of `id`.
  void store(std::int64_t b, SequenceId id, std::int64_t layer, const SequencePages& pages, PageMemory& keys,
             PageMemory* values) const;

 private:
  const KvCacheOptions& options_;
  std::int64_t count_;
  SourceRows k_;
  std::optional<SourceRows> v_;
};

}  // namespace sightline::cache

#endif  // SIGHTLINE_CACHE_NEW_TOKENS_H_
