#include "src/engine/look_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "sightline/error.h"
#include "src/cpu/parallel.h"
#include "src/engine/look.h"
#include "src/engine/pyramid.h"
#include "src/model/feed_forward.h"

namespace sightline::engine {
namespace {

constexpr std::int64_t kNumber = 4;  // bytes of an fp32 or i32
// Numbers a row of a head beside the top keys and segments: row_max, row_sum, lse, entropy, text_entropy, position,
// distance, and key_mass, which is one a key. Where heads have sinks, their weight too.
constexpr std::int64_t kRowNumbers = 8 + std::int64_t{std::size(kOffsets)};

// What one layer's observations take.
std::int64_t observed_bytes(const ModelFacts& model, std::int64_t tokens, int top, std::int32_t segments) {
  const std::int64_t slots = top + (model.tokenizer ? model.tokenizer->special_tokens : 0);
  return kNumber * model.config.query_heads *
         (tokens * (kRowNumbers + segments + model.config.sinks + 2 * slots) + Pyramid::cells(tokens, tokens));
}

std::int64_t query_width(const ModelFacts& model) { return model.config.query_heads * model.config.head_width; }
std::int64_t key_width(const ModelFacts& model) { return model.config.kv_heads * model.config.head_width; }

// Numbers that the MLP has at hand: rows go through it in pieces.
std::int64_t inner_values(const model::TransformerConfig& config, std::int64_t tokens) {
  const std::int64_t rows = std::min(tokens, model::kFeedForwardRows);
  const bool plain = config.mlp == model::MlpKind::plain;
  std::int64_t row = (plain ? 1 : 3) * config.inner_width;  // gate, up, and what they make
  if (config.mlp == model::MlpKind::experts) row += config.experts.count + 2 * config.width;
  return rows * row;
}

}  // namespace

std::vector<int> distinct_layers(std::vector<int> layers) {
  std::ranges::sort(layers);
  layers.erase(std::unique(layers.begin(), layers.end()), layers.end());
  return layers;
}

void require_layers(const ModelFacts& model, std::span<const int> layers) {
  for (const int layer : layers) {
    if (layer >= 1 && layer <= model.config.layers) continue;
    throw BadArgument(
        fmt::format("there is no layer {} to keep: {} has layers 1 to {}", layer, model.name, model.config.layers));
  }
}

std::size_t look_bytes(const ModelFacts& model, std::int64_t tokens, std::span<const int> keep_layers, int top,
                       std::int32_t segments) {
  require_layers(model, keep_layers);
  const std::int64_t layers =
      keep_layers.empty() ? model.config.layers : std::ssize(distinct_layers({keep_layers.begin(), keep_layers.end()}));
  const std::int64_t vectors = kNumber * tokens * (query_width(model) + 2 * key_width(model));
  const auto of_token = static_cast<std::int64_t>(sizeof(LookToken) + sizeof(AxisItem) + sizeof(std::int32_t));
  return static_cast<std::size_t>(layers * (vectors + observed_bytes(model, tokens, top, segments)) +
                                  tokens * of_token);
}

std::size_t hidden_bytes(const ModelFacts& model, std::int64_t tokens) {
  return static_cast<std::size_t>(kNumber * (model.config.layers + 1) * model.config.width * tokens);
}

std::size_t pass_bytes(const ModelFacts& model, std::int64_t tokens, int threads, int top, std::int32_t segments) {
  const model::TransformerConfig& config = model.config;
  // Hidden states, what embeddings are before they become those, a norm's result, and one branch or two.
  const std::int64_t width = config.embedding_width +
                             (config.norm_place == model::NormPlace::after ? 2 : 3) * config.width +
                             (config.parallel_residual ? config.width : 0);
  // Queries, keys, values, what the heads give, and the ropes' cosines and sines.
  std::int64_t rows = width + 2 * query_width(model) + 2 * key_width(model);
  for (const model::Rope& rope : config.ropes) rows += rope.width;
  // The kernel: a worker's weights of a tile of 48 rows with their maxima, and the 16 sums a key of heads at work.
  const std::int64_t workers = cpu::Workers(threads).count();
  const std::int64_t workspace = workers * (48 + 1) + (workers + 1) * 16;
  return static_cast<std::size_t>(kNumber * (tokens * (rows + workspace) + inner_values(config, tokens)) +
                                  observed_bytes(model, tokens, top, segments));
}

}  // namespace sightline::engine
