// What a call takes from the heap: nothing once its workspace has grown; and when there is none, an error and no
// change.
#include <gtest/gtest.h>

#include <memory_resource>
#include <vector>

#include "sightline/error.h"
#include "sightline/kv_cache.h"
#include "tests/attention/drawn.h"
#include "tests/attention/executors.h"
#include "tests/attention/failing_memory.h"
#include "tests/attention/passes.h"
#include "tests/attention/skips.h"
#include "tests/attention/test_cases.h"

namespace sightline::testing {
namespace {

// A problem with everything observed, into arrays that are there beforehand.
struct Prepared {
  RandomProblem random;
  ObservationRecipe recipe;
  Observed got;
  Observations see;

  explicit Prepared(const ProblemRecipe& drawn)
      : random(drawn),
        recipe(any(drawn)),
        got(random.problem(), recipe, random.make_output()),
        see(got.request(recipe)) {}
  Prepared(const Prepared&) = delete;

  ObservationRecipe any(const ProblemRecipe& drawn) const {
    std::mt19937_64 numbers(drawn.seed + 1);
    return ObservationRecipe::any(random.problem(), numbers);
  }
  void run(const AttentionOptions& options) { attention(random.problem(), got.out.mutable_view(), see, options); }
};

TEST(ExecutionMemory, ACallWithAWorkspaceRequestsNone) {
  check_recipes(0.1, [](const ProblemRecipe& recipe) {
    Prepared prepared(recipe);
    OneAfterTheOther serial;
    for (AttentionOptions options : {AttentionOptions{.threads = 1}, {.threads = 2}, {.executor = &serial}}) {
      Workspace workspace;
      options.workspace = &workspace;
      for (int n = 0; n < 2; ++n) prepared.run(options);  // grows, and becomes one piece
      RC_ASSERT(requests_of([&] { prepared.run(options); }) == 0);
    }
  });
}

TEST(ExecutionMemory, AFastCallWithAWorkspaceRequestsNone) {
  if (!fast_available()) GTEST_SKIP() << "this machine has no instruction for Precision::fast";
  check_recipes(0.05, [](const ProblemRecipe& recipe) {
    Prepared prepared(recipe);
    for (AttentionOptions options : {AttentionOptions{.threads = 1}, {.threads = 2}}) {
      options.precision = Precision::fast;
      const std::size_t size =
          workspace_size(prepared.random.problem(), prepared.got.out.mutable_view(), prepared.see, options);
      Workspace workspace;
      workspace.reserve(size);
      options.workspace = &workspace;
      prepared.run(options);
      RC_ASSERT(requests_of([&] { prepared.run(options); }) == 0);
      RC_ASSERT(workspace.capacity() == size);
    }
  });
}

TEST(ExecutionMemory, APlanRequestsNone) {
  check_recipes(0.1, [](const ProblemRecipe& recipe) {
    Prepared prepared(recipe);
    AttentionPlan plan(prepared.random.problem(), prepared.see, {.threads = 1 + static_cast<int>(recipe.seed % 2)});
    const auto run = [&] { plan.run(prepared.random.problem(), prepared.got.out.mutable_view(), prepared.see); };
    for (int n = 0; n < 2; ++n) run();
    RC_ASSERT(requests_of(run) == 0);
  });
}

// Steps of decoding from a cache, each with one key more, over the boundary of a chunk.
TEST(ExecutionMemory, DecodingRequestsNone) {
  constexpr std::int64_t kSteps = 200, kBefore = 4000, kWidth = 16;
  KvCacheOptions options;
  options.kv_heads = 2;
  options.key_width = options.value_width = kWidth;
  options.page_count = (kBefore + kSteps) / 64 + 1;
  std::vector<float> rows((kBefore + kSteps) * 2 * kWidth, 0.5f), q(8 * kWidth, 1.0f), out(q.size()), entropy(8),
      weight(8 * 4);
  const auto tokens = [&](std::int64_t count) { return dense_view(rows.data(), {1, 2, count, kWidth}); };
  Observations see;
  see.entropy = entropy.data();
  see.top_k = 4;
  see.topk_weight = weight.data();
  for (const int threads : {1, 2}) {
    KvCache cache(options);
    const SequenceId id = cache.create();
    cache.append({&id, 1}, tokens(kBefore), tokens(kBefore));
    KvView view;
    Workspace workspace;
    AttentionProblem problem;
    problem.q = dense_view(q.data(), {1, 8, 1, kWidth});
    const auto step = [&] {
      cache.append({&id, 1}, tokens(1), tokens(1));
      cache.view({&id, 1}, view);
      cache.bind(view, 0, problem);
      attention(problem, dense_view(out.data(), {1, 8, 1, kWidth}), see, {.threads = threads, .workspace = &workspace});
    };
    for (int n = 0; n < 2; ++n) step();
    workspace.reserve(std::size_t{1} << 20);  // more than the second chunk takes
    EXPECT_EQ(requests_of([&] {
                for (std::int64_t n = 2; n < kSteps; ++n) step();
              }),
              0)
        << threads;
  }
}

class Counting final : public std::pmr::memory_resource {
 public:
  int requests = 0;

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    ++requests;
    return std::pmr::new_delete_resource()->allocate(bytes, alignment);
  }
  void do_deallocate(void* data, std::size_t bytes, std::size_t alignment) override {
    std::pmr::new_delete_resource()->deallocate(data, bytes, alignment);
  }
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
};

// As much as it says is enough, and a byte less is not.
TEST(ExecutionMemory, WorkspaceSizeIsExact) {
  check_recipes(0.1, [](const ProblemRecipe& recipe) {
    Prepared prepared(recipe);
    OneAfterTheOther serial;
    for (AttentionOptions options : {AttentionOptions{.threads = 1}, {.threads = 2}, {.executor = &serial}}) {
      const std::size_t size =
          workspace_size(prepared.random.problem(), prepared.got.out.mutable_view(), prepared.see, options);
      if (size == 0) continue;
      for (const std::size_t missing : {0, 1}) {
        Counting upstream;
        Workspace workspace(&upstream);
        workspace.reserve(size - missing);
        RC_ASSERT(workspace.capacity() == size - missing);
        options.workspace = &workspace;
        const int before = upstream.requests;
        for (int n = 0; n < 2 - static_cast<int>(missing); ++n) prepared.run(options);
        RC_ASSERT((upstream.requests == before) == (missing == 0));
        RC_ASSERT((workspace.capacity() == size) == (missing == 0));
      }
    }
  });
}

// One of each table, list and array that a call makes.
ProblemRecipe with_everything(std::int64_t queries) {
  ProblemRecipe recipe;
  recipe.seed = 4;
  recipe.batch = 2;
  recipe.group = 2;
  recipe.queries = queries;
  recipe.keys = queries == 1 ? 9000 : 100;
  recipe.width = recipe.value_width = 9;
  recipe.mask = MaskKind::half;
  recipe.bias = BiasKind::plain;
  recipe.sequences = true;
  for (const Feature feature :
       {Feature::alibi, Feature::sinks, Feature::relative_bias, Feature::cuts, Feature::block_mask,
        Feature::score_function, Feature::mask_function, Feature::dropout, Feature::half_inputs}) {
    recipe = recipe.with(feature);
  }
  return recipe;
}

TEST(ExecutionMemory, RunsOutAtEachRequestOfACall) {
  for (const std::int64_t queries : {1, 7, 60}) {
    Prepared prepared(with_everything(queries));
    prepared.run({.threads = 1});
    const Observed expected = prepared.got;
    for (const int threads : {1, 2}) {
      const auto tried = fail_each_request([&] { prepared.run({.threads = threads}); }, [] {});
      EXPECT_GE(tried, 30);
      prepared.run({.threads = threads});
      EXPECT_EQ(prepared.got.difference(expected), "");
    }
  }
}

TEST(ExecutionMemory, AWorkspaceThatFoundNoneCanBeUsedAgain) {
  Prepared prepared(with_everything(60));
  prepared.run({.threads = 1});
  const Observed expected = prepared.got;
  for (std::int64_t reserved : {0, 3000}) {
    EXPECT_GE(fail_each_request(
                  [&, reserved] {
                    Workspace workspace;
                    if (reserved > 0) workspace.reserve(static_cast<std::size_t>(reserved));
                    prepared.run({.threads = 1, .workspace = &workspace});
                  },
                  [] {}),
              3);
    // The same one all the time.
    Workspace workspace;
    fail_each_request([&] { prepared.run({.threads = 2, .workspace = &workspace}); },
                      [&] {
                        prepared.run({.threads = 1, .workspace = &workspace});
                        EXPECT_EQ(prepared.got.difference(expected), "");
                      });
  }
}

TEST(ExecutionMemory, RunsOutWhileAPlanIsMadeAndRun) {
  Prepared prepared(with_everything(7));
  prepared.run({.threads = 1});
  const Observed expected = prepared.got;
  EXPECT_GE(
      fail_each_request([&] { AttentionPlan plan(prepared.random.problem(), prepared.see, {.threads = 1}); }, [] {}),
      5);
  AttentionPlan plan(prepared.random.problem(), prepared.see, {.threads = 1});
  const auto run = [&] { plan.run(prepared.random.problem(), prepared.got.out.mutable_view(), prepared.see); };
  EXPECT_GE(fail_each_request(run, [] {}), 1);
  run();
  EXPECT_EQ(prepared.got.difference(expected), "");
}

TEST(ExecutionMemory, RunsOutInOtherCalls) {
  Prepared prepared(with_everything(7));
  prepared.run({.threads = 1});
  const AttentionProblem& problem = prepared.random.problem();
  EXPECT_GE(fail_each_request([&] { (void)workspace_size(problem, prepared.got.out.mutable_view(), prepared.see, {}); },
                              [] {}),
            3);
  std::vector<float> map(7 * 100);
  const RowState state{prepared.got.row_max.data(), prepared.got.row_sum.data()};
  EXPECT_GE(fail_each_request(
                [&] {
                  tile(problem, state, {0, 0, 0, 7, 0, 100}, Stage::weights, map.data());
                },
                [] {}),
            5);
}

// The states stay what they were, and what they come to with them.
TEST(ExecutionMemory, AStateStaysAsItWas) {
  for (const std::int64_t queries : {3, 60}) {
    ProblemRecipe recipe;
    recipe.seed = 6;
    recipe.group = 2;
    recipe.queries = queries;
    recipe.keys = 300;
    recipe.width = recipe.value_width = 16;
    const Passes passes(recipe);
    const Observed whole = passes.whole();
    AttentionState state = passes.state_of(0, 128), left = passes.state_of(0, 128);
    const AttentionState right = passes.state_of(128, 300);
    const auto unchanged = [&] { EXPECT_EQ(passes.run(128, 300, {.resume = &state}).difference(whole), ""); };

    const KeyPart rest(passes.problem(), 128, 256);
    const ObservationRecipe observations = passes.with_segments_of(rest);
    Observed got(rest.problem(), observations, {DType::f32, rest.problem().q.shape, Layout::dense, 0});
    const Observations see = without_what_needs_all_keys(got.request(observations));
    const auto resume = [&] {
      attention(rest.problem(), got.out.mutable_view(), see, {.threads = 1, .resume = &state, .save = &state});
    };
    EXPECT_GE(fail_each_request(resume, unchanged), 10);

    const Observed merged_before = passes.finish(left);
    EXPECT_GE(fail_each_request([&] { merge_states(left, right); },
                                [&] { EXPECT_EQ(passes.finish(left).difference(merged_before), ""); }),
              2);
    left = passes.state_of(0, 128);
    Observed finished = passes.blank();
    const Observations all = passes.request(finished);
    EXPECT_GE(fail_each_request([&] { finish_state(passes.problem(), left, finished.out.mutable_view(), all); }, [] {}),
              3);
    EXPECT_EQ(passes.finish(left).difference(merged_before), "");
  }
}

}  // namespace
}  // namespace sightline::testing
