#include "src/model/pruned_keys.h"

#include "src/model/context_cache.h"
#include "src/model/prompt_mass.h"

namespace sightline::model {
namespace {

// Part `layer` of values [layers, count].
template <class T>
std::span<T> part(std::vector<T>& values, std::size_t layer, std::int64_t count) {
  if (values.empty()) return {};
  return std::span(values).subspan(layer * static_cast<std::size_t>(count), static_cast<std::size_t>(count));
}

}  // namespace

PruningSizes pruning_sizes(const TransformerConfig& config, const ContextOptions& options, std::int64_t room,
                           std::int64_t length, bool audit) {
  PruningSizes sizes;
  sizes.rule = options.drop;
  sizes.keys = options.keys;
  sizes.values = options.values;
  sizes.query_heads = config.query_heads;
  sizes.kv_heads = config.kv_heads;
  sizes.width = config.head_width;
  sizes.room = room;
  sizes.length = length;
  sizes.audit = audit;
  return sizes;
}

PrunedKeys::PrunedKeys(const TransformerConfig& config, const PruningSizes& sizes, ContextCache& whole,
                       const PromptMass& mass)
    : query_heads_(sizes.query_heads), kv_heads_(sizes.kv_heads) {
  const auto layers = static_cast<std::size_t>(config.layers);
  account_.heads.resize(layers * static_cast<std::size_t>(kv_heads_));
  if (sizes.audit) account_.audits.resize(layers * static_cast<std::size_t>(query_heads_));
  whole.look_up();
  layers_.reserve(layers);
  for (int layer = 0; layer < config.layers; ++layer) {
    AttentionProblem source;
    whole.bind(layer, source);
    layers_.emplace_back(sizes, config.pattern[layer].window, source, mass.received(layer, sizes.length),
                         part(account_.heads, static_cast<std::size_t>(layer), kv_heads_));
  }
}

void PrunedKeys::commit() noexcept {
  ++account_.rows;
  for (std::size_t layer = 0; layer < layers_.size(); ++layer) {
    layers_[layer].commit(part(account_.heads, layer, kv_heads_), part(account_.audits, layer, query_heads_));
  }
}

std::int64_t PrunedKeys::bytes(const TransformerConfig& config, const PruningSizes& sizes) {
  std::int64_t bytes = 0;
  for (const LayerPattern& layer : config.pattern) bytes += PrunedLayer::bytes(sizes, layer.window);
  return bytes;
}

std::int64_t PrunedKeys::bytes() const {
  std::int64_t bytes = 0;
  for (const PrunedLayer& layer : layers_) bytes += layer.bytes();
  return bytes;
}

}  // namespace sightline::model
