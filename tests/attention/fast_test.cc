// Precision::fast: near the fp64 reference, and a row's bits depend on its problem and the instruction alone. Each test
// runs with each instruction that this machine has, and with the plain emulation of AMX tiles.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <optional>
#include <string>

#include "sightline/backward.h"
#include "sightline/error.h"
#include "sightline/state.h"
#include "src/attention/fast.h"
#include "src/attention/reference.h"
#include "src/cpu/target.h"
#include "tests/attention/contiguous.h"
#include "tests/attention/drawn.h"
#include "tests/attention/emulated_tiles.h"
#include "tests/attention/observed.h"
#include "tests/attention/part.h"
#include "tests/attention/random_problem.h"
#include "tests/attention/skips.h"
#include "tests/attention/test_cases.h"

namespace sightline::testing {
namespace {

enum class Unit { avx512, amx, emulated };

class Fast : public ::testing::TestWithParam<Unit> {
 protected:
  void SetUp() override {
    const Unit unit = GetParam();
    if (unit == Unit::avx512 && !has_avx512_bf16()) GTEST_SKIP() << "this machine has no avx512_bf16";
    if (unit == Unit::amx && !has_amx_bf16()) GTEST_SKIP() << "this machine has no amx_bf16, or its kernel refuses it";
    force_products(unit == Unit::avx512 ? avx512_products() : unit == Unit::amx ? amx_products() : emulated_tiles());
  }
  void TearDown() override { force_products(nullptr); }
  // Of the number of cases; the emulation is slow.
  static double share(double of_all) { return GetParam() == Unit::emulated ? of_all / 4 : of_all; }
};
INSTANTIATE_TEST_SUITE_P(, Fast, ::testing::Values(Unit::avx512, Unit::amx, Unit::emulated), [](const auto& unit) {
  return unit.param == Unit::avx512 ? "avx512_bf16" : unit.param == Unit::amx ? "amx_bf16" : "emulated_amx";
});

Observed run(const AttentionProblem& problem, const ObservationRecipe& observations, Strided<float> out, int threads,
             Precision precision = Precision::fast) {
  Observed got(problem, observations, std::move(out));
  AttentionOptions options;
  options.threads = threads;
  options.precision = precision;
  attention(problem, got.out.mutable_view(), got.request(observations), options);
  return got;
}

Observed run(const Drawn& drawn, int threads, Precision precision = Precision::fast) {
  return run(drawn.random.problem(), drawn.observations, drawn.random.make_output(), threads, precision);
}

// Half a unit in the last place of a bf16, which has 8 bits, relative.
constexpr double kRounding = 1.0 / 256;

// How far a score may be off: queries and keys are rounded, and their products summed in fp32.
double score_bound(const RandomProblem& random, std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) {
  const ProblemRecipe& recipe = random.recipe();
  double size = 0;
  for (std::int64_t d = 0; d < recipe.width; ++d) {
    size += double{random.q().magnitude(b, h, i, d)} * random.k().magnitude(b, h / recipe.group, j, d);
  }
  const double scale = recipe.scale ? std::fabs(*recipe.scale) : 1 / std::sqrt(static_cast<double>(recipe.width));
  const double sums = static_cast<double>(recipe.width + 4) * std::ldexp(1.0, -24);
  return scale * size * ((1 + kRounding) * (1 + kRounding) - 1 + 2 * sums);
}

// What is left of fp32's own errors, relative to the largest score and value.
constexpr double kExact = 1e-5;

// One row of the output against fp64: a weight is off by its score's error twice over (its own, and the sum's) and by
// its rounding, a value by its rounding.
// NaN is where fp32 has it.
void check_row(const RandomProblem& random, const Observed& got, const Observed& exact,
               const reference::Result& expected, std::int64_t row) {
  const ProblemRecipe& recipe = random.recipe();
  const std::int64_t plane = row / recipe.queries, b = plane / recipe.query_heads(), h = plane % recipe.query_heads();
  const std::int64_t i = row % recipe.queries;
  double score_error = 0, largest = 0;
  for (std::int64_t j = 0; j < recipe.keys; ++j) {
    const double score = expected.scores[row * recipe.keys + j];
    if (std::isinf(score) && score < 0) continue;
    score_error = std::max(score_error, score_bound(random, b, h, i, j));
    largest = std::max(largest, std::fabs(score));
  }
  score_error += kExact * (1 + largest);
  const double lse = expected.lse[row];
  RC_ASSERT(std::isnan(exact.lse[row]) == std::isnan(got.lse[row]));
  if (std::isfinite(lse) && !std::isnan(got.lse[row]))
    RC_ASSERT(std::fabs(got.lse[row] - lse) <= score_error + kExact * std::fabs(lse));
  const double weight_error = std::exp(2 * score_error) * (1 + kRounding) * (1 + kRounding) - 1 + kExact;
  for (std::int64_t d = 0; d < recipe.value_width; ++d) {
    double size = 0;
    for (std::int64_t j = 0; j < recipe.keys; ++j) {
      const double weight = expected.weights[row * recipe.keys + j];
      if (weight != 0) size += weight * random.v().magnitude(b, h / recipe.group, j, d);
    }
    const double wanted = expected.out[row * recipe.value_width + d], out = got.out.at(b, h, i, d);
    RC_ASSERT(std::isnan(exact.out.at(b, h, i, d)) == std::isnan(out));
    if (!std::isfinite(wanted) || std::isnan(out)) continue;
    const AttentionProblem& p = random.problem();
    const double of_head = p.head_scale.empty() ? 1 : std::fabs(double{p.head_scale[static_cast<std::size_t>(h)]});
    const double factor = of_head * (p.keep ? std::fabs(double{p.keep_scale}) : 1);
    if (std::fabs(out - wanted) > factor * weight_error * size + 1e-30) {
      RC_FAIL("row " + std::to_string(row) + " column " + std::to_string(d) + ": " + std::to_string(out) + ", not " +
              std::to_string(wanted) + " within " + std::to_string(factor * weight_error * size));
    }
  }
}

TEST_P(Fast, NearTheReference) {
  check_recipes(share(0.25), [](const ProblemRecipe& any) {
    // Bounds are of keys by the batch of the queries, which packed queries of keys in pages have not.
    const ProblemRecipe recipe = any.has(Feature::pages) ? any.without(Feature::packed) : any;
    const Drawn drawn(recipe);
    const Observed got = run(drawn, 2), exact = run(drawn, 2, Precision::exact);
    const auto expected = reference::attention(drawn.random.problem());
    // Some 40 rows: the bounds cost more than the pass.
    const std::int64_t rows = recipe.batch * recipe.query_heads() * recipe.queries;
    for (std::int64_t row = 0; row < rows; row += 1 + rows / 40) {
      check_row(drawn.random, got, exact, expected, row);
    }
  });
}

TEST_P(Fast, OneThreadOrMoreAndAnyTarget) {
  check_recipes(share(0.15), [](const ProblemRecipe& recipe) {
    const Drawn drawn(recipe);
    const Observed one = run(drawn, 1);
    expect_same(run(drawn, 3).difference(one));
    for (const std::string& target : cpu::available_targets()) {
      cpu::force_target(target);
      expect_same(run(drawn, 2).difference(one));
    }
    cpu::force_target("");
  });
}

TEST_P(Fast, PagedOrContiguous) {
  check_recipes(share(0.15), [](const ProblemRecipe& any) {
    const ProblemRecipe recipe = any.without(Feature::packed).with(Feature::pages);
    const Drawn drawn(recipe);
    const Contiguous contiguous(drawn.random.problem());
    const Observed paged = run(drawn, 2);
    expect_same(run(contiguous.problem(), drawn.observations, drawn.random.make_output(), 2).difference(paged));
  });
}

// Rows [begin, end) of a head alone, with the keys that they can see.
void check_part(const Drawn& drawn, const Observed& whole, std::int64_t plane, std::int64_t begin, std::int64_t end) {
  const ProblemRecipe& recipe = drawn.random.recipe();
  const std::int64_t heads = recipe.query_heads(), batch = plane / heads;
  Part part(drawn.random.problem(), batch, plane % heads, begin, end);
  part.use_keys(part.reach());
  Strided<float> out(DType::f32, {1, 1, end - begin, recipe.value_width}, Layout::dense, 0);
  std::vector<float> lse(end - begin), entropy(end - begin), row_max(end - begin);
  Observations see;
  see.lse = lse.data();
  see.entropy = entropy.data();
  see.row_max = row_max.data();
  AttentionOptions options;
  options.threads = 1;
  options.precision = Precision::fast;
  attention(part.problem(), out.mutable_view(), see, options);
  for (std::int64_t i = begin; i < end; ++i) {
    const std::int64_t row = plane * recipe.queries + i;
    RC_ASSERT(same_bits(lse[i - begin], whole.lse[row]));
    RC_ASSERT(same_bits(entropy[i - begin], whole.entropy[row]));
    RC_ASSERT(same_bits(row_max[i - begin], whole.row_max[row]));
    for (std::int64_t d = 0; d < recipe.value_width; ++d) {
      if (!same_bits(out.at(0, 0, i - begin, d), whole.out.at(batch, plane % heads, i, d))) {
        RC_FAIL("out of row " + std::to_string(i) + ", rows " + std::to_string(begin) + " to " + std::to_string(end));
      }
    }
  }
}

// A prompt in chunks, and row by row as a generation, give what all rows at once give.
void check_in_steps(const ProblemRecipe& any, std::int64_t longest) {
  const ProblemRecipe recipe = any.without(Feature::packed).without(Feature::tree);
  const std::int64_t planes = recipe.batch * recipe.query_heads();
  if (planes * recipe.queries == 0) return;
  const Drawn drawn(recipe);
  const Observed whole = run(drawn, 2);
  std::mt19937_64 numbers(recipe.seed);
  const auto plane = static_cast<std::int64_t>(numbers() % static_cast<std::uint64_t>(planes));
  for (std::int64_t begin = 0, end = 0; begin < recipe.queries; begin = end) {
    end = std::min(recipe.queries, begin + 1 + static_cast<std::int64_t>(numbers() % longest));
    check_part(drawn, whole, plane, begin, end);
  }
}

TEST_P(Fast, AnyChunksOfAPromptOrAllAtOnce) {
  check_recipes(share(0.15), [](const ProblemRecipe& recipe) { check_in_steps(recipe, 40); });
}

TEST_P(Fast, RowByRowOrAllAtOnce) {
  check_recipes(share(0.15), [](const ProblemRecipe& recipe) { check_in_steps(recipe, 1); });
}

// Rows that span more than two chunks are split over threads.
TEST_P(Fast, LongRows) {
  for (const std::int64_t queries : {1, 5, 20}) {
    ProblemRecipe plain;
    plain.seed = 3;
    plain.group = 2;
    plain.queries = queries;
    plain.keys = 10000;
    plain.width = plain.value_width = 32;
    for (const ProblemRecipe& recipe : {plain, plain.with(Feature::pages), plain.with(Feature::half_inputs)}) {
      const Drawn drawn(recipe);
      const Observed one = run(drawn, 1);
      EXPECT_EQ(run(drawn, 4).difference(one), "");
      const auto expected = reference::attention(drawn.random.problem());
      for (std::int64_t row = 0; row < 2 * queries; ++row) EXPECT_NEAR(one.lse[row], expected.lse[row], 0.02);
    }
  }
}

// Whole numbers have exact scores in either precision, whatever the order of their products: all that is left is what
// is the same code.
TEST_P(Fast, ScoresOfWholeNumbersAreExact) {
  std::mt19937_64 numbers(7);
  for (const std::int64_t width : {1, 2, 31, 32, 33, 64, 80, 128}) {
    const std::int64_t queries = 1 + static_cast<std::int64_t>(numbers() % 70), keys = 150;
    const auto make = [&](std::int64_t rows) {
      Strided<float> tensor(DType::f32, {1, 2, rows, width}, Layout::dense, 0);
      tensor.fill([&](float& x) { x = static_cast<float>(static_cast<int>(numbers() % 17) - 8); });
      return tensor;
    };
    const Strided<float> q = make(queries), k = make(keys), v = make(keys);
    AttentionProblem problem;
    problem.q = q.view();
    problem.k = k.view();
    problem.v = v.view();
    problem.scale = 1.0f / 64;
    ObservationRecipe observations = ObservationRecipe::any(problem, numbers);
    observations.measure = Measure::weight;
    Strided<float> out(DType::f32, {1, 2, queries, width}, Layout::dense, 0);
    Observed fast = run(problem, observations, out, 1);
    const Observed exact = run(problem, observations, out, 1, Precision::exact);
    // The mix is off by the rounding of the weights, which a sum of sizes bounds.
    Strided<float> sizes = v;
    sizes.fill([](float& x) { x = std::fabs(x); });
    problem.v = sizes.view();
    const Observed bound = run(problem, observations, out, 1, Precision::exact);
    for (std::int64_t i = 0; i < 2 * queries * width; ++i) {
      const std::int64_t h = i / width / queries, row = i / width % queries, d = i % width;
      const float difference = std::fabs(fast.out.at(0, h, row, d) - exact.out.at(0, h, row, d));
      EXPECT_LE(difference, (kRounding + 1e-5) * bound.out.at(0, h, row, d)) << "width " << width << " row " << row;
    }
    fast.out = exact.out;
    EXPECT_EQ(fast.difference(exact), "") << "width " << width;
  }
}

// Rows of bf16 are read where they lie: what is beside them, here NaN, must not be taken for a part of them.
TEST_P(Fast, WhatLiesBesideARow) {
  for (const std::int64_t width : {2, 30, 40, 70}) {
    for (const std::int64_t queries : {1, 3, 20}) {
      const std::int64_t keys = 90, stride = width + 34;
      std::vector<std::uint16_t> q(queries * stride, 0x7fc0), kv(keys * stride, 0x7fc0);
      const auto fill = [&](std::vector<std::uint16_t>& rows) {
        for (std::size_t i = 0; i < rows.size(); ++i) {
          if (static_cast<std::int64_t>(i) % stride < width) rows[i] = i % 2 == 0 ? 0x3f80 : 0xbf00;  // 1, -0.5
        }
        return TensorView{rows.data(),
                          DType::bf16,
                          {1, 1, static_cast<std::int64_t>(rows.size()) / stride, width},
                          {0, 0, stride, 1}};
      };
      AttentionProblem problem;
      problem.q = fill(q);
      problem.k = problem.v = fill(kv);
      std::vector<float> out(queries * width);
      AttentionOptions options;
      options.precision = Precision::fast;
      attention(problem, dense_view(out.data(), {1, 1, queries, width}), {}, options);
      const auto expected = reference::attention(problem);
      for (std::size_t i = 0; i < out.size(); ++i) EXPECT_NEAR(out[i], expected.out[i], kRounding);
    }
  }
}

TEST_P(Fast, NamesItsInstruction) {
  const char* const names[] = {"avx512_bf16", "amx_bf16", "emulated tiles"};
  EXPECT_TRUE(fast_available());
  EXPECT_EQ(fast_instruction(), names[static_cast<int>(GetParam())]);
}

// A pass can go on from another, of the same precision, to the bits of the whole.
TEST_P(Fast, Resumed) {
  for (const std::int64_t queries : {3, 50}) {
    ProblemRecipe recipe;
    recipe.seed = 11;
    recipe.queries = queries;
    recipe.keys = 4300;
    recipe.width = recipe.value_width = 48;
    const Drawn drawn(recipe);
    AttentionProblem problem = drawn.random.problem();
    AttentionOptions options;
    options.precision = Precision::fast;
    Strided<float> whole = drawn.random.make_output(), resumed = drawn.random.make_output();
    attention(problem, whole.mutable_view(), {}, options);
    const SequenceSpan first{4160, 0, 4300}, rest{140, 4160, 4300};
    AttentionState state;
    problem.sequences = {&first, 1};
    options.save = &state;
    attention(problem, resumed.mutable_view(), {}, options);
    problem.sequences = {&rest, 1};
    const auto skip = [&](TensorView& view) {
      view.data = static_cast<const float*>(view.data) + 4160 * view.strides[2];
      view.shape[2] = 140;
    };
    skip(problem.k);
    skip(problem.v);
    options.save = nullptr;
    options.resume = &state;
    attention(problem, resumed.mutable_view(), {}, options);
    for (std::int64_t i = 0; i < queries; ++i) {
      for (std::int64_t d = 0; d < 48; ++d) EXPECT_TRUE(same_bits(resumed.at(0, 0, i, d), whole.at(0, 0, i, d)));
    }
  }
}

TEST_P(Fast, InAPlanAndInAWorkspaceOfTheSizeSaid) {
  ProblemRecipe recipe;
  recipe.seed = 5;
  recipe.queries = 70;
  recipe.keys = 100;
  recipe.width = 24;
  recipe.value_width = 40;
  const Drawn drawn(recipe);
  const AttentionProblem& problem = drawn.random.problem();
  Strided<float> plain = drawn.random.make_output(), planned = plain;
  AttentionOptions options;
  options.threads = 2;
  options.precision = Precision::fast;
  Workspace workspace;
  workspace.reserve(workspace_size(problem, plain.mutable_view(), {}, options));
  const std::size_t capacity = workspace.capacity();
  options.workspace = &workspace;
  attention(problem, plain.mutable_view(), {}, options);
  EXPECT_EQ(workspace.capacity(), capacity);
  options.workspace = nullptr;
  AttentionPlan(problem, {}, options).run(problem, planned.mutable_view());
  for (std::int64_t i = 0; i < 70 * 40; ++i) {
    EXPECT_TRUE(same_bits(planned.at(0, 0, i / 40, i % 40), plain.at(0, 0, i / 40, i % 40)));
  }
}

TEST_P(Fast, NotOfABackwardPass) {
  const Drawn drawn(ProblemRecipe{});
  Strided<float> out = drawn.random.make_output();
  float row_max = 0, row_sum = 1;
  AttentionOptions options;
  options.precision = Precision::fast;
  const ForwardResult forward{out.view(), &row_max, &row_sum};
  try {
    attention_backward(drawn.random.problem(), forward, out.view(), {}, options);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const BadArgument& error) {
    EXPECT_NE(std::string(error.what()).find("Precision::fast"), std::string::npos) << error.what();
  }
}

// The instructions do what the manual says, and what the emulation does.
TEST(FastUnits, TilesOfTheMachineAsEmulated) {
  if (!has_amx_bf16()) GTEST_SKIP() << "this machine has no amx_bf16, or its kernel refuses it";
  check_recipes(0.1, [](const ProblemRecipe& recipe) {
    const Drawn drawn(recipe);
    force_products(emulated_tiles());
    const Observed emulated = run(drawn, 2);
    force_products(amx_products());
    expect_same(run(drawn, 2).difference(emulated));
    force_products(nullptr);
  });
}

TEST(FastUnits, AMachineWithoutAnInstruction) {
  static constexpr FastProducts kNone;
  force_products(&kNone);
  EXPECT_FALSE(fast_available());
  EXPECT_EQ(fast_instruction(), "");
  const Drawn drawn(ProblemRecipe{});
  try {
    run(drawn, 1);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const BadArgument& error) {
    EXPECT_NE(std::string(error.what()).find("Precision::fast"), std::string::npos) << error.what();
  }
  force_products(nullptr);
}

}  // namespace
}  // namespace sightline::testing
