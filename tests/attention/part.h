#ifndef SIGHTLINE_TESTS_ATTENTION_PART_H_
#define SIGHTLINE_TESTS_ATTENTION_PART_H_

#include "sightline/attention.h"

namespace sightline::testing {

/// A part of a problem that must give the bits of the whole: one head of one sequence, and rows [row_begin, row_end) of
/// it.
class Part {
 public:
  Part(const AttentionProblem& whole, std::int64_t batch, std::int64_t head, std::int64_t row_begin,
       std::int64_t row_end);
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;

  const AttentionProblem& problem() const { return problem_; }
  /// Leaves keys out from `count` on.
  void cut_keys(std::int64_t count);
  /// How many of the first keys the rows can see by position and length alone.
  std::int64_t reach() const;

 private:
  SequenceSpan span_;
  AttentionProblem problem_;
};

}  // namespace sightline::testing

#endif  // SIGHTLINE_TESTS_ATTENTION_PART_H_
