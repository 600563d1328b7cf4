// The comparison with the reference must notice what is wrong: each array of a right result is changed in turn.
#include "tests/attention/reference_check.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>

namespace sightline::testing {
namespace {

ProblemRecipe plain_recipe() {
  ProblemRecipe recipe;
  recipe.seed = 7;
  recipe.kv_heads = 2;
  recipe.group = 2;
  recipe.queries = 9;
  recipe.keys = 70;
  recipe.width = 16;
  recipe.value_width = 5;
  return recipe.with(Feature::sinks);
}

struct Case {
  RandomProblem random{plain_recipe()};
  ObservationRecipe recipe;
  reference::Result expected{reference::attention(random.problem())};
  Observed got;

  explicit Case(Measure measure = Measure::weight)
      : recipe(observations(measure)), got(random.problem(), recipe, random.make_output(), 1) {}
  std::string check() { return check_against_reference(random, recipe, got, expected); }

 private:
  ObservationRecipe observations(Measure measure) const {
    std::mt19937_64 numbers(1);
    ObservationRecipe all = ObservationRecipe::any(random.problem(), numbers);
    all.rows = {3};
    all.mass_row_begin = 0;
    all.mass_row_end = 9;
    all.measure = measure;
    all.running = true;
    all.mass_decay = 0.5f;
    return all;
  }
};

TEST(ReferenceCheck, AcceptsARightResult) {
  EXPECT_EQ(Case().check(), "");
  EXPECT_EQ(Case(Measure::value_weight).check(), "");
}

TEST(ReferenceCheck, NoticesEveryChangedArray) {
  using Array = std::vector<float> Observed::*;
  const std::map<std::string, Array> arrays = {{"row_max", &Observed::row_max},
                                               {"row_sum", &Observed::row_sum},
                                               {"lse", &Observed::lse},
                                               {"entropy", &Observed::entropy},
                                               {"position", &Observed::position},
                                               {"distance", &Observed::distance},
                                               {"topk_weight", &Observed::topk_weight},
                                               {"key_mass", &Observed::key_mass},
                                               {"overview", &Observed::overview},
                                               {"row_weights", &Observed::row_weights},
                                               {"segment_mass", &Observed::segment_mass},
                                               {"offset_mass", &Observed::offset_mass},
                                               {"sink_weight", &Observed::sink_weight},
                                               {"entropy_with_sink", &Observed::entropy_with_sink}};
  for (const Measure measure : {Measure::weight, Measure::value_weight}) {
    for (const auto& [name, array] : arrays) {
      Case changed(measure);
      float& value = (changed.got.*array).at(1);
      value += 1e-3f * (1 + value);
      EXPECT_NE(changed.check(), "") << name;
    }
  }
}

TEST(ReferenceCheck, NoticesAChangedOutputAndWrittenGap) {
  Case output;
  output.got.out.at(0, 1, 2, 3) += 1e-4f;
  EXPECT_EQ(output.check().rfind("out[", 0), 0u) << output.check();
  Case index;
  ++index.got.topk_index.at(2);
  EXPECT_NE(index.check(), "");
  ProblemRecipe spread = plain_recipe();
  spread.out = Layout::spread;
  Strided<float> gapped = RandomProblem(spread).make_output();
  EXPECT_TRUE(gapped.gaps_untouched());
  *(&gapped.at(0, 0, 0, 0) + 1) = 0;
  EXPECT_FALSE(gapped.gaps_untouched());
}

}  // namespace
}  // namespace sightline::testing
