// Cost on paper against sums by hand, and bytes of a cache against those of one that was made.
#include "src/analysis/paper_cost.h"

#include <gtest/gtest.h>

#include "src/generation/decoding.h"
#include "src/model/testing.h"

namespace sightline::analysis {
namespace {

// A token takes, by layer: 2 * 8 * 8 for the queries, 2 * 8 * 8 for keys and values of one head, 2 * 8 * 8 for the
// output, twice 2 * 8 * 16 for the MLP: 896. A pair takes two products of 2 * 4 in two heads: 32.
model::TransformerConfig small_config(std::int64_t layers, std::int64_t window) {
  model::TransformerConfig config;
  config.width = config.embedding_width = 8;
  config.layers = layers;
  config.query_heads = 2;
  config.kv_heads = 1;
  config.head_width = 4;
  config.inner_width = 16;
  config.vocabulary = 100;
  config.causal = true;
  config.pattern.assign(static_cast<std::size_t>(layers), {.window = window, .rope = 0});
  return config;
}

std::optional<std::int64_t> pass_crossing(const model::TransformerConfig& config) {
  return crossing([&](std::int64_t n) { return pass_cost(config, n); });
}
std::optional<std::int64_t> token_crossing(const model::TransformerConfig& config) {
  return crossing([&](std::int64_t n) { return token_cost(config, n); });
}

TEST(PaperCost, CountsWhatIsCountedByHand) {
  const model::TransformerConfig config = small_config(3, 0);
  EXPECT_EQ(pass_cost(config, 10).attention, 3 * 55 * 32);
  EXPECT_EQ(pass_cost(config, 10).rest, 3 * 10 * 896);
  EXPECT_EQ(token_cost(config, 10).attention, 3 * 10 * 32);
  EXPECT_EQ(token_cost(config, 10).rest, 3 * 896);
}

// (n + 1) / 2 * 32 >= 896 from 55 on, n * 32 >= 896 from 28 on, however many layers there are.
TEST(PaperCost, CrossesWhereTheEquationHasItsRoot) {
  for (const std::int64_t layers : {1, 5}) {
    EXPECT_EQ(pass_crossing(small_config(layers, 0)), 55);
    EXPECT_EQ(token_crossing(small_config(layers, 0)), 28);
  }
}

// One row's logits take 2 * 8 * 100 more: n * 32 >= 896 + 1600 from 78 on.
TEST(PaperCost, CountsTheLogitsOfOneRow) {
  model::TransformerConfig config = small_config(1, 0);
  config.language_head = model::LanguageHead::output;
  EXPECT_EQ(token_crossing(config), 78);
}

TEST(PaperCost, NeverCrossesWhereAWindowIsTooNarrow) {
  EXPECT_EQ(token_crossing(small_config(2, 20)), std::nullopt);
  EXPECT_EQ(pass_crossing(small_config(2, 20)), std::nullopt);
  EXPECT_EQ(token_crossing(small_config(2, 30)), 28);
}

// Rows that see all n keys: n * 32 >= 896.
TEST(PaperCost, CountsAllPairsOfAnEncoder) {
  model::TransformerConfig config = small_config(1, 0);
  config.causal = false;
  EXPECT_EQ(pass_crossing(config), 28);
}

TEST(PaperCost, HasTheBytesOfACacheThatWasMade) {
  int made = 0;
  for (const std::string& name : model::model_names("decoder")) {
    const model::Transformer transformer = model::Transformer::load(model::conformance("models") / name);
    for (const CacheType& type : kCacheTypes) {
      const model::ContextOptions options{.keys = type.dtype, .values = type.dtype};
      const std::int64_t n = std::min<std::int64_t>(32, transformer.config().max_positions);
      EXPECT_EQ(model::cache_bytes(transformer.config(), n, options), transformer.make_context(n, options).bytes())
          << name << ' ' << type.name;
      ++made;
    }
  }
  EXPECT_GT(made, 0);
}

}  // namespace
}  // namespace sightline::analysis
