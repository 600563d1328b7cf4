// The result of a row depends on that row's problem alone, to the bit: not on threads, on what it is computed together
// with, on what else is observed, or on the caller's floating-point state.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "src/attention/reference_operands.h"
#include "src/cpu/target.h"
#include "src/tensor/half.h"
#include "tests/attention/contiguous.h"
#include "tests/attention/drawn.h"
#include "tests/attention/formats.h"
#include "tests/attention/observed.h"
#include "tests/attention/part.h"
#include "tests/attention/random_problem.h"
#include "tests/attention/skips.h"
#include "tests/attention/test_cases.h"

namespace sightline::testing {
namespace {

TEST(AttentionBitwise, OneThreadOrMore) {
  check_recipes(0.25, [](const ProblemRecipe& recipe) {
    const Drawn drawn(recipe);
    const Observed one = drawn.run({1});
    expect_same(drawn.run({2}).difference(one));
    expect_same(drawn.run({3}).difference(one));
  });
}

TEST(AttentionBitwise, PagedOrContiguous) {
  check_recipes(0.25, [](const ProblemRecipe& any) {
    const ProblemRecipe recipe = any.without(Feature::packed).with(Feature::pages);
    const Drawn drawn(recipe);
    const Contiguous contiguous(drawn.random.problem());
    const Observed paged = drawn.run({2});
    const Observed dense(contiguous.problem(), drawn.observations, drawn.random.make_output(), 2);
    expect_same(paged.difference(dense));
    const auto in_pages = paged.map(drawn.random.problem(), Stage::weights);
    const auto in_tensors = dense.map(contiguous.problem(), Stage::weights);
    for (std::size_t i = 0; i < in_pages.size(); ++i) RC_ASSERT(same_bits(in_pages[i], in_tensors[i]));
  });
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
  if (!observations.sinks) return;
  same("sink_weight", part.sink_weight, whole.sink_weight, 1);
  same("entropy_with_sink", part.entropy_with_sink, whole.entropy_with_sink, 1);
}

// What the keys of a part belong to, as many as the part has.
std::vector<std::int32_t> segments_of(const Drawn& drawn, const Part& part, std::int64_t batch) {
  const std::span<const std::int32_t> all = drawn.observations.segment_of_key;
  const std::int64_t keys = drawn.random.recipe().keys;
  const bool shared = static_cast<std::int64_t>(all.size()) == keys;
  const auto own = all.subspan(static_cast<std::size_t>((shared ? 0 : batch * keys) + part.first_key()),
                               static_cast<std::size_t>(part.problem().k.shape[2]));
  return {own.begin(), own.end()};
}

// The whole's observations as far as a part can make them.
ObservationRecipe observations_of(const Drawn& drawn, const Part& part, std::int64_t batch) {
  ObservationRecipe observations = drawn.observations;
  observations.segment_of_key = segments_of(drawn, part, batch);
  observations.overview_rows = observations.overview_cols = 1;
  observations.overview_step = 0;
  observations.rows.clear();
  return observations;
}

Strided<float> output_of(const Part& part) {
  return {DType::f32, {1, 1, part.problem().q.shape[2], part.problem().v.shape[3]}, Layout::dense, 0};
}

// The rows of row's sequence in its tensor.
std::pair<std::int64_t, std::int64_t> rows_beside(const AttentionProblem& problem, std::int64_t row) {
  const std::int64_t i = row % problem.q.shape[2];
  const auto query = reference::locate(problem, 0, 0, i);
  return {i - query.row, i - query.row + query.rows};
}

// Some rows of one head alone, with the keys that they see and no others, as a chunk of a prompt or one step of
// decoding would have them; a packed sequence by itself; a tree whole.
TEST(AttentionBitwise, RowsAloneOrInABatch) {
  check_recipes(0.25, [](const ProblemRecipe& recipe) {
    const bool tree = recipe.has(Feature::tree);
    const std::int64_t rows = recipe.batch * recipe.query_heads() * recipe.queries;
    if (rows == 0) return;
    const Drawn drawn(recipe);
    const AttentionProblem& problem = drawn.random.problem();
    const Observed whole = drawn.run({2});
    std::mt19937_64 numbers(recipe.seed);
    for (int n = 0; n < 6; ++n) {
      const auto row = static_cast<std::int64_t>(numbers() % rows), plane = row / recipe.queries;
      const std::int64_t batch = plane / recipe.query_heads(), begin = tree ? 0 : row % recipe.queries;
      const std::int64_t last = rows_beside(problem, row).second;
      const std::int64_t end = tree         ? recipe.queries
                               : n % 2 == 0 ? begin + 1
                                            : begin + 1 + static_cast<std::int64_t>(numbers() % (last - begin));
      Part part(problem, batch, plane % recipe.query_heads(), begin, end);
      if (n >= 2 && !tree) part.cut_keys(part.reach());
      const Observed got(part.problem(), observations_of(drawn, part, batch), output_of(part), 1);
      for (std::int64_t i = 0; i < end - begin; ++i)
        compare_row(got, i, whole, recipe, plane * recipe.queries + begin + i, drawn.observations);
    }
  });
}

// A head's rows in several calls, each with the keys up to its last row, as a prompt comes in chunks and a generation
// row by row. Mass runs on from call to call.
void check_in_steps(const Drawn& drawn, const Observed& whole, std::int64_t plane, std::int64_t longest,
                    std::mt19937_64& numbers) {
  const ProblemRecipe& recipe = drawn.random.recipe();
  const std::int64_t batch = plane / recipe.query_heads();
  std::vector<float> sums, mass;
  for (std::int64_t begin = 0, end = 0; begin < recipe.queries; begin = end) {
    const std::int64_t last = rows_beside(drawn.random.problem(), begin).second;
    end = std::min(last, begin + 1 + static_cast<std::int64_t>(numbers() % longest));
    Part part(drawn.random.problem(), batch, plane % recipe.query_heads(), begin, end);
    part.use_keys(part.reach());
    const ObservationRecipe observations = observations_of(drawn, part, batch);
    Observed got(part.problem(), observations, output_of(part));
    if (!sums.empty()) got.mass_sums = sums;
    attention(part.problem(), got.out.mutable_view(), got.request(observations), {1});
    for (std::int64_t i = begin; i < end; ++i)
      compare_row(got, i - begin, whole, recipe, plane * recipe.queries + i, drawn.observations);
    sums = got.mass_sums;
    mass = got.key_mass;
  }
  if (!drawn.observations.running) return;
  for (std::int64_t j = 0; j < recipe.keys; ++j) {
    if (!same_bits(mass[j], whole.key_mass[plane * recipe.keys + j]))
      RC_FAIL("running mass of key " + std::to_string(j));
  }
}

// Without running mass for most cases: a library that refuses it is to show the rest.
void check_steps(const ProblemRecipe& any, std::int64_t longest, bool running) {
  const ProblemRecipe recipe = any.without(Feature::tree);
  if (recipe.batch * recipe.queries == 0) return;
  Drawn drawn(recipe);
  drawn.observations.running = running && !recipe.has(Feature::packed);
  drawn.observations.mass_decay = drawn.observations.running ? 1.0f - static_cast<float>(recipe.seed % 3) / 8 : 1;
  drawn.observations.mass_row_begin = 0;
  drawn.observations.mass_row_end = INT64_MAX;
  const Observed whole = drawn.run({2});
  std::mt19937_64 numbers(recipe.seed);
  const auto planes = static_cast<std::uint64_t>(recipe.batch * recipe.query_heads());
  check_in_steps(drawn, whole, static_cast<std::int64_t>(numbers() % planes), longest, numbers);
}

TEST(AttentionBitwise, AnyChunksOfAPromptOrAllAtOnce) {
  check_recipes(0.15, [](const ProblemRecipe& recipe) { check_steps(recipe, 40, false); });
}

TEST(AttentionBitwise, RowByRowOrAllAtOnce) {
  check_recipes(0.15, [](const ProblemRecipe& recipe) { check_steps(recipe, 1, false); });
}

TEST(AttentionBitwise, MassRunsOnFromCallToCall) {
  check_recipes(0.15, [](const ProblemRecipe& recipe) { check_steps(recipe, recipe.seed % 2 == 0 ? 1 : 40, true); });
}

// One pass, a few numbers: what is not asked for changes nothing.
TEST(AttentionBitwise, WithOrWithoutObservations) {
  check_recipes(0.1, [](const ProblemRecipe& recipe) {
    const Drawn drawn(recipe);
    const AttentionProblem& problem = drawn.random.problem();
    const Observed all = drawn.run({2});
    Strided<float> plain = drawn.random.make_output();
    attention(problem, plain.mutable_view(), {}, {1});
    Observed without = all;
    without.out = plain;
    expect_same(without.difference(all));

    Observed some = all;
    Observations see;
    see.entropy = some.entropy.data();
    see.measure = drawn.observations.measure;
    see.top_k = drawn.observations.top_k;
    see.topk_index = some.topk_index.data();
    attention(problem, {}, see, {1});
    see.entropy = nullptr;
    see.topk_index = nullptr;
    see.key_mass = some.key_mass.data();
    see.mass_row_begin = drawn.observations.mass_row_begin;
    see.mass_row_end = drawn.observations.mass_row_end;
    see.mass_decay = drawn.observations.mass_decay;
    std::fill(some.mass_sums.begin(), some.mass_sums.end(), 0.0f);
    if (drawn.observations.running) see.mass_sums = some.mass_sums.data();
    see.mass_sums_keys = recipe.keys;
    attention(problem, {}, see, {2});
    expect_same(some.difference(all));
  });
}

// Each output is rounded once, from fp32.
TEST(AttentionBitwise, OutputsInHalfPrecision) {
  check_recipes(0.1, [](const ProblemRecipe& recipe) {
    const RandomProblem random(recipe);
    Strided<float> wide = random.make_output();
    attention(random.problem(), wide.mutable_view(), {}, {2});
    for (const DType dtype : {DType::f16, DType::bf16}) {
      Strided<std::uint16_t> half(dtype, wide.shape(), recipe.out, 0x7FFF);
      attention(random.problem(), half.mutable_view(), {}, {1});
      const auto [batch, heads, queries, width] = wide.shape();
      for (std::int64_t i = 0; i < batch * heads * queries * width; ++i) {
        const std::int64_t b = i / width / queries / heads, h = i / width / queries % heads;
        const float exact = wide.at(b, h, i / width % queries, i % width);
        const std::uint16_t got = half.at(b, h, i / width % queries, i % width);
        const float back = dtype == DType::f16 ? f16_to_f32(got) : bf16_to_f32(got);
        if (std::isnan(exact) && std::isnan(back)) continue;
        RC_ASSERT(got == (dtype == DType::f16 ? to_f16(exact) : to_bf16(exact)));
      }
      RC_ASSERT(half.gaps_untouched());
    }
  });
}

TEST(AttentionBitwise, ATileIsAPartOfTheMap) {
  check_recipes(0.1, [](const ProblemRecipe& recipe) {
    const Drawn drawn(recipe);
    const AttentionProblem& problem = drawn.random.problem();
    const Observed pass = drawn.run({1});
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
  });
}

ProblemRecipe long_rows(std::int64_t queries) {
  ProblemRecipe recipe;
  recipe.seed = 3;
  recipe.group = 2;
  recipe.queries = queries;
  recipe.keys = 10000;
  recipe.width = 24;
  recipe.value_width = 17;
  return recipe;
}

// More than two chunks of 4096 keys, for a single row as in decoding, and for a few; in each format and in pages.
TEST(AttentionBitwise, LongRowsOnAnyThreadsAndTarget) {
  Skips skips;
  for (const std::int64_t queries : {1, 5}) {
    const ProblemRecipe plain = long_rows(queries);
    for (const ProblemRecipe& recipe :
         {plain, plain.with(Feature::pages), plain.with(Feature::half_inputs), plain.with(Feature::quantised_keys),
          plain.with(Feature::window), plain.with(Feature::alibi).with(Feature::sinks)}) {
      skips.run(recipe, [&] {
        const Drawn drawn(recipe);
        const Observed first = drawn.run({1});
        for (const std::string& target : cpu::available_targets()) {
          cpu::force_target(target);
          for (const int threads : {1, 2, 4})
            EXPECT_EQ(drawn.run({threads}).difference(first), "") << target << " " << threads;
        }
        cpu::force_target("");
      });
    }
  }
}

}  // namespace
}  // namespace sightline::testing
