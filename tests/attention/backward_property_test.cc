// Gradients of random problems on every SIMD target that runs here: the values of the fp64 chain rule, and the same
// bits on each target and on any number of threads.
#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <sstream>

#include "src/cpu/target.h"
#include "tests/attention/backward_bounds.h"
#include "tests/attention/backward_run.h"
#include "tests/attention/skips.h"
#include "tests/attention/test_cases.h"

namespace sightline::testing {
namespace {

Layout any_layout(std::mt19937_64& random, bool shared) {
  const auto layout = static_cast<Layout>(random() % kLayouts);
  return !shared && (layout == Layout::shared_batch || layout == Layout::shared_heads) ? Layout::spread : layout;
}

// Without what has no gradient here. Trees stand at the end of the keys.
rc::Gen<ProblemRecipe> any_backward_recipe() {
  return rc::gen::map(any_recipe(), [](const ProblemRecipe& any) {
    ProblemRecipe recipe =
        any.without(Feature::pages).without(Feature::quantised_keys).without(Feature::score_function);
    if (recipe.has(Feature::tree)) recipe.alignment = Alignment::bottom_right;
    return recipe;
  });
}

// A problem with an output gradient of its own.
struct Drawn {
  explicit Drawn(const ProblemRecipe& recipe) : random(recipe) {
    std::mt19937_64 numbers(recipe.seed + 2);
    layouts = {any_layout(numbers, true), any_layout(numbers, false), any_layout(numbers, false),
               any_layout(numbers, false), any_layout(numbers, false)};
    const AttentionProblem& p = random.problem();
    const Shape4 shape{p.q.shape[0], p.q.shape[1], p.q.shape[2], p.v.shape[3]};
    dout = {DType::f32, shape, layouts.dout, std::nanf("")};
    std::normal_distribution<float> normal;
    dout.fill([&](float& x) { x = normal(numbers); });
  }
  BackwardRun run(int threads) const { return {random.problem(), dout.view(), layouts, threads}; }

  RandomProblem random;
  BackwardLayouts layouts;
  Strided<float> dout;
};

// NaN and infinities are one kind of value: which of them comes out depends on the order of operations.
void check_near(const char* name, const std::vector<float>& got, const std::vector<double>& expected,
                const std::vector<double>& bounds) {
  RC_ASSERT(got.size() == expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    const bool right =
        std::isfinite(expected[i]) ? !(std::abs(got[i] - expected[i]) > bounds[i]) : !std::isfinite(got[i]);
    if (right) continue;
    std::ostringstream message;
    message << name << "[" << i << "]: expected " << expected[i] << " within " << bounds[i] << ", got " << got[i];
    RC_FAIL(message.str());
  }
}

void check_values(const BackwardRun& run, const reference::GradientResult& expected,
                  const reference::GradientResult& bounds) {
  const auto arrays = run.arrays();
  const std::vector<double>* values[] = {&expected.q,
                                         &expected.k,
                                         &expected.v,
                                         &expected.bias,
                                         &expected.sinks,
                                         &expected.alibi_slopes,
                                         &expected.relative_bias};
  const std::vector<double>* limits[] = {
      &bounds.q, &bounds.k, &bounds.v, &bounds.bias, &bounds.sinks, &bounds.alibi_slopes, &bounds.relative_bias};
  for (std::size_t a = 0; a < arrays.size(); ++a) check_near(arrays[a].first, arrays[a].second, *values[a], *limits[a]);
}

void check_recipe(const ProblemRecipe& recipe) {
  const Drawn drawn(recipe);
  const AttentionProblem& problem = drawn.random.problem();
  const TensorView dout = drawn.dout.view();
  const auto expected = reference::gradients(problem, dout);
  const BackwardBounds bounds(drawn.random, dout);
  std::optional<BackwardRun> first;
  for (const std::string& target : cpu::available_targets()) {
    cpu::force_target(target);
    BackwardRun got = drawn.run(1 + static_cast<int>(recipe.seed % 3));
    check_values(got, expected, bounds.get());
    if (!got.gaps_untouched()) RC_FAIL("a gap between elements was written");
    if (first) {
      const std::string difference = got.difference(*first);
      if (!difference.empty()) RC_FAIL(target + " and the first target: " + difference);
    } else {
      first.emplace(std::move(got));
    }
  }
  cpu::force_target("");
}

TEST(BackwardProperty, AgreesWithTheChainRuleOnEveryTarget) {
  Skips skips;
  check_property(
      [&] {
        const ProblemRecipe recipe = *any_backward_recipe();
        skips.run(recipe, [&] { check_recipe(recipe); });
      },
      0.5);
}

TEST(BackwardProperty, SameBitsOnAnyNumberOfThreads) {
  Skips skips;
  check_property(
      [&] {
        const ProblemRecipe recipe = *any_backward_recipe();
        const Drawn drawn(recipe);
        skips.run(recipe, [&] {
          const BackwardRun one = drawn.run(1);
          for (const int threads : {2, 3, 5}) {
            const std::string difference = drawn.run(threads).difference(one);
            if (!difference.empty()) RC_FAIL(difference);
          }
        });
      },
      0.25);
}

}  // namespace
}  // namespace sightline::testing
