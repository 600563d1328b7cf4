#ifndef SIGHTLINE_TESTS_ATTENTION_RANDOM_PROBLEM_H_
#define SIGHTLINE_TESTS_ATTENTION_RANDOM_PROBLEM_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "sightline/attention.h"
#include "src/attention/reference_operands.h"
#include "tests/attention/features.h"
#include "tests/attention/operand.h"
#include "tests/attention/recipe.h"
#include "tests/attention/sequences.h"
#include "tests/attention/strided.h"

namespace sightline::testing {

/// The problem of a recipe, with its storage. It stays where it was made.
class RandomProblem {
 public:
  explicit RandomProblem(const ProblemRecipe& recipe);
  RandomProblem(const RandomProblem&) = delete;
  RandomProblem& operator=(const RandomProblem&) = delete;

  const AttentionProblem& problem() const { return problem_; }
  const ProblemRecipe& recipe() const { return recipe_; }
  /// Where the result goes; its gaps hold a mark.
  Strided<float> make_output() const;

  const Operand& q() const { return q_; }
  const Operand& k() const { return k_; }
  const Operand& v() const { return v_; }

 private:
  /// The numbers of q, k and v before they are stored.
  struct Numbers {
    Strided<float> q, k, v;
  };

  Numbers make_numbers() const;
  void make_mask();
  void make_bias();
  void make_paging();
  void store(const Numbers& numbers);
  Operand store_keys(const Strided<float>& numbers, Layout layout, DType dtype) const;
  std::vector<bool> seen_keys() const;
  bool shares_memory(std::int64_t b, std::int64_t j, Layout layout) const;
  void poison(Numbers& numbers) const;

  ProblemRecipe recipe_;
  Sequences sequences_;
  Features features_;
  std::optional<Paging> paging_;
  Operand q_, k_, v_;
  Strided<float> bias_;
  Strided<std::uint16_t> half_bias_;
  Strided<std::uint8_t> mask_;
  AttentionProblem problem_;
};

/// Which set of keys a query looks at, as an index of Operand::magnitude(): packed sequences whose keys are in pages
/// have one each.
std::int64_t key_plane(const AttentionProblem& problem, const reference::Query& query);

}  // namespace sightline::testing

#endif  // SIGHTLINE_TESTS_ATTENTION_RANDOM_PROBLEM_H_
