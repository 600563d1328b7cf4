#ifndef SIGHTLINE_TESTS_ATTENTION_FEATURES_H_
#define SIGHTLINE_TESTS_ATTENTION_FEATURES_H_

#include <deque>
#include <memory>
#include <vector>

#include "tests/attention/recipe.h"

namespace sightline::testing {

/// What the features of a recipe point into, but for operands, bias and mask. It stays where it was made.
class Features {
 public:
  Features() = default;
  Features(const Features&) = delete;
  Features& operator=(const Features&) = delete;

  /// Sets the fields of `problem`, once.
  void apply(const ProblemRecipe& recipe, AttentionProblem& problem);

 private:
  void add_score_terms(const ProblemRecipe& recipe, AttentionProblem& problem);
  void add_relative_bias(const ProblemRecipe& recipe, AttentionProblem& problem);
  void add_cuts(const ProblemRecipe& recipe, AttentionProblem& problem);
  void add_block_mask(const ProblemRecipe& recipe, AttentionProblem& problem);
  void add_block_row(std::int64_t columns, std::mt19937_64& random);
  void add_tree(const ProblemRecipe& recipe, AttentionProblem& problem);
  void add_dropout(const ProblemRecipe& recipe, AttentionProblem& problem);

  std::vector<float> slopes_, sinks_, table_, head_scale_;
  std::vector<EdgeCut> cuts_;
  std::deque<std::vector<std::int64_t>> lists_;  // of the cuts
  std::vector<std::int64_t> block_rows_;
  std::vector<BlockMask::Entry> blocks_;
  std::vector<std::uint64_t> bits_;
  std::vector<std::int32_t> parents_;
  std::unique_ptr<ScoreFunction> score_function_;
  std::unique_ptr<MaskFunction> mask_function_;
  Strided<std::uint8_t> keep_;
};

/// Functions of a caller's, which change scores by at most as much as the scores differ.
std::unique_ptr<ScoreFunction> any_score_function(const ProblemRecipe& recipe);
/// Their summaries say as much as can be known of a rectangle.
std::unique_ptr<MaskFunction> any_mask_function(const ProblemRecipe& recipe);

}  // namespace sightline::testing

#endif  // SIGHTLINE_TESTS_ATTENTION_FEATURES_H_
