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
  Measure measure = Measure::weight;
  bool sinks = false;    // their weight, and entropy with them
  bool running = false;  // mass in running sums, which begin at 0
  float mass_decay = 1;
  int top_k = 4;
  std::vector<std::int64_t> offsets;
  std::int64_t mass_row_begin = 0, mass_row_end = INT64_MAX;
  std::vector<std::int32_t> segment_of_key;
  std::int32_t segments = 1;
  std::int64_t overview_rows = 1, overview_cols = 1, overview_step = 0;
  std::vector<std::int64_t> rows;

  /// All observations, sizes drawn at random. Those of running mass, of another measure than the weight, and of sinks
  /// where there are none, now and then.
  static ObservationRecipe any(const AttentionProblem& problem, std::mt19937_64& random);
};

/// One call of attention() with every observation, and its row state by tiles.
struct Observed {
  /// Arrays that hold a mark, running sums 0.
  Observed(const AttentionProblem& problem, const ObservationRecipe& recipe, Strided<float> output);
  Observed(const AttentionProblem& problem, const ObservationRecipe& recipe, Strided<float> output, int threads);

  /// Throws nothing; names the first array whose bits differ from `other`, or is empty. Any NaN equals any NaN.
  std::string difference(const Observed& other) const;

  /// tile() over the whole map of each head, [B, Hq, Nq, Nk].
  std::vector<float> map(const AttentionProblem& problem, Stage stage) const;

  /// All arrays of numbers beside `out`, by name.
  std::vector<std::pair<const char*, const std::vector<float>*>> arrays() const;

  /// The arrays, as a call is asked to fill them.
  Observations request(const ObservationRecipe& recipe);

  Strided<float> out;
  std::vector<float> row_max, row_sum, lse, entropy, position, distance;
  std::vector<std::int32_t> topk_index;
  std::vector<float> topk_weight, offset_mass, key_mass, segment_mass, overview, row_weights;
  std::vector<float> sink_weight, entropy_with_sink;  // empty unless asked for
  std::vector<float> mass_sums;                       // empty unless asked for

 private:
  std::int64_t mass_sums_keys_ = 0;
};

bool same_bits(float a, float b);

}  // namespace sightline::testing

#endif  // SIGHTLINE_TESTS_ATTENTION_OBSERVED_H_
