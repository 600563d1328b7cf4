// Random problems on every SIMD target that runs here, against the fp64 reference. SIGHTLINE_TEST_CASES sets how many
// (2000 by default); RapidCheck prints the seed, and RC_PARAMS="seed=..." repeats a run.
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "src/attention/reference.h"
#include "src/cpu/target.h"
#include "tests/attention/observed.h"
#include "tests/attention/random_problem.h"
#include "tests/attention/reference_check.h"
#include "tests/attention/test_cases.h"

namespace sightline::testing {
namespace {

// Every target must give the reference's values, and all the same bits.
void check_recipe(const ProblemRecipe& recipe) {
  const RandomProblem random(recipe);
  std::mt19937_64 numbers(recipe.seed + 1);
  const auto observations = ObservationRecipe::any(random.problem(), numbers);
  const auto expected = reference::attention(random.problem());
  std::optional<Observed> first;
  for (const std::string& target : cpu::available_targets()) {
    cpu::force_target(target);
    Observed got(random.problem(), observations, random.make_output(), 1 + static_cast<int>(recipe.seed % 2));
    const std::string wrong = check_against_reference(random, observations, got, expected);
    if (!wrong.empty()) RC_FAIL(target + ": " + wrong);
    if (first) {
      const std::string difference = got.difference(*first);
      if (!difference.empty()) RC_FAIL(target + " and the first target differ: " + difference);
    } else {
      first.emplace(std::move(got));
    }
  }
  cpu::force_target("");
}

TEST(AttentionProperty, AgreesWithTheReferenceOnEveryTarget) {
  check_property([] { check_recipe(*any_recipe()); });
}

}  // namespace
}  // namespace sightline::testing
