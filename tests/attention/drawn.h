#ifndef SIGHTLINE_TESTS_ATTENTION_DRAWN_H_
#define SIGHTLINE_TESTS_ATTENTION_DRAWN_H_

#include <functional>
#include <random>
#include <string>

#include "tests/attention/observed.h"
#include "tests/attention/random_problem.h"
#include "tests/attention/skips.h"
#include "tests/attention/test_cases.h"

namespace sightline::testing {

/// A random problem with random observations.
struct Drawn {
  RandomProblem random;
  ObservationRecipe observations;

  explicit Drawn(const ProblemRecipe& recipe) : random(recipe) {
    std::mt19937_64 numbers(recipe.seed + 1);
    observations = ObservationRecipe::any(random.problem(), numbers);
  }
  const AttentionProblem& problem() const { return random.problem(); }
  /// Arrays for a call of one's own.
  Observed blank() const { return {problem(), observations, random.make_output()}; }
  Observed run(const AttentionOptions& options) const {
    Observed got = blank();
    attention(problem(), got.out.mutable_view(), got.request(observations), options);
    return got;
  }
};

/// Within a property: fails it with what differs.
inline void expect_same(const std::string& difference) {
  if (!difference.empty()) RC_FAIL(difference);
}

/// Tries `check` on a share of the cases; those that the library does not support are counted.
inline void check_recipes(double share, const std::function<void(const ProblemRecipe&)>& check) {
  Skips skips;
  check_property(
      [&] {
        const ProblemRecipe recipe = *any_recipe();
        skips.run(recipe, [&] { check(recipe); });
      },
      share);
}

}  // namespace sightline::testing

#endif  // SIGHTLINE_TESTS_ATTENTION_DRAWN_H_
