#ifndef SIGHTLINE_TESTS_ATTENTION_RANDOM_PROBLEM_H_
#define SIGHTLINE_TESTS_ATTENTION_RANDOM_PROBLEM_H_

#include <rapidcheck.h>

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <vector>

#include "sightline/attention.h"
#include "tests/attention/strided.h"

namespace sightline::testing {

enum class MaskKind : std::uint8_t { none, sparse, half, dense, some_rows_empty };
enum class BiasKind : std::uint8_t { none, plain, some_hidden, lowest_float };
enum class Poison : std::uint8_t { none, hidden, visible };  // where NaN and Inf are put

/// What a random problem is made from. Small enough to be shown and shrunk; the numbers come from `seed`.
struct ProblemRecipe {
  std::uint64_t seed = 0;
  std::int64_t batch = 1, kv_heads = 1, group = 1;
  std::int64_t queries = 1, keys = 1, width = 1, value_width = 1;
  Layout q = Layout::dense, k = Layout::dense, v = Layout::dense, out = Layout::dense;
  float magnitude = 1;  // of q and k
  std::optional<float> scale;
  bool causal = false;
  Alignment alignment = Alignment::bottom_right;
  MaskKind mask = MaskKind::none;
  BiasKind bias = BiasKind::none;
  int mask_broadcast = 0, bias_broadcast = 0;  // bit a: axis a has size 1
  bool sequences = false;                      // key counts and positions of their own
  Poison poison = Poison::none;

  std::int64_t query_heads() const { return kv_heads * group; }
};
std::ostream& operator<<(std::ostream& out, const ProblemRecipe& recipe);
rc::Gen<ProblemRecipe> any_recipe();

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

  const Strided<float>& q() const { return q_; }
  const Strided<float>& k() const { return k_; }
  const Strided<float>& v() const { return v_; }

 private:
  void make_operands(std::mt19937_64& random);
  void make_mask(std::mt19937_64& random);
  void make_bias(std::mt19937_64& random);
  void make_sequences(std::mt19937_64& random);
  std::vector<bool> seen_keys() const;
  void poison(std::mt19937_64& random);

  ProblemRecipe recipe_;
  Strided<float> q_, k_, v_, bias_;
  Strided<std::uint8_t> mask_;
  std::vector<SequenceSpan> sequences_;
  AttentionProblem problem_;
};

}  // namespace sightline::testing

#endif  // SIGHTLINE_TESTS_ATTENTION_RANDOM_PROBLEM_H_
