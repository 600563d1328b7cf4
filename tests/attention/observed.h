#ifndef SIGHTLINE_TESTS_ATTENTION_OBSERVED_H_
#define SIGHTLINE_TESTS_ATTENTION_OBSERVED_H_

#include <random>
#include <string>
#include <vector>

#include "sightline/attention.h"
#include "tests/attention/strided.h"

namespace sightline::testing {

/// What to observe, drawn for a problem of some shape.
struct ObservationRecipe {
  int top_k = 4;
  std::vector<std::int64_t> offsets;
  std::int64_t mass_row_begin = 0, mass_row_end = INT64_MAX;
  std::vector<std::int32_t> segment_of_key;
  std::int32_t segments = 1;
  std::int64_t overview_rows = 1, overview_cols = 1;
  std::vector<std::int64_t> rows;

  /// All observations, sizes drawn at random.
  static ObservationRecipe any(const AttentionProblem& problem, std::mt19937_64& random);
};

/// One call of attention() with every observation, and its row state by tiles.
struct Observed {
  Observed(const AttentionProblem& problem, const ObservationRecipe& recipe, Strided<float> output, int threads);

  /// Throws nothing; names the first array whose bits differ from `other`, or is empty. Any NaN equals any NaN.
  std::string difference(const Observed& other) const;

  /// tile() over the whole map of each head, [B, Hq, Nq, Nk].
  std::vector<float> map(const AttentionProblem& problem, Stage stage) const;

  /// All arrays of numbers beside `out`, by name.
  std::vector<std::pair<const char*, const std::vector<float>*>> arrays() const;

  Strided<float> out;
  std::vector<float> row_max, row_sum, lse, entropy, position, distance;
  std::vector<std::int32_t> topk_index;
  std::vector<float> topk_weight, offset_mass, key_mass, segment_mass, overview, row_weights;

 private:
  Observations request(const ObservationRecipe& recipe);
};

bool same_bits(float a, float b);

}  // namespace sightline::testing

#endif  // SIGHTLINE_TESTS_ATTENTION_OBSERVED_H_
