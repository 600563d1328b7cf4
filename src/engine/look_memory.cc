#include "src/engine/look_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "sightline/error.h"
#include "src/cpu/parallel.h"
#include "src/engine/look.h"
#include "src/engine/pyramid.h"

namespace sightline::engine {
namespace {

constexpr std::int64_t kNumber = 4;  // bytes of an fp32 or i32
// Numbers a row of a head beside the top keys: row_max, row_sum, lse, entropy, text_entropy, position, distance, and
// key_mass, which is one a key.
constexpr std::int64_t kRowNumbers = 8 + std::int64_t{std::size(kOffsets)} + kSegments;

// What one layer's observations take.
std::int64_t observed_bytes(const ModelFacts& model, std::int64_t tokens, int top) {
  const std::int64_t slots = top + (model.tokenizer ? model.tokenizer->special_tokens : 0);
  return kNumber * model.config.query_heads *
         (tokens * (kRowNumbers + 2 * slots) + Pyramid::cells(tokens, tokens));
}

std::int64_t query_width(const ModelFacts& model) { return model.config.query_heads * model.config.head_width; }
std::int64_t key_width(const ModelFacts& model) { return model.config.kv_heads * model.config.head_width; }

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

std::size_t look_bytes(const ModelFacts& model, std::int64_t tokens, std::span<const int> keep_layers, int top) {
  require_layers(model, keep_layers);
  const std::int64_t layers =
      keep_layers.empty() ? model.config.layers : std::ssize(distinct_layers({keep_layers.begin(), keep_layers.end()}));
  const std::int64_t vectors = kNumber * tokens * (query_width(model) + 2 * key_width(model));
  const auto of_token = static_cast<std::int64_t>(sizeof(LookToken) + sizeof(AxisItem) + sizeof(std::int32_t));
  return static_cast<std::size_t>(layers * (vectors + observed_bytes(model, tokens, top)) + tokens * of_token);
}

std::size_t pass_bytes(const ModelFacts& model, std::int64_t tokens, int threads, int top) {
  const model::TransformerConfig& config = model.config;
  // Hidden states, a branch to be added, queries, keys, values, context, and the inner rows of the MLP.
  const std::int64_t rows = 2 * config.width + 2 * query_width(model) + 2 * key_width(model) + config.inner_width;
  // The kernel: a worker's weights of a tile of 48 rows with their maxima, and the 16 sums a key of heads at work.
  const std::int64_t workers = cpu::Workers(threads).count();
  const std::int64_t workspace = workers * (48 + 1) + (workers + 1) * 16;
  return static_cast<std::size_t>(kNumber * tokens * (rows + workspace) + observed_bytes(model, tokens, top));
}

}  // namespace sightline::engine
