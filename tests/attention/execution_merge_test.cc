// States and outputs of separate passes over different keys, joined.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "sightline/error.h"
#include "tests/attention/passes.h"
#include "tests/attention/skips.h"
#include "tests/attention/test_cases.h"

namespace sightline::testing {
namespace {

constexpr std::int64_t kChunk = 4096;
constexpr float kInf = std::numeric_limits<float>::infinity();

ProblemRecipe recipe_of(std::int64_t queries, std::int64_t keys, std::uint64_t seed) {
  ProblemRecipe recipe;
  recipe.seed = seed;
  recipe.batch = 2;
  recipe.group = 2;
  recipe.queries = queries;
  recipe.keys = keys;
  recipe.width = 32;
  recipe.value_width = 17;
  return recipe;
}

// Two passes are merged where chunks meet.
TEST(ExecutionMerge, HasTheBitsOfOnePassAtChunks) {
  for (const auto feature : {Feature::alibi, Feature::sinks, Feature::quantised_keys, Feature::window, Feature::softcap,
                             Feature::score_function}) {
    for (const std::int64_t queries : {1, 7, 33}) {
      const Passes passes(recipe_of(queries, kChunk + 700, 2).with(feature));
      AttentionState left = passes.state_of(0, kChunk);
      merge_states(left, passes.state_of(kChunk, passes.end()));
      EXPECT_EQ(passes.finish(left).difference(passes.whole()), "") << feature_name(feature) << " " << queries;
    }
  }
}

// And a pass may go on from what was merged.
TEST(ExecutionMerge, IsGoneOnFrom) {
  const Passes passes(recipe_of(5, 2 * kChunk + 300, 3));
  AttentionState left = passes.state_of(0, kChunk);
  merge_states(left, passes.state_of(kChunk, 2 * kChunk));
  EXPECT_EQ(passes.run(2 * kChunk, passes.end(), {.resume = &left}).difference(passes.whole()), "");
}

void expect_close(const std::vector<float>& got, const std::vector<float>& expected, const char* name) {
  ASSERT_EQ(got.size(), expected.size()) << name;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (got[i] == expected[i]) continue;
    EXPECT_NEAR(got[i], expected[i], 1e-5 + 1e-5 * std::abs(expected[i])) << name << " " << i;
  }
}

// All but the bits; top keys, which have no ties, in the same order.
void expect_close(const Observed& got, const Observed& expected) {
  const auto mine = got.arrays(), theirs = expected.arrays();
  for (std::size_t i = 0; i < mine.size(); ++i) expect_close(*mine[i].second, *theirs[i].second, mine[i].first);
  EXPECT_EQ(got.topk_index, expected.topk_index);
  const auto& shape = got.out.shape();
  const std::int64_t h = shape[1], n = shape[2], d = shape[3];
  for (std::int64_t i = 0; i < shape[0] * h * n * d; ++i) {
    const auto of = [&](const Observed& o) { return o.out.at(i / d / n / h, i / d / n % h, i / d % n, i % d); };
    EXPECT_NEAR(of(got), of(expected), 1e-5) << i;
  }
}

TEST(ExecutionMerge, IsExactToRoundingElsewhere) {
  for (const std::int64_t queries : {1, 6, 40}) {
    for (const std::int64_t at : {64, 100, 1000, 4096, 4999}) {
      const Passes passes(recipe_of(queries, 5000, 4));
      AttentionState left = passes.state_of(0, at);
      merge_states(left, passes.state_of(at, passes.end()));
      expect_close(passes.finish(left), passes.whole());
    }
  }
}

// Three parts in either association, and in any order: to rounding. Of two parts the order changes no bit.
TEST(ExecutionMerge, DoesNotDependOnTheOrder) {
  const Passes passes(recipe_of(4, 3000, 6));
  const std::int64_t ends[] = {0, 1000, 1777, passes.end()};
  const auto part = [&](int i) { return passes.state_of(ends[i], ends[i + 1]); };
  const Observed whole = passes.whole();
  const int orders[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  for (const auto& order : orders) {
    AttentionState first = part(order[0]), second = part(order[1]);
    merge_states(first, part(order[1]));
    merge_states(first, part(order[2]));
    expect_close(passes.finish(first), whole);
    merge_states(second, part(order[2]));
    AttentionState left = part(order[0]);
    merge_states(left, second);
    expect_close(passes.finish(left), whole);
  }
  AttentionState ab = part(0), ba = part(1);
  merge_states(ab, part(1));
  merge_states(ba, part(0));
  EXPECT_EQ(passes.finish(ab).difference(passes.finish(ba)), "");
}

// Keys that are all alike: of equal ones the first are kept, whichever part came first.
TEST(ExecutionMerge, BreaksTiesByTheLowerIndex) {
  constexpr std::int64_t kKeys = 128, kTop = 4;
  const std::vector<float> zeros(kKeys * 8);
  std::vector<float> out(8);
  std::vector<std::int32_t> index(kTop);
  Observations see;
  see.top_k = kTop;
  see.topk_index = index.data();
  const auto state_of = [&](std::int64_t begin) {
    AttentionProblem problem;
    problem.q = dense_view(zeros.data(), {1, 1, 1, 8});
    problem.k = problem.v = dense_view(zeros.data(), {1, 1, 64, 8});
    const SequenceSpan span{-1, begin, kKeys - 1};
    problem.sequences = {&span, 1};
    AttentionState state;
    attention(problem, dense_view(out.data(), {1, 1, 1, 8}), see, {.save = &state});
    return std::pair(std::move(state), problem);
  };
  for (const std::int64_t first : {0, 64}) {
    auto [left, problem] = state_of(first);
    merge_states(left, state_of(64 - first).first);
    finish_state(problem, left, dense_view(out.data(), {1, 1, 1, 8}), see);
    EXPECT_EQ(index, (std::vector<std::int32_t>{0, 1, 2, 3})) << first;
  }
}

// A part without a key, and one whose keys are hidden from some rows.
TEST(ExecutionMerge, AnEmptyPartIsNeutral) {
  ProblemRecipe recipe = recipe_of(20, 300, 7);
  recipe.causal = true;
  const Passes passes(recipe);
  const Observed whole = passes.whole();
  AttentionState left = passes.state_of(0, 0), right = passes.state_of(0, passes.end());
  merge_states(left, passes.state_of(0, passes.end()));
  EXPECT_EQ(passes.finish(left).difference(whole), "");
  merge_states(right, passes.state_of(passes.end(), passes.end()));
  EXPECT_EQ(passes.finish(right).difference(whole), "");
  AttentionState nothing = passes.state_of(0, 0);
  merge_states(nothing, passes.state_of(0, 0));
  for (const float lse : passes.finish(nothing).lse) EXPECT_EQ(lse, -kInf);
}

// Any mask, type and observation; compared with a tolerance that knows nothing of the problem, so without what makes
// rows of huge numbers.
TEST(ExecutionMerge, RandomProblems) {
  Skips skips;
  check_property(
      [&] {
        ProblemRecipe recipe = *any_recipe();
        recipe.magnitude = 1;
        recipe.scale = {};
        recipe.poison = recipe.poison == Poison::visible ? Poison::hidden : recipe.poison;
        recipe.bias = recipe.bias == BiasKind::lowest_float ? BiasKind::plain : recipe.bias;
        skips.run(recipe, [&] {
          const Passes passes(recipe);
          const Observed whole = passes.whole();
          std::mt19937_64 random(recipe.seed);
          const std::int64_t at = between(random, 0, passes.end());
          AttentionState left = passes.state_of(0, at);
          merge_states(left, passes.state_of(at, passes.end()));
          const Observed got = passes.finish(left);
          for (std::size_t i = 0; i < got.lse.size(); ++i) {
            RC_ASSERT((got.lse[i] == whole.lse[i] || std::abs(got.lse[i] - whole.lse[i]) < 1e-4));
            RC_ASSERT(std::abs(got.entropy[i] - whole.entropy[i]) < 1e-3);
          }
          for (std::size_t i = 0; i < got.segment_mass.size(); ++i)
            RC_ASSERT(std::abs(got.segment_mass[i] - whole.segment_mass[i]) <
                      1e-4 * (1 + std::abs(whole.segment_mass[i])));
          for (std::size_t i = 0; i < got.offset_mass.size(); ++i)
            RC_ASSERT(std::abs(got.offset_mass[i] - whole.offset_mass[i]) <
                      1e-4 * (1 + std::abs(whole.offset_mass[i])));
          for (std::size_t i = 0; i < got.topk_weight.size(); ++i)
            RC_ASSERT(std::abs(got.topk_weight[i] - whole.topk_weight[i]) < 1e-4);
        });
      },
      0.2);
}

TEST(ExecutionMerge, RefusesStatesOfOtherQueries) {
  const Passes passes(recipe_of(4, 100, 8)), more_rows(recipe_of(5, 100, 8));
  AttentionState state = passes.state_of(0, 64), nothing;
  EXPECT_THROW(merge_states(state, more_rows.state_of(64, 100)), BadArgument);
  EXPECT_THROW(merge_states(state, nothing), BadArgument);
  EXPECT_THROW(merge_states(nothing, state), BadArgument);
  EXPECT_NO_THROW(merge_states(state, passes.state_of(64, 100)));
}

struct Part {
  std::vector<float> out, lse;
  PartialOutput view(const Shape4& shape) const { return {dense_view(out.data(), shape), lse.data()}; }
};

Part any_part(const Shape4& shape, std::mt19937_64& random) {
  std::normal_distribution<float> normal;
  const std::int64_t rows = shape[0] * shape[1] * shape[2];
  Part part{std::vector<float>(rows * shape[3]), std::vector<float>(rows)};
  for (float& x : part.out) x = normal(random);
  for (float& x : part.lse) x = 30 * normal(random);
  return part;
}

// Against fp64, into an output of its own layout; then in place.
TEST(ExecutionMergeOutputs, IsThatOfFp64) {
  std::mt19937_64 random(1);
  const Shape4 shape = {2, 3, 5, 7};
  const Part a = any_part(shape, random), b = any_part(shape, random);
  Strided<float> out(DType::f32, shape, Layout::heads_inside, 7);
  std::vector<float> lse(a.lse.size());
  merge_outputs(a.view(shape), b.view(shape), out.mutable_view(), lse.data());
  Part in_place = a;
  merge_outputs(in_place.view(shape), b.view(shape), dense_view(in_place.out.data(), shape), in_place.lse.data());
  for (std::size_t row = 0; row < lse.size(); ++row) {
    const double max = std::max(a.lse[row], b.lse[row]);
    const double of_a = std::exp(a.lse[row] - max), of_b = std::exp(b.lse[row] - max), sum = of_a + of_b;
    EXPECT_NEAR(lse[row], max + std::log(sum), 1e-7 * std::abs(max) + 1e-7);
    for (std::size_t d = 0; d < 7; ++d) {
      const double expected = (a.out[row * 7 + d] * of_a + b.out[row * 7 + d] * of_b) / sum;
      const float got = out.at(row / 15, row / 5 % 3, row % 5, d);
      EXPECT_NEAR(got, expected, 3e-7 * (1 + std::abs(expected)));
      EXPECT_TRUE(same_bits(in_place.out[row * 7 + d], got));
    }
    EXPECT_TRUE(same_bits(in_place.lse[row], lse[row]));
  }
}

TEST(ExecutionMergeOutputs, EmptyAndInvalidParts) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Shape4 shape = {1, 1, 4, 1};
  const Part a{{nan, nan, 3, nan}, {-kInf, -kInf, 1, 0}}, b{{nan, 2, nan, 1}, {-kInf, 5, -kInf, nan}};
  std::vector<float> out(4, 9), lse(4, 9);
  merge_outputs(a.view(shape), b.view(shape), dense_view(out.data(), shape), lse.data());
  EXPECT_EQ(out[0], 0);
  EXPECT_EQ(lse[0], -kInf);
  EXPECT_EQ(out[1], 2);
  EXPECT_EQ(lse[1], 5);
  EXPECT_EQ(out[2], 3);
  EXPECT_EQ(lse[2], 1);
  EXPECT_TRUE(std::isnan(out[3]) && std::isnan(lse[3]));
  merge_outputs(a.view(shape), b.view(shape), dense_view(out.data(), shape), nullptr);

  const auto refused = [&](const PartialOutput& part, const MutableTensorView& to) {
    EXPECT_THROW(merge_outputs(part, b.view(shape), to, nullptr), BadArgument);
  };
  PartialOutput bad = a.view(shape);
  bad.lse = nullptr;
  refused(bad, dense_view(out.data(), shape));
  bad = a.view(shape);
  bad.out.data = nullptr;
  refused(bad, dense_view(out.data(), shape));
  refused(a.view({1, 1, 3, 1}), dense_view(out.data(), shape));
  bad = a.view(shape);
  out.resize(5);
  bad.out.data = out.data() + 1;  // would read what was written a row before
  refused(bad, dense_view(out.data(), shape));
  refused(a.view(shape), dense_view(static_cast<float*>(nullptr), shape));
  MutableTensorView to = dense_view(out.data(), shape);
  to.strides[2] = 0;
  refused(a.view(shape), to);
  to = dense_view(out.data(), shape);
  to.dtype = DType::bf16;
  refused(a.view(shape), to);
}

}  // namespace
}  // namespace sightline::testing
