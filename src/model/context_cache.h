#ifndef SIGHTLINE_MODEL_CONTEXT_CACHE_H_
#define SIGHTLINE_MODEL_CONTEXT_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "sightline/context.h"
#include "sightline/kv_cache.h"
#include "src/model/config.h"

namespace sightline::model {

/// Keys (after the rope) and values of one text in every layer. Layers with a window keep all their keys too: they
/// cost memory, but a text can be truncated to any length, and one table of pages serves all layers.
class ContextCache {
 public:
  ContextCache(const TransformerConfig& config, std::int64_t tokens, const ContextOptions& options);

  void extend(std::int64_t count);
  void truncate(std::int64_t length);
  /// Fills what bind() reads; to be called after extend().
  void look_up();
  /// The last rows of a layer, [1, kv heads, n, head width] each.
  void write(std::int64_t layer, const TensorView& keys, const TensorView& values);
  /// Lets `problem`, whose q and window_left are set, read all of a layer.
  void bind(std::int64_t layer, AttentionProblem& problem) const;
  std::int64_t bytes() const;

  /// Bytes of a key, and of a value, of one head as kept.
  std::int64_t key_bytes() const { return keys_.cache.key_bytes(); }
  std::int64_t value_bytes() const { return values_ ? values_->cache.key_bytes() : keys_.cache.value_bytes(); }
  /// A layer's keys and values of all tokens as they are kept, [kv heads, tokens, bytes] each, whatever the pages: out,
  /// and back after extend().
  void copy_rows(std::int64_t layer, std::span<std::byte> keys, std::span<std::byte> values) const;
  void write_rows(std::int64_t layer, std::span<const std::byte> keys, std::span<const std::byte> values);

 private:
  struct Part {
    explicit Part(const KvCacheOptions& options) : cache(options), sequence(cache.create()) {}

    KvCache cache;
    SequenceId sequence;
    KvView view;
  };
  // Two where keys and values are kept in different types; each then keeps "keys" alone.
  Part keys_;
  std::optional<Part> values_;
};

struct Context::Impl {
  std::shared_ptr<const void> model;  // whose context it is
  TransformerConfig config;           // to make another cache
  ContextOptions options;
  std::int64_t room = 0;
  std::unique_ptr<ContextCache> cache;
  std::vector<std::int32_t> tokens;
  std::int64_t turned_for = 0;  // the length whose rope frequencies the keys have been turned by

  std::int64_t length() const { return static_cast<std::int64_t>(tokens.size()); }
  /// Takes the first `count` tokens of a context of the same model and types, whatever the pages and the room, in place
  /// of what it has.
  void copy(const Impl& from, std::int64_t count);
  std::unique_ptr<ContextCache> make_cache() const { return std::make_unique<ContextCache>(config, room, options); }
};

}  // namespace sightline::model

#endif  // SIGHTLINE_MODEL_CONTEXT_CACHE_H_
