#ifndef SIGHTLINE_MODEL_FLOPS_H_
#define SIGHTLINE_MODEL_FLOPS_H_

#include <cstdint>

#include "sightline/transformer_config.h"

namespace sightline::model {

// Floating-point operations of a pass, on paper: a multiplication and an addition are two. Counted are linear layers
// and attention's two products over the pairs that rows see; not norms, activations, biases, ropes, softmax, embeddings
// that are looked up, and the pooler's one row. Of experts those that a token goes through.

/// Of one token in one layer.
double query_flops(const TransformerConfig& config);             // projection to the queries
double key_value_flops(const TransformerConfig& config);         // to the keys and the values
double attention_output_flops(const TransformerConfig& config);  // of what the heads give
double feed_forward_flops(const TransformerConfig& config);      // with the router of experts
/// All of these: what a token costs in a layer however long the text is.
double layer_linear_flops(const TransformerConfig& config);

/// Of one pair of a row and a key that it sees, in all heads of one layer: dot product and mix.
double pair_flops(const TransformerConfig& config);

/// Of one token before the first layer: the linear layer behind narrower embeddings, 0 without one.
double embedding_flops(const TransformerConfig& config);

/// Of one row's logits; 0 without a language head.
double language_head_flops(const TransformerConfig& config);

/// Pairs of rows [begin, end) and keys that they see in a layer, in a text of `tokens`: by causality and window, with
/// those that a knock-out hides.
double visible_pairs(const TransformerConfig& config, int layer, std::int64_t begin, std::int64_t end,
                     std::int64_t tokens);

/// Of a whole pass over a text, with the logits of some rows.
double forward_flops(const TransformerConfig& config, std::int64_t tokens, std::int64_t logit_rows);

}  // namespace sightline::model

#endif  // SIGHTLINE_MODEL_FLOPS_H_
