// The result of a row depends on that row's problem alone, to the bit: not on threads, on what it is computed together
// with, on what else is observed, or on the caller's floating-point state.
#include <gtest/gtest.h>

#include <cmath>

#include "src/cpu/target.h"
#include "tests/attention/observed.h"
#include "tests/attention/part.h"
#include "tests/attention/random_problem.h"
#include "tests/attention/test_cases.h"

namespace sightline::testing {
namespace {

struct Drawn {
  RandomProblem random;
  ObservationRecipe observations;

  explicit Drawn(const ProblemRecipe& recipe) : random(recipe) {
    std::mt19937_64 numbers(recipe.seed + 1);
    observations = ObservationRecipe::any(random.problem(), numbers);
  }
  Observed run(int threads) const { return {random.problem(), observations, random.make_output(), threads}; }
};

void expect_same(const std::string& difference) {
  if (!difference.empty()) RC_FAIL(difference);
}

TEST(AttentionBitwise, OneThreadOrMore) {
  check_property(
      [] {
        const Drawn drawn(*any_recipe());
        const Observed one = drawn.run(1);
        expect_same(drawn.run(2).difference(one));
        expect_same(drawn.run(3).difference(one));
      },
      0.25);
}

// What a row reports of itself.
void compare_row(const Observed& part, std::int64_t part_row, const Observed& whole, const ProblemRecipe& recipe,
                 std::int64_t row, const ObservationRecipe& observations) {
  const std::int64_t plane = row / recipe.queries, heads = recipe.query_heads();
  for (std::int64_t d = 0; d < recipe.value_width; ++d) {
    if (!same_bits(part.out.at(0, 0, part_row, d),
                   whole.out.at(plane / heads, plane % heads, row % recipe.queries, d))) {
      RC_FAIL("out of row " + std::to_string(row));
    }
  }
  const auto same = [&](const char* name, const std::vector<float>& a, const std::vector<float>& b, std::size_t width) {
    for (std::size_t i = 0; i < width; ++i) {
      if (!same_bits(a[part_row * width + i], b[row * width + i])) RC_FAIL(name + (" of row " + std::to_string(row)));
    }
  };
  same("row_max", part.row_max, whole.row_max, 1);
  same("row_sum", part.row_sum, whole.row_sum, 1);
  same("lse", part.lse, whole.lse, 1);
  same("entropy", part.entropy, whole.entropy, 1);
  same("position", part.position, whole.position, 1);
  same("distance", part.distance, whole.distance, 1);
  same("topk_weight", part.topk_weight, whole.topk_weight, observations.top_k);
  same("offset_mass", part.offset_mass, whole.offset_mass, observations.offsets.size());
  same("segment_mass", part.segment_mass, whole.segment_mass, observations.segments);
}

// segments: of the sequence's keys, as many as the part has or more.
Observed run_part(const Part& part, const ObservationRecipe& of_whole, std::span<const std::int32_t> segments) {
  ObservationRecipe observations = of_whole;
  const auto& q = part.problem().q.shape;
  observations.segment_of_key.assign(segments.begin(), segments.begin() + part.problem().k.shape[2]);
  observations.overview_rows = observations.overview_cols = 1;
  observations.rows.clear();
  Strided<float> out(DType::f32, {1, 1, q[2], part.problem().v.shape[3]}, Layout::dense, 0);
  return {part.problem(), observations, out, 1};
}

std::span<const std::int32_t> segments_of(const Drawn& drawn, const ProblemRecipe& recipe, std::int64_t batch) {
  const std::span<const std::int32_t> all = drawn.observations.segment_of_key;
  const auto keys = static_cast<std::size_t>(recipe.keys);
  return all.size() == keys ? all : all.subspan(static_cast<std::size_t>(batch) * keys, keys);
}

// Some rows of one head alone, with the keys that they see and no others, as a chunk of a prompt or one step of
// decoding would have them.
TEST(AttentionBitwise, RowsAloneOrInABatch) {
  check_property(
      [] {
        const ProblemRecipe recipe = *any_recipe();
        const std::int64_t rows = recipe.batch * recipe.query_heads() * recipe.queries;
        if (rows == 0) return;
        const Drawn drawn(recipe);
        const Observed whole = drawn.run(2);
        std::mt19937_64 numbers(recipe.seed);
        for (int n = 0; n < 6; ++n) {
          const auto row = static_cast<std::int64_t>(numbers() % rows), plane = row / recipe.queries;
          const std::int64_t begin = row % recipe.queries;
          const std::int64_t end =
              n % 2 == 0 ? begin + 1 : begin + 1 + static_cast<std::int64_t>(numbers() % (recipe.queries - begin));
          Part part(drawn.random.problem(), plane / recipe.query_heads(), plane % recipe.query_heads(), begin, end);
          if (n >= 2) part.cut_keys(part.reach());
          const Observed got =
              run_part(part, drawn.observations, segments_of(drawn, recipe, plane / recipe.query_heads()));
          for (std::int64_t i = 0; i < end - begin; ++i)
            compare_row(got, i, whole, recipe, row + i, drawn.observations);
        }
      },
      0.25);
}

// One pass, a few numbers: what is not asked for changes nothing.
TEST(AttentionBitwise, WithOrWithoutObservations) {
  check_property(
      [] {
        const Drawn drawn(*any_recipe());
        const Observed all = drawn.run(2);
        Strided<float> plain = drawn.random.make_output();
        attention(drawn.random.problem(), plain.mutable_view(), {}, {1});
        Observed without = all;
        without.out = plain;
        expect_same(without.difference(all));

        Observed some = all;
        Observations see;
        see.entropy = some.entropy.data();
        see.top_k = drawn.observations.top_k;
        see.topk_index = some.topk_index.data();
        attention(drawn.random.problem(), {}, see, {1});
        see = {};
        see.key_mass = some.key_mass.data();
        see.mass_row_begin = drawn.observations.mass_row_begin;
        see.mass_row_end = drawn.observations.mass_row_end;
        attention(drawn.random.problem(), {}, see, {2});
        expect_same(some.difference(all));
      },
      0.1);
}

TEST(AttentionBitwise, ATileIsAPartOfTheMap) {
  check_property(
      [] {
        const ProblemRecipe recipe = *any_recipe();
        const Drawn drawn(recipe);
        const AttentionProblem& problem = drawn.random.problem();
        const Observed pass = drawn.run(1);
        const std::int64_t planes = recipe.batch * recipe.query_heads(), size = recipe.queries * recipe.keys;
        if (planes * size == 0) return;
        std::mt19937_64 numbers(recipe.seed);
        const auto below = [&](std::int64_t n) { return static_cast<std::int64_t>(numbers() % (n + 1)); };
        for (const Stage stage : {Stage::raw, Stage::capped, Stage::biased, Stage::weights}) {
          const auto map = pass.map(problem, stage);
          const std::int64_t plane = below(planes - 1);
          const std::int64_t row_begin = below(recipe.queries), key_begin = below(recipe.keys);
          const std::int64_t row_end = row_begin + below(recipe.queries - row_begin),
                             key_end = key_begin + below(recipe.keys - key_begin);
          std::vector<float> part((row_end - row_begin) * (key_end - key_begin) + 1, -1.0f);
          const TileRange range{
              plane / recipe.query_heads(), plane % recipe.query_heads(), row_begin, row_end, key_begin, key_end};
          tile(problem, {pass.row_max.data(), pass.row_sum.data()}, range, stage, part.data());
          for (std::size_t i = 0; i + 1 < part.size(); ++i) {
            const std::int64_t row = row_begin + static_cast<std::int64_t>(i) / (key_end - key_begin);
            const std::int64_t key = key_begin + static_cast<std::int64_t>(i) % (key_end - key_begin);
            RC_ASSERT(same_bits(part[i], map[plane * size + row * recipe.keys + key]));
          }
          RC_ASSERT(part.back() == -1.0f);  // nothing beyond the block was written
        }
      },
      0.1);
}

// More than two chunks of 4096 keys, for a single row as in decoding, and for a few.
TEST(AttentionBitwise, LongRowsOnAnyThreadsAndTarget) {
  for (const std::int64_t queries : {1, 5}) {
    ProblemRecipe recipe;
    recipe.seed = 3;
    recipe.group = 2;
    recipe.queries = queries;
    recipe.keys = 10000;
    recipe.width = 24;
    recipe.value_width = 17;
    const Drawn drawn(recipe);
    const Observed first = drawn.run(1);
    for (const std::string& target : cpu::available_targets()) {
      cpu::force_target(target);
      for (const int threads : {1, 2, 4})
        EXPECT_EQ(drawn.run(threads).difference(first), "") << target << " " << threads;
    }
    cpu::force_target("");
  }
}

}  // namespace
}  // namespace sightline::testing
