#ifndef SIGHTLINE_MODEL_PRUNED_KEYS_H_
#define SIGHTLINE_MODEL_PRUNED_KEYS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "sightline/context.h"
#include "src/model/pruned_layer.h"

namespace sightline::model {

class ContextCache;
class PromptMass;

/// Of a text of `length` tokens in a context with room for `room`.
PruningSizes pruning_sizes(const TransformerConfig& config, const ContextOptions& options, std::int64_t room,
                           std::int64_t length, bool audit);

/// What is left of a context's keys and values once its rule lets some go, in place of its ContextCache.
class PrunedKeys {
 public:
  /// Of a text of `sizes.length` tokens.
  PrunedKeys(const TransformerConfig& config, const PruningSizes& sizes, ContextCache& whole, const PromptMass& mass);

  PrunedLayer& layer(int layer) { return layers_[static_cast<std::size_t>(layer)]; }
  /// The pass of a row has succeeded.
  void commit() noexcept;

  const DropAccount& account() const { return account_; }
  std::int64_t bytes() const;  // without what is kept aside
  /// What all of it takes at most, before there is any.
  static std::int64_t bytes(const TransformerConfig& config, const PruningSizes& sizes);

 private:
  std::int64_t query_heads_, kv_heads_;
  DropAccount account_;
  std::vector<PrunedLayer> layers_;
};

}  // namespace sightline::model

#endif  // SIGHTLINE_MODEL_PRUNED_KEYS_H_
