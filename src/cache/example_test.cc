// The example of docs/cache.md; tests/pages_test.py compares it with the page.
#include <gtest/gtest.h>

#include <string_view>

#include "sightline/error.h"
#include "src/cache/testing.h"

namespace {

using namespace sightline;

// What stands for a model: two layers of 4 query heads on 2 key/value heads.
class Model {
 public:
  struct Projections {
    TensorView q, k, v;  // [B, H, n, width]
  };

  static constexpr std::int64_t kLayers = 2, kHeads = 4, kKvHeads = 2, kWidth = 32;

  Projections project(std::int64_t layer, std::int64_t batch, std::int64_t tokens) {
    std::mt19937_64 random(static_cast<std::uint64_t>(layer));
    KvCacheOptions sizes;
    sizes.key_width = sizes.value_width = kWidth;
    sizes.kv_heads = kHeads;
    queries_ = sightline::testing::random_tokens(sizes, batch, tokens, random);
    sizes.kv_heads = kKvHeads;
    tokens_ = sightline::testing::random_tokens(sizes, batch, tokens, random);
    out_.assign(static_cast<std::size_t>(batch * kHeads * tokens * kWidth), 0);
    return {queries_.k(), tokens_.k(), tokens_.v()};
  }
  MutableTensorView out(const Projections& p) { return dense_view(out_.data(), p.q.shape); }

 private:
  sightline::testing::Tokens queries_, tokens_;
  std::vector<float> out_;
};

// [docs/cache.md
KvCache make_cache() {
  KvCacheOptions options;
  options.layers = Model::kLayers;
  options.kv_heads = Model::kKvHeads;
  options.key_width = options.value_width = Model::kWidth;
  options.page_size = 64;
  options.page_count = 1000;
  options.max_sequences = 16;
  options.max_tokens = 8192;
  return KvCache(options);
}

// The next `count` tokens of each sequence through all layers: a prompt, a chunk of one, or one token each.
void forward(KvCache& cache, KvView& view, std::span<const SequenceId> ids, std::int64_t count, Model& model) {
  cache.extend(ids, count);  // for all of them or for none: OutOfMemory means wait, or free a sequence
  cache.view(ids, view);     // once for all layers
  for (std::int64_t layer = 0; layer < Model::kLayers; ++layer) {
    const auto p = model.project(layer, static_cast<std::int64_t>(ids.size()), count);
    cache.write(layer, ids, p.k, p.v);
    AttentionProblem problem;
    problem.q = p.q;
    problem.causal = true;
    cache.bind(view, layer, problem);  // k, v, pages and sequences
    attention(problem, model.out(p));
  }
}

// Three answers to one prompt, whose pages they share.
void answer(Model& model) {
  KvCache cache = make_cache();
  KvView view;  // keeps its memory from step to step
  std::vector<SequenceId> ids = {cache.create()};
  forward(cache, view, ids, 100, model);
  while (ids.size() < 3) ids.push_back(cache.fork(ids[0]));
  for (int step = 0; step < 20; ++step) forward(cache, view, ids, 1, model);

  cache.truncate(ids[2], cache.length(ids[2]) - 5);  // drafted tokens that were not accepted
  for (const SequenceId id : ids) cache.free(id);
}
// docs/cache.md]

TEST(CacheExample, Runs) {
  Model model;
  try {
    answer(model);
  } catch (const BadArgument& error) {
    if (!std::string_view(error.what()).starts_with("not supported: ")) throw;
    GTEST_SKIP() << error.what();
  }
}

}  // namespace
