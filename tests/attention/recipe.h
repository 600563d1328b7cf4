#ifndef SIGHTLINE_TESTS_ATTENTION_RECIPE_H_
#define SIGHTLINE_TESTS_ATTENTION_RECIPE_H_

#include <rapidcheck.h>

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <random>

#include "sightline/attention.h"
#include "tests/attention/strided.h"

namespace sightline::testing {

enum class MaskKind : std::uint8_t { none, sparse, half, dense, some_rows_empty };
enum class BiasKind : std::uint8_t { none, plain, some_hidden, lowest_float };
enum class Poison : std::uint8_t { none, hidden, visible };  // where NaN and Inf are put

/// What a problem may have besides the plain one. What exactly follows from the recipe's seed.
enum class Feature : std::uint8_t {
  window,
  softcap,
  alibi,
  sinks,
  relative_bias,
  head_scale,
  cuts,
  block_mask,
  tree,
  score_function,
  mask_function,
  dropout,
  pages,
  packed,
  half_inputs,
  quantised_keys,
  half_bias,
};
inline constexpr int kFeatures = 17;
const char* feature_name(Feature feature);

/// What a random problem is made from. Small enough to be shown and shrunk; the numbers come from `seed`.
struct ProblemRecipe {
  std::uint64_t seed = 0;
  std::int64_t batch = 1, kv_heads = 1, group = 1;
  std::int64_t queries = 1, keys = 1, width = 1, value_width = 1;
  Layout q = Layout::dense, k = Layout::dense, v = Layout::dense, out = Layout::dense;
  float magnitude = 1;  // of q and k
  std::optional<float> scale;
  bool causal = false;
  Alignment alignment = Alignment::bottom_right;
  MaskKind mask = MaskKind::none;
  BiasKind bias = BiasKind::none;
  int mask_broadcast = 0, bias_broadcast = 0;  // bit a: axis a has size 1
  bool sequences = false;                      // key counts and positions of their own
  Poison poison = Poison::none;
  std::uint32_t features = 0;  // bit f: Feature f

  std::int64_t query_heads() const { return kv_heads * group; }
  bool has(Feature feature) const { return features >> static_cast<int>(feature) & 1; }
  ProblemRecipe without(Feature feature) const;
  ProblemRecipe with(Feature feature) const;
  /// Numbers for one purpose: what else the problem has does not change them.
  std::mt19937_64 numbers(std::uint64_t purpose) const { return std::mt19937_64(seed * 1000 + purpose); }
  std::mt19937_64 numbers(Feature feature) const { return numbers(100 + static_cast<std::uint64_t>(feature)); }
};
std::ostream& operator<<(std::ostream& out, const ProblemRecipe& recipe);

/// Problems of any kind: plain ones, ones with a single feature, and combinations.
rc::Gen<ProblemRecipe> any_recipe();

bool chance(std::mt19937_64& random, double p);
std::int64_t between(std::mt19937_64& random, std::int64_t from, std::int64_t to);

}  // namespace sightline::testing

#endif  // SIGHTLINE_TESTS_ATTENTION_RECIPE_H_
