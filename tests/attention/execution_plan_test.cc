// A plan gives what attention() gives, or refuses.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "sightline/error.h"
#include "tests/attention/drawn.h"

namespace sightline::testing {
namespace {

struct Layer : Drawn {
  using Drawn::Drawn;

  Observed run(AttentionPlan& plan) const {
    Observed got = blank();
    plan.run(problem(), got.out.mutable_view(), got.request(observations));
    return got;
  }
};

TEST(ExecutionPlan, GivesTheBitsOfACall) {
  Skips skips;
  check_property(
      [&] {
        const ProblemRecipe recipe = *any_recipe();
        skips.run(recipe, [&] {
          const Layer layer(recipe);
          const Observed expected(layer.random.problem(), layer.observations, layer.random.make_output(), 1);
          Observed shape = layer.blank();
          AttentionPlan plan(layer.random.problem(), shape.request(layer.observations), {.threads = 2});
          for (int n = 0; n < 3; ++n) {
            const std::string difference = layer.run(plan).difference(expected);
            if (!difference.empty()) RC_FAIL(difference);
          }
        });
      },
      0.1);
}

// The types of tensors decide nothing that a plan works out.
TEST(ExecutionPlan, ServesOtherTypes) {
  Skips skips;
  check_property(
      [&] {
        const ProblemRecipe recipe = *any_recipe();
        skips.run(recipe, [&] {
          const Layer layer(recipe), f32(recipe.without(Feature::half_inputs).without(Feature::quantised_keys));
          Observed shape = f32.blank();
          AttentionPlan plan(f32.random.problem(), shape.request(f32.observations), {.threads = 1});
          f32.run(plan);
          const Observed expected(layer.random.problem(), layer.observations, layer.random.make_output(), 1);
          const std::string difference = layer.run(plan).difference(expected);
          if (!difference.empty()) RC_FAIL(difference);
        });
      },
      0.1);
}

struct Plain {
  std::vector<float> q = std::vector<float>(4 * 5 * 8), kv = std::vector<float>(2 * 100 * 8), out = q;
  AttentionProblem problem;

