#include "tests/attention/features.h"

#include <algorithm>
#include <cmath>

namespace sightline::testing {
namespace {

std::vector<float> normal_numbers(std::int64_t count, float deviation, std::mt19937_64& random) {
  std::normal_distribution<float> normal(0, deviation);
  std::vector<float> numbers(count);
  for (float& x : numbers) x = normal(random);
  return numbers;
}

template <class T>
T any_element(std::mt19937_64& random, std::initializer_list<T> choices) {
  return choices.begin()[between(random, 0, static_cast<std::int64_t>(choices.size()) - 1)];
}

void set_window(const ProblemRecipe& recipe, AttentionProblem& problem) {
  std::mt19937_64 random = recipe.numbers(Feature::window);
  const auto side = [&] { return any_element<std::int64_t>(random, {-1, 0, 1, 7, 63, 64, 100}); };
  problem.window_left = side();
  problem.window_right = side();
  if (problem.window_left < 0 && problem.window_right < 0) problem.window_left = 5;
}

// Some indexes below `count`, in no order; or none, which means all.
std::vector<std::int64_t> any_list(std::int64_t count, std::mt19937_64& random) {
  std::vector<std::int64_t> list;
  if (count == 0 || chance(random, 0.3)) return list;
  for (std::int64_t n = between(random, 1, std::max<std::int64_t>(1, count / 3)); n > 0; --n)
    list.push_back(between(random, 0, count - 1));
  return list;
}

}  // namespace

void Features::apply(const ProblemRecipe& recipe, AttentionProblem& problem) {
  if (recipe.has(Feature::window)) set_window(recipe, problem);
  add_score_terms(recipe, problem);
  if (recipe.has(Feature::relative_bias)) add_relative_bias(recipe, problem);
  if (recipe.has(Feature::cuts)) add_cuts(recipe, problem);
  if (recipe.has(Feature::block_mask)) add_block_mask(recipe, problem);
  if (recipe.has(Feature::tree)) add_tree(recipe, problem);
  if (recipe.has(Feature::dropout)) add_dropout(recipe, problem);
  if (recipe.has(Feature::score_function)) score_function_ = any_score_function(recipe);
  if (recipe.has(Feature::mask_function)) mask_function_ = any_mask_function(recipe);
  problem.score_function = score_function_.get();
  problem.mask_function = mask_function_.get();
}

void Features::add_score_terms(const ProblemRecipe& recipe, AttentionProblem& problem) {
  const std::int64_t heads = recipe.query_heads();
  const auto by_head = [&](Feature feature, float deviation) {
    std::mt19937_64 random = recipe.numbers(feature);
    return recipe.has(feature) ? normal_numbers(heads, deviation, random) : std::vector<float>();
  };
  std::mt19937_64 random = recipe.numbers(Feature::softcap);
  if (recipe.has(Feature::softcap)) problem.softcap = any_element(random, {0.5f, 2.0f, 20.0f, 50.0f});
  problem.alibi_slopes = slopes_ = by_head(Feature::alibi, 0.3f);
  sinks_ = by_head(Feature::sinks, 3);
  if (!sinks_.empty() && chance(random, 0.3)) sinks_[0] = any_element(random, {30.0f, -30.0f});
  problem.sinks = sinks_;
  head_scale_ = by_head(Feature::head_scale, 1);
  if (!head_scale_.empty()) head_scale_[0] = any_element(random, {0.0f, 1.0f, -2.0f});
  problem.head_scale = head_scale_;
}

void Features::add_relative_bias(const ProblemRecipe& recipe, AttentionProblem& problem) {
  std::mt19937_64 random = recipe.numbers(Feature::relative_bias);
  RelativeBias& bias = problem.relative_bias;
  bias.bidirectional = chance(random, 0.5);
  bias.buckets = bias.bidirectional ? any_element<std::int64_t>(random, {4, 6, 32}) : between(random, 2, 40);
  bias.max_distance = bias.buckets / 2 + any_element<std::int64_t>(random, {1, 10, 112, 3000});
  bias.table = table_ = normal_numbers(bias.buckets * recipe.query_heads(), 2, random);
}

void Features::add_cuts(const ProblemRecipe& recipe, AttentionProblem& problem) {
  std::mt19937_64 random = recipe.numbers(Feature::cuts);
  for (std::int64_t n = between(random, 1, 4); n > 0; --n) {
    const auto list = [&](std::int64_t count) -> std::span<const std::int64_t> {
      return lists_.emplace_back(any_list(count, random));
    };
    EdgeCut cut;
    cut.batch = recipe.batch > 0 && chance(random, 0.4) ? between(random, 0, recipe.batch - 1) : -1;
    cut.heads = list(recipe.query_heads());
    cut.rows = list(recipe.queries);
    cut.keys = list(recipe.keys);
    cuts_.push_back(cut);
  }
  problem.cuts = cuts_;
}

void Features::add_block_mask(const ProblemRecipe& recipe, AttentionProblem& problem) {
  std::mt19937_64 random = recipe.numbers(Feature::block_mask);
  const auto blocks = [](std::int64_t count) { return (count + BlockMask::kBlock - 1) / BlockMask::kBlock; };
  BlockMask& mask = problem.block_mask;
  mask.batch = chance(random, 0.5) ? 1 : recipe.batch;
  mask.heads = chance(random, 0.5) ? 1 : recipe.query_heads();
  block_rows_ = {0};
  for (std::int64_t row = 0; row < mask.batch * mask.heads * blocks(recipe.queries); ++row) {
    if (!chance(random, 0.1)) add_block_row(blocks(recipe.keys), random);  // else the whole block row is empty
    block_rows_.push_back(static_cast<std::int64_t>(blocks_.size()));
  }
  mask.row_begin = block_rows_;
  mask.entries = blocks_;
  mask.bits = bits_;
}

void Features::add_block_row(std::int64_t columns, std::mt19937_64& random) {
  for (std::int64_t column = 0; column < columns; ++column) {
    const bool whole = chance(random, 0.4);
    if (!whole && chance(random, 0.4)) continue;
    BlockMask::Entry entry{static_cast<std::int32_t>(column), -1};
    if (!whole) {
      entry.bits = static_cast<std::int32_t>(bits_.size()) / BlockMask::kBlock;
      for (int row = 0; row < BlockMask::kBlock; ++row) bits_.push_back(chance(random, 0.1) ? 0 : random() & random());
    }
    blocks_.push_back(entry);
  }
}

void Features::add_tree(const ProblemRecipe& recipe, AttentionProblem& problem) {
  std::mt19937_64 random = recipe.numbers(Feature::tree);
  const std::int64_t trees = chance(random, 0.5) ? 1 : recipe.batch;
  for (std::int64_t t = 0; t < trees; ++t) {
    for (std::int64_t i = 0; i < recipe.queries; ++i) {
      const bool root = i == 0 || chance(random, 0.1);
      parents_.push_back(root ? -1
                              : static_cast<std::int32_t>(between(random, std::max<std::int64_t>(0, i - 4), i - 1)));
    }
  }
  problem.tree_parents = parents_;
}

void Features::add_dropout(const ProblemRecipe& recipe, AttentionProblem& problem) {
  std::mt19937_64 random = recipe.numbers(Feature::dropout);
  Shape4 shape{recipe.batch, recipe.query_heads(), recipe.queries, recipe.keys};
  for (auto& size : shape) size = chance(random, 0.2) ? 1 : size;
  keep_ = {DType::boolean, shape, static_cast<Layout>(between(random, 0, kLayouts - 1)), 1};
  keep_.fill([&](std::uint8_t& bit) { bit = chance(random, 0.7); });
  problem.keep = keep_.view();
  problem.keep_scale = 1 / 0.7f;
}

}  // namespace sightline::testing
