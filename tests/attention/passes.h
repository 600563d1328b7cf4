#ifndef SIGHTLINE_TESTS_ATTENTION_PASSES_H_
#define SIGHTLINE_TESTS_ATTENTION_PASSES_H_

#include <memory>
#include <vector>

#include "sightline/state.h"
#include "tests/attention/contiguous.h"
#include "tests/attention/key_part.h"
#include "tests/attention/observed.h"
#include "tests/attention/random_problem.h"

namespace sightline::testing {

/// A random problem for passes over parts of its keys, with all observations that those can make.
class Passes {
 public:
  explicit Passes(const ProblemRecipe& recipe);

  /// One pass over all keys; what parts cannot observe is empty.
  Observed whole(int threads = 1) const;
  std::int64_t end() const { return end_of_keys(problem()); }
  const AttentionProblem& problem() const {
    return contiguous_ != nullptr ? contiguous_->problem() : random_.problem();
  }

  /// A pass over the keys at positions [begin, end).
  Observed run(std::int64_t begin, std::int64_t end, const AttentionOptions& options) const;
  /// The state of such a pass.
  AttentionState state_of(std::int64_t begin, std::int64_t end) const;
  /// What a state comes to.
  Observed finish(const AttentionState& state) const;

  /// Arrays for a call of one's own over all keys, and what they ask for.
  Observed blank() const;
  Observations request(Observed& into) const;
  /// The observations, for a part of the keys.
  ObservationRecipe with_segments_of(const KeyPart& part) const;

 private:
  RandomProblem random_;
  std::unique_ptr<Contiguous> contiguous_;
  ObservationRecipe observations_;
};

/// What parts of the keys cannot observe is not asked for; is emptied.
Observations without_what_needs_all_keys(Observations see);
void forget_what_needs_all_keys(Observed& observed);

}  // namespace sightline::testing

#endif  // SIGHTLINE_TESTS_ATTENTION_PASSES_H_
