#ifndef SIGHTLINE_TESTS_ATTENTION_SEQUENCES_H_
#define SIGHTLINE_TESTS_ATTENTION_SEQUENCES_H_

#include <vector>

#include "tests/attention/recipe.h"

namespace sightline::testing {

/// The sequences of a problem: one for each of the batch, or packed ones, some of them empty.
class Sequences {
 public:
  explicit Sequences(const ProblemRecipe& recipe);

  void apply(AttentionProblem& problem) const;
  /// Keys in use of each.
  std::vector<std::int64_t> lengths() const;
  /// How many sets of keys there are: one for each of the batch, or of packed sequences whose keys are in pages.
  std::int64_t key_planes() const { return key_planes_; }
  /// The sequence that key j of such a set belongs to, and its index there.
  std::pair<std::int64_t, std::int64_t> of_key(std::int64_t b, std::int64_t j) const;

 private:
  std::int64_t keys_of(std::int64_t sequence) const;
  SequenceSpan any_span(std::int64_t sequence, std::mt19937_64& random) const;

  ProblemRecipe recipe_;
  std::int64_t key_planes_;
  std::vector<std::int32_t> q_begins_, k_begins_;  // empty unless packed
  std::vector<SequenceSpan> spans_;                // empty: all whole
};

}  // namespace sightline::testing

#endif  // SIGHTLINE_TESTS_ATTENTION_SEQUENCES_H_
