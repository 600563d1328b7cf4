// Operations of a pass against sums over its matrices and its pairs, written out by hand.

#include "src/model/flops.h"

#include <gtest/gtest.h>

namespace sightline::model {
namespace {

// A decoder: 6 wide, 3 heads of 4 over 1 of keys, 10 inner, 2 layers, the second with a window of 3.
TransformerConfig small() {
  TransformerConfig config;
  config.vocabulary = 20;
  config.width = config.embedding_width = 6;
  config.layers = 2;
  config.query_heads = 3;
  config.kv_heads = 1;
  config.head_width = 4;
  config.inner_width = 10;
  config.mlp = MlpKind::gated;
  config.causal = true;
  config.pattern = {{.window = 0}, {.window = 3}};
  return config;
}

TEST(Flops, OfALayerByItsMatrices) {
  TransformerConfig config = small();
  EXPECT_EQ(2 * 6 * 12, query_flops(config));
  EXPECT_EQ(2 * (6 * 4 + 6 * 4), key_value_flops(config));
  EXPECT_EQ(2 * 12 * 6, attention_output_flops(config));
  EXPECT_EQ(2 * 3 * 60, feed_forward_flops(config));
  EXPECT_EQ(144 + 96 + 144 + 360, layer_linear_flops(config));
  EXPECT_EQ(3 * (2 * 4 + 2 * 4), pair_flops(config));
  config.mlp = MlpKind::plain;
  EXPECT_EQ(2 * 2 * 60, feed_forward_flops(config));
  config.mlp = MlpKind::experts;
  config.experts = {.count = 8, .used = 2};
  EXPECT_EQ(2 * 6 * 8 + 2 * (2 * 3 * 60), feed_forward_flops(config));
}

TEST(Flops, OfEmbeddingsAndHead) {
  TransformerConfig config = small();
  EXPECT_EQ(0, embedding_flops(config));
  EXPECT_EQ(0, language_head_flops(config));
  config.language_head = LanguageHead::output;
  EXPECT_EQ(2 * 6 * 20, language_head_flops(config));
  config.embedding_width = 5;
  config.language_head = LanguageHead::transform;
  EXPECT_EQ(2 * 5 * 6, embedding_flops(config));
  EXPECT_EQ(2 * 6 * 5 + 2 * 5 * 20, language_head_flops(config));
}

// The pairs counted one by one.
double counted(const TransformerConfig& config, int layer, std::int64_t begin, std::int64_t end, std::int64_t tokens) {
  const std::int64_t window = config.pattern[static_cast<std::size_t>(layer)].window;
  double pairs = 0;
  for (std::int64_t row = begin; row < end; ++row) {
    for (std::int64_t key = 0; key < tokens; ++key) {
      pairs += !(config.causal && key > row) && !(window > 0 && key <= row - window);
    }
  }
  return pairs;
}

TEST(Flops, PairsAreThoseThatRowsSee) {
  TransformerConfig config = small();
  for (const bool causal : {true, false}) {
    config.causal = causal;
    for (int layer = 0; layer < 2; ++layer) {
      for (std::int64_t begin = 0; begin <= 7; ++begin) {
        for (std::int64_t end = begin; end <= 7; ++end) {
          EXPECT_EQ(counted(config, layer, begin, end, 7), visible_pairs(config, layer, begin, end, 7));
        }
      }
    }
  }
}

TEST(Flops, OfAPassAreThoseOfItsParts) {
  TransformerConfig config = small();
  config.language_head = LanguageHead::output;
  // 5 tokens: 15 pairs in the first layer, 1 + 2 + 3 + 3 + 3 in the second.
  EXPECT_EQ(2 * 5 * 744 + (15 + 12) * 48 + 2 * 240, forward_flops(config, 5, 2));
}

}  // namespace
}  // namespace sightline::model
