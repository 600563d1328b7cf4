// A pass that goes on from a saved state is one pass over all keys, to the bit, whatever is hidden, observed, and
// wherever it was interrupted.
#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "sightline/error.h"
#include "src/cpu/target.h"
#include "tests/attention/passes.h"
#include "tests/attention/skips.h"
#include "tests/attention/test_cases.h"

namespace sightline::testing {
namespace {

constexpr std::int64_t kBlock = 64;

// Where passes meet: multiples of 64, some twice, so that there are passes without a key.
std::vector<std::int64_t> any_ends(std::int64_t end, std::mt19937_64& random) {
  std::vector<std::int64_t> ends;
  for (std::int64_t n = between(random, 1, 4); n > 0; --n) ends.push_back(between(random, 0, end / kBlock) * kBlock);
  std::sort(ends.begin(), ends.end());
  ends.push_back(end);
  return ends;
}

// The last of passes that each go on from the one before.
Observed resumed(const Passes& passes, const std::vector<std::int64_t>& ends, int threads) {
  AttentionState state;
  std::int64_t begin = 0;
  for (const std::int64_t end : ends) {
    const bool last = end == ends.back();
    const AttentionOptions options{
        .threads = threads, .resume = begin == 0 && state.empty() ? nullptr : &state, .save = last ? nullptr : &state};
    Observed got = passes.run(begin, end, options);
    if (last) return got;
    begin = end;
  }
  throw std::logic_error("no pass");
}

void check_resumed(const ProblemRecipe& recipe) {
  const Passes passes(recipe);
  std::mt19937_64 random(recipe.seed + 3);
  const auto ends = any_ends(passes.end(), random);
  const Observed whole = passes.whole(2);
  const std::string difference = resumed(passes, ends, 1 + static_cast<int>(recipe.seed % 3)).difference(whole);
  if (!difference.empty()) RC_FAIL(difference);
}

TEST(ExecutionResume, IsOnePass) {
  Skips skips;
  check_property(
      [&] {
        const ProblemRecipe recipe = *any_recipe();
        skips.run(recipe, [&] { check_resumed(recipe); });
      },
      0.25);
}

TEST(ExecutionResume, IsOnePassOnEveryTarget) {
  Skips skips;
  for (const std::string& target : cpu::available_targets()) {
    check_property(
        [&] {
          const ProblemRecipe recipe = *any_recipe();
          cpu::force_target(target);
          skips.run(recipe, [&] { check_resumed(recipe); });
          cpu::force_target("");
        },
        0.05);
  }
}

ProblemRecipe long_rows(std::int64_t queries) {
  ProblemRecipe recipe;
  recipe.seed = 5;
  recipe.group = 3;
  recipe.queries = queries;
  recipe.keys = 9000;
  recipe.width = 32;
  recipe.value_width = 16;
  return recipe;
}

// Within chunks of 4096 keys, and at their ends.
TEST(ExecutionResume, IsOnePassOverSeveralChunks) {
  const std::vector<std::vector<std::int64_t>> all_ends = {
      {64, 9000}, {4096, 9000}, {4032, 4096, 9000}, {4096, 8192, 8192, 9000}, {64, 4160, 4224, 8256, 8960, 9000}};
  for (const std::int64_t queries : {1, 5, 17, 50}) {
    const Passes passes(long_rows(queries));
    const Observed whole = passes.whole(2);
    for (const auto& ends : all_ends) {
      for (const int threads : {1, 2}) EXPECT_EQ(resumed(passes, ends, threads).difference(whole), "") << queries;
    }
  }
}

TEST(ExecutionResume, AStateMayBeUsedMoreThanOnce) {
  const Passes passes(long_rows(3));
  const AttentionState state = passes.state_of(0, 4160);
  const Observed first = passes.run(4160, passes.end(), {.resume = &state});
  const Observed second = passes.run(4160, passes.end(), {.resume = &state});
  EXPECT_EQ(second.difference(first), "");
}

// Padding on the left stands before position 0; a pass may have nothing else.
TEST(ExecutionResume, GoesOnFromLeftPadding) {
  constexpr std::int64_t kKeys = 300, kPadding = 130, kWidth = 16;
  for (const std::int64_t queries : {1, 20}) {
    std::mt19937 random(4);
    std::normal_distribution<float> normal;
    std::vector<float> q(queries * kWidth), kv(kKeys * kWidth);
    for (auto* values : {&q, &kv}) {
      for (float& x : *values) x = normal(random);
    }
    struct Result {
      std::vector<float> out, entropy, weight;
      std::vector<std::int32_t> index;
      bool operator==(const Result&) const = default;
    };
    const auto pass = [&](std::int64_t first, std::int64_t end, const AttentionState* resume, AttentionState* save) {
      AttentionProblem problem;
      problem.q = dense_view(q.data(), {1, 1, queries, kWidth});
      problem.k = problem.v = dense_view(kv.data() + first * kWidth, {1, 1, end - first, kWidth});
      const SequenceSpan span{-1, first - kPadding, kKeys - kPadding - queries};
      problem.sequences = {&span, 1};
      problem.causal = true;
      Result got{std::vector<float>(q.size()), std::vector<float>(queries), std::vector<float>(queries * 4),
                 std::vector<std::int32_t>(queries * 4)};
      Observations see;
      see.entropy = got.entropy.data();
      see.top_k = 4;
      see.topk_weight = got.weight.data();
      see.topk_index = got.index.data();
      attention(problem, dense_view(got.out.data(), {1, 1, queries, kWidth}), see,
                {.threads = 1, .resume = resume, .save = save});
      return got;
    };
    const Result whole = pass(0, kKeys, nullptr, nullptr);
    EXPECT_EQ(whole.index[0] >= kPadding, true) << "padding is hidden";
    for (const std::int64_t middle : {kPadding - 128, kPadding - 64, kPadding, kPadding + 64, kPadding + 128}) {
      AttentionState state;
      pass(0, middle, nullptr, &state);
      EXPECT_EQ(pass(middle, kKeys, &state, nullptr), whole) << middle;
    }
  }
}

// A plan goes on from a state, or saves one, each time it runs.
TEST(ExecutionResume, APlanSavesAndResumes) {
  const Passes passes(long_rows(20));
  const std::int64_t middle = 4160;
  const KeyPart left(passes.problem(), 0, middle), right(passes.problem(), middle, passes.end());
  Observed got = passes.blank();
  AttentionState state;
  AttentionPlan saving(left.problem(), {}, {.threads = 2, .save = &state});
  for (int n = 0; n < 2; ++n) saving.run(left.problem(), got.out.mutable_view());
  AttentionPlan resuming(right.problem(), {}, {.threads = 2, .resume = &state});
  const Observed whole = passes.whole();
  for (int n = 0; n < 2; ++n) {
    resuming.run(right.problem(), got.out.mutable_view());
    Observed both = whole;
    both.out = got.out;
    EXPECT_EQ(both.difference(whole), "");
  }
}

// A pass that fails leaves what was saved before.
TEST(ExecutionResume, WhatFailsSavesNothing) {
  const Passes passes(long_rows(3));
  class Never final : public Progress {
    bool advance(std::int64_t, std::int64_t) override { return false; }
  } never;
  AttentionState state;
  EXPECT_THROW(passes.run(0, 64, {.progress = &never, .save = &state}), Cancelled);
  EXPECT_TRUE(state.empty());
  state = passes.state_of(0, 64);
  EXPECT_THROW(passes.run(64, 128, {.progress = &never, .resume = &state, .save = &state}), Cancelled);
  EXPECT_EQ(passes.run(64, passes.end(), {.resume = &state}).difference(passes.whole()), "");
}

// Drafted tokens see all of the prefix, whose pass needs no tree.
TEST(ExecutionResume, ATreeGoesOnFromItsPrefix) {
  constexpr std::int64_t kPrefix = 128, kNodes = 6, kWidth = 24;
  std::mt19937 random(9);
  std::normal_distribution<float> normal;
  std::vector<float> q(kNodes * kWidth), kv((kPrefix + kNodes) * kWidth);
  for (auto* values : {&q, &kv}) {
    for (float& x : *values) x = normal(random);
  }
  const std::vector<std::int32_t> parents = {-1, 0, 0, 1, -1, 4};
  AttentionProblem tree;
  tree.q = dense_view(q.data(), {1, 1, kNodes, kWidth});
  tree.k = tree.v = dense_view(kv.data(), {1, 1, kPrefix + kNodes, kWidth});
  tree.tree_parents = parents;
  std::vector<float> whole(q.size()), resumed(q.size()), finished(q.size());
  const Shape4 shape = {1, 1, kNodes, kWidth};
  attention(tree, dense_view(whole.data(), shape));

  AttentionProblem prefix = tree;
  prefix.tree_parents = {};
  prefix.k.shape[2] = prefix.v.shape[2] = kPrefix;
  const SequenceSpan before{-1, 0, kPrefix}, after{-1, kPrefix, {}};
  prefix.sequences = {&before, 1};
  AttentionState state;
  attention(prefix, dense_view(resumed.data(), shape), {}, {.save = &state});
  tree.k.data = tree.v.data = kv.data() + kPrefix * kWidth;
  tree.k.shape[2] = tree.v.shape[2] = kNodes;
  tree.sequences = {&after, 1};
  attention(tree, dense_view(resumed.data(), shape), {}, {.resume = &state, .save = &state});
  EXPECT_EQ(resumed, whole);
  finish_state(tree, state, dense_view(finished.data(), shape));
  EXPECT_EQ(finished, whole);
}

// What a message must say.
void expect_refused(const std::function<void()>& call, const std::string& part) {
  try {
    call();
    ADD_FAILURE() << "not refused: " << part;
  } catch (const BadArgument& error) {
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

// A small problem, dense, of 2 heads.
struct Small {
  std::vector<float> q = std::vector<float>(2 * 3 * 8, 0.5f), kv = std::vector<float>(2 * 128 * 8, 0.25f), out = q,
                     seen = std::vector<float>(2 * 3 * 128);
  std::vector<std::int32_t> indexes = std::vector<std::int32_t>(2 * 3 * 4);
  SequenceSpan span{-1, 0, 125};
  AttentionProblem problem;

  explicit Small(std::int64_t begin = 0, std::int64_t keys = 64) {
    span.key_position = begin;
    problem.q = dense_view(q.data(), {1, 2, 3, 8});
    problem.k = problem.v = dense_view(kv.data(), {1, 2, keys, 8});
    problem.sequences = {&span, 1};
  }
  void run(const AttentionOptions& options, const Observations& see = {}) {
    attention(problem, dense_view(out.data(), {1, 2, 3, 8}), see, options);
  }
  AttentionState state(const Observations& see = {}) {
    AttentionState saved;
    run({.save = &saved}, see);
    return saved;
  }
};

TEST(ExecutionResume, RefusesWhatNeedsAllKeys) {
  Small small;
  AttentionState state;
  const std::int64_t row = 0;
  Observations mass, running, overview, rows;
  mass.key_mass = running.mass_sums = overview.overview = rows.row_weights = small.seen.data();
  running.mass_sums_keys = 64;
  overview.overview_rows = overview.overview_cols = 1;
  rows.rows = {&row, 1};
  expect_refused([&] { small.run({.save = &state}, mass); }, "not supported: key mass");
  expect_refused([&] { small.run({.save = &state}, running); }, "not supported: key mass");
  expect_refused([&] { small.run({.save = &state}, overview); }, "not supported: an overview");
  expect_refused([&] { small.run({.save = &state}, rows); }, "not supported: chosen rows");
  EXPECT_TRUE(state.empty());
  expect_refused([&] { small.run({.resume = &state}); }, "nothing in the state");
  expect_refused([&] { finish_state(small.problem, state, {}); }, "nothing in the state");
}

TEST(ExecutionResume, RefusesAnotherPlaceToGoOnFrom) {
  const AttentionState at_64 = Small().state(), at_60 = Small(0, 60).state();
  Small(64).run({.resume = &at_64});
  expect_refused([&] { Small(128).run({.resume = &at_64}); }, "goes on at position 128");
  expect_refused([&] { Small(60, 10).run({.resume = &at_60}); }, "multiple of 64");
  Small(60, 0).run({.resume = &at_60});
}

TEST(ExecutionResume, RefusesAStateOfOtherQueriesOrObservations) {
  const auto refused = [](const std::function<void(Small&)>& change, const Observations& see, const char* part) {
    Small first, next(64);
    const AttentionState state = first.state();
    change(next);
    expect_refused([&] { next.run({.resume = &state}, see); }, part);
  };
  const auto other_queries = "other queries";
  refused([](Small& s) { s.span.query_position = 126; }, {}, other_queries);
  refused([](Small& s) { s.problem.k.shape[1] = s.problem.v.shape[1] = 1; }, {}, other_queries);
  refused([](Small& s) { s.problem.q.shape[3] = s.problem.k.shape[3] = 7; }, {}, other_queries);

  Small arrays;
  const std::int64_t offset = 0;
  const std::vector<std::int32_t> segment_of_key(64);
  Observations top, offsets, segments, value, entropy, position, distance, with_sink;
  top.top_k = 4;
  top.topk_index = arrays.indexes.data();
  offsets.offsets = {&offset, 1};
  segments.segments = 1;
  segments.segment_of_key = segment_of_key;
  offsets.offset_mass = segments.segment_mass = entropy.entropy = position.position = distance.distance =
      with_sink.entropy_with_sink = arrays.seen.data();
  value.measure = Measure::value_weight;
  for (const Observations* see : {&top, &offsets, &segments, &value}) refused([](Small&) {}, *see, "observations");
  refused([](Small&) {}, entropy, "entropy");
  refused([](Small&) {}, with_sink, "entropy");
  refused([](Small&) {}, position, "position");
  refused([](Small&) {}, distance, "distance");
  // What was observed need not be any longer.
  Small first, next(64);
  const AttentionState all = first.state(entropy);
  next.run({.resume = &all});
}

// What fast products gave is gone on from by such, and finished as such.
TEST(ExecutionResume, RefusesAStateOfAnotherPrecision) {
  if (!fast_available()) GTEST_SKIP() << "this machine has no instruction for Precision::fast";
  Small small, next(64);
  AttentionState fast;
  small.run({.save = &fast, .precision = Precision::fast});
  expect_refused([&] { next.run({.resume = &fast}); }, "another precision");
  next.run({.resume = &fast, .precision = Precision::fast});
  AttentionState exact = Small().state();
  expect_refused([&] { next.run({.resume = &exact, .precision = Precision::fast}); }, "another precision");
  expect_refused([&] { merge_states(exact, fast); }, "precision");
  finish_state(small.problem, fast, dense_view(small.out.data(), {1, 2, 3, 8}));
}

// Few rows lie as the vectors of a target want them.
TEST(ExecutionResume, RefusesAStateOfAnotherTarget) {
  const auto targets = cpu::available_targets();
  if (targets.size() < 2) GTEST_SKIP() << "there is one target only";
  cpu::force_target(targets[0]);
  const AttentionState state = Small().state();
  cpu::force_target(targets[1]);
  expect_refused([&] { Small(64).run({.resume = &state}); }, "the state is one of");
  cpu::force_target("");
}

}  // namespace
}  // namespace sightline::testing