  explicit Plain(unsigned seed = 1) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    for (auto* values : {&q, &kv}) {
      for (float& x : *values) x = normal(random);
    }
    problem.q = dense_view(q.data(), {1, 4, 5, 8});
    problem.k = problem.v = dense_view(kv.data(), {1, 2, 100, 8});
  }
  MutableTensorView out_view() { return dense_view(out.data(), {1, 4, 5, 8}); }
  std::vector<float> expected() {
    attention(problem, out_view());
    return out;
  }
  std::vector<float> planned(AttentionPlan& plan) {
    out.assign(out.size(), 7);
    plan.run(problem, out_view());
    return out;
  }
};

// Whatever is a number may differ from layer to layer.
TEST(ExecutionPlan, ServesLayersOfOtherNumbers) {
  const std::vector<float> slopes = {0.1f, 0.2f, 0.3f, 0.4f}, sinks = {1, 2, 3, 4};
  const auto halve = score_function([](float score, const ScorePair&) { return score / 2; });
  Plain first;
  AttentionPlan plan(first.problem, {}, {.threads = 1});
  for (unsigned n = 0; n < 8; ++n) {
    Plain layer(n);
    layer.problem.scale = n % 2 == 0 ? std::optional<float>() : 0.25f;
    layer.problem.causal = n % 3 == 1;
    layer.problem.window_left = n % 4 == 2 ? 30 : -1;
    layer.problem.softcap = n % 4 == 1 ? 5 : 0;
    if (n % 4 == 3) layer.problem.alibi_slopes = slopes;
    if (n % 3 == 2) layer.problem.sinks = sinks;
    if (n % 3 == 0) layer.problem.head_scale = slopes;
    if (n == 5) layer.problem.score_function = &halve;
    EXPECT_EQ(layer.planned(plan), layer.expected()) << n;
  }
}

TEST(ExecutionPlan, RefusesOtherProblems) {
  Plain first;
  AttentionPlan plan(first.problem, {}, {.threads = 1});
  const auto refused = [&](const std::function<void(AttentionProblem&)>& change) {
    Plain layer;
    change(layer.problem);
    EXPECT_THROW(plan.run(layer.problem, {}), BadArgument);
  };
  const SequenceSpan shorter{99, 0, {}}, moved{-1, 64, {}};
  const std::vector<std::int32_t> q_begins = {0, 2, 5}, k_begins = {0, 50, 100}, parents = {-1, 0, 1, 2, 3};
  const EdgeCut cut;
  const std::vector<float> table(32 * 4);
  const std::uint8_t seen = 1;
  refused([](AttentionProblem& p) { p.q.shape[2] = 4; });
  refused([](AttentionProblem& p) { p.k.shape[2] = p.v.shape[2] = 99; });
  refused([](AttentionProblem& p) { p.q.shape[3] = p.k.shape[3] = 7; });
  refused([](AttentionProblem& p) { p.v.shape[3] = 7; });
  refused([](AttentionProblem& p) { p.k.shape[1] = p.v.shape[1] = 1; });
  refused([&](AttentionProblem& p) { p.sequences = {&shorter, 1}; });
  refused([&](AttentionProblem& p) { p.sequences = {&moved, 1}; });
  refused([&](AttentionProblem& p) { p.alignment = Alignment::top_left; });
  refused([&](AttentionProblem& p) { p.tree_parents = parents; });
  refused([&](AttentionProblem& p) { p.cuts = {&cut, 1}; });
  refused([&](AttentionProblem& p) { p.relative_bias.table = table; });
  refused([&](AttentionProblem& p) { p.mask = {&seen, DType::boolean, {1, 1, 1, 1}, {0, 0, 0, 0}}; });
  refused([&](AttentionProblem& p) { p.bias = {table.data(), DType::f32, {1, 1, 1, 1}, {0, 0, 0, 0}}; });
  refused([&](AttentionProblem& p) {
    p.cu_seqlens_q = q_begins;
    p.cu_seqlens_k = k_begins;
  });
  EXPECT_EQ(first.planned(plan), first.expected()) << "it can still be used";
}

// Trees, cuts and relative biases are the plan's: their lists may be gone when it runs.
TEST(ExecutionPlan, KeepsWhatItReadWhenItWasMade) {
  Plain layer;
  std::vector<std::int64_t> keys = {1, 2, 3, 50};
  std::vector<float> table(32 * 4, 0.5f);
  for (std::size_t i = 0; i < table.size(); ++i) table[i] = static_cast<float>(i % 13) / 4;
  EdgeCut cut{-1, {}, {}, keys};
  layer.problem.cuts = {&cut, 1};
  layer.problem.relative_bias.table = table;
  const std::vector<float> expected = layer.expected();
  AttentionPlan plan(layer.problem, {}, {.threads = 1});
  std::fill(keys.begin(), keys.end(), 0);
  std::fill(table.begin(), table.end(), -3.0f);
  EXPECT_EQ(layer.planned(plan), expected);
}

// How keys are parted is worked out by the plan; what is seen of the parts may be left out.
TEST(ExecutionPlan, RefusesOtherPartsOfTheKeys) {
  Plain layer;
  const std::vector<std::int32_t> segments(100);
  std::vector<float> mass(4 * 5 * 2), overview(4 * 4);
  Observations none, parts;
  parts.segments = 1;
  parts.segment_of_key = segments;
  parts.segment_mass = mass.data();
  parts.overview_rows = parts.overview_cols = 2;
  parts.overview = overview.data();
  AttentionPlan with(layer.problem, parts, {.threads = 1}), without(layer.problem, none, {.threads = 1});
  EXPECT_THROW(without.run(layer.problem, layer.out_view(), parts), BadArgument);
  with.run(layer.problem, layer.out_view(), parts);
  EXPECT_EQ(mass[0], 1);
  with.run(layer.problem, layer.out_view(), none);
  Observations more = parts;
  more.segments = 2;
  EXPECT_THROW(with.run(layer.problem, layer.out_view(), more), BadArgument);
  more = parts;
  more.overview_cols = 3;
  EXPECT_THROW(with.run(layer.problem, layer.out_view(), more), BadArgument);
  more = parts;
  more.overview_step = 5;
  EXPECT_THROW(with.run(layer.problem, layer.out_view(), more), BadArgument);
}

TEST(ExecutionPlan, RunsOnceAtATime) {
  Plain layer;
  AttentionPlan plan(layer.problem, {}, {.threads = 1});
  class Again final : public ScoreFunction {
   public:
    explicit Again(AttentionPlan& plan) : plan_(plan) {}
    void apply(const ScoreTile&) const override {
      Plain other;
      EXPECT_THROW(plan_.run(other.problem, other.out_view()), BadArgument);
    }

   private:
    AttentionPlan& plan_;
  } again(plan);
  Plain outer;
  outer.problem.score_function = &again;
  plan.run(outer.problem, outer.out_view());
  EXPECT_EQ(layer.planned(plan), layer.expected());
}

TEST(ExecutionPlan, RefusesWhatACallRefuses) {
  Plain layer;
  layer.problem.window_left = -5;
  EXPECT_THROW(AttentionPlan(layer.problem, {}, {}), BadArgument);
  Plain other;
  AttentionPlan plan(other.problem, {}, {});
  EXPECT_THROW(plan.run(layer.problem, layer.out_view()), BadArgument);
  Observations see;
  see.top_k = 65;
  std::vector<std::int32_t> index(4 * 5 * 65);
  see.topk_index = index.data();
  EXPECT_THROW(plan.run(other.problem, other.out_view(), see), BadArgument);
  EXPECT_THROW(AttentionPlan(other.problem, see, {}), BadArgument);
}

}  // namespace
}  // namespace sightline::testing
