// Random problems on every SIMD target that runs here, against the fp64 reference. SIGHTLINE_TEST_CASES sets how many
// (2000 by default); RapidCheck prints the seed, and RC_PARAMS="seed=..." repeats a run.
#include <gtest/gtest.h>

#include <iostream>
#include <map>
#include <optional>
#include <string>

#include "src/attention/reference.h"
#include "src/cpu/target.h"
#include "tests/attention/observed.h"
#include "tests/attention/random_problem.h"
#include "tests/attention/reference_check.h"
#include "tests/attention/skips.h"
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

// How often each border of the domain was met.
class Coverage {
 public:
  void count(const ProblemRecipe& r) {
    note("no queries", r.queries == 0);
    note("no keys", r.keys == 0);
    note("width 1", r.width == 1);
    note("stride 0", is_shared(r.q) || is_shared(r.k) || is_shared(r.v));
    note("negative stride", r.q == Layout::reversed || r.k == Layout::reversed || r.v == Layout::reversed);
    note("NaN or infinity in hidden keys", r.poison == Poison::hidden && r.keys > 0 && (r.causal || r.sequences));
    note("NaN in visible keys", r.poison == Poison::visible && r.keys > 0);
    note("rows without a visible key", r.mask == MaskKind::some_rows_empty);
    note("bias of the lowest float", r.bias == BiasKind::lowest_float);
    note("more than one chunk of keys", r.keys > 4096);
    for (int f = 0; f < kFeatures; ++f) note(feature_name(static_cast<Feature>(f)), r.has(static_cast<Feature>(f)));
    note("no feature", r.features == 0);
  }
  void print_and_check() const {
    for (const auto& [what, times] : times_) {
      std::cout << "  " << what << ": " << times << " cases\n";
      EXPECT_TRUE(times > 0 || is_reduced()) << what;
    }
  }

 private:
  static bool is_shared(Layout layout) { return layout == Layout::shared_batch || layout == Layout::shared_heads; }
  void note(const char* what, bool met) { times_[what] += met; }
  std::map<std::string, int> times_;
};

TEST(AttentionProperty, AgreesWithTheReferenceOnEveryTarget) {
  Coverage coverage;
  Skips skips;
  check_property([&] {
    const ProblemRecipe recipe = *any_recipe();
    coverage.count(recipe);
    skips.run(recipe, [&] { check_recipe(recipe); });
  });
  coverage.print_and_check();
  for (int f = 0; f < kFeatures && !is_reduced(); ++f)
    EXPECT_GT(skips.done(static_cast<Feature>(f)), 0) << feature_name(static_cast<Feature>(f)) << " was always refused";
}

}  // namespace
}  // namespace sightline::testing
