#ifndef SIGHTLINE_ANALYSIS_PAPER_COST_H_
#define SIGHTLINE_ANALYSIS_PAPER_COST_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "sightline/context.h"
#include "sightline/transformer_config.h"

namespace sightline::analysis {

/// Floating-point operations, as src/model/flops.h counts them.
struct PaperCost {
  double attention = 0;  // dot products and mixes of the pairs that rows see
  double rest = 0;       // linear layers
};

/// Of a pass over a text of n tokens, with the logits of its last row where the model gives any.
PaperCost pass_cost(const model::TransformerConfig& config, std::int64_t n);
/// Of the n-th token alone, with its logits: those before it are in the cache.
PaperCost token_cost(const model::TransformerConfig& config, std::int64_t n);

/// The shortest length at which attention takes as much as the rest; nothing where it never does, as with a window in
/// every layer.
std::optional<std::int64_t> crossing(const std::function<PaperCost(std::int64_t)>& cost);

/// Types that a cache keeps keys and values in, as --cache-type-k spells them.
struct CacheType {
  std::string_view name;
  DType dtype;
};
inline constexpr CacheType kCacheTypes[] = {
    {"f32", DType::f32}, {"f16", DType::f16}, {"q8_0", DType::i8_row}, {"q4_1", DType::q4_1}};

}  // namespace sightline::analysis

#endif  // SIGHTLINE_ANALYSIS_PAPER_COST_H_
