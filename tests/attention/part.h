#ifndef SIGHTLINE_TESTS_ATTENTION_PART_H_
#define SIGHTLINE_TESTS_ATTENTION_PART_H_

#include <memory>
#include <vector>

#include "sightline/attention.h"

namespace sightline::testing {

/// A part of a problem that must give the bits of the whole: one head of one sequence, and rows [row_begin, row_end) of
/// the tensors, which belong to that sequence. Sequences that were packed stand alone. What hides keys by index - cuts,
/// blocks, a mask function - becomes a plain mask. Of a tree the part must have all rows.
class Part {
 public:
  Part(const AttentionProblem& whole, std::int64_t batch, std::int64_t head, std::int64_t row_begin,
       std::int64_t row_end);
  ~Part();
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;

  const AttentionProblem& problem() const { return problem_; }
  /// The first key of the part's sequence, as an index of the whole's tensors: not 0 where sequences are packed.
  std::int64_t first_key() const { return first_key_; }
  /// Leaves keys out from `count` on.
  void cut_keys(std::int64_t count);
  /// The first `count` keys are in use; the tensors keep the others.
  void use_keys(std::int64_t count) { span_.key_count = count; }
  /// How many of the first keys the rows can see by position and length alone.
  std::int64_t reach() const;

 private:
  void cut_tensors(const AttentionProblem& whole, std::int64_t batch, std::int64_t head, std::int64_t row_begin);
  void cut_pages(const AttentionProblem& whole, std::int64_t sequence);
  void cut_by_head(const AttentionProblem& whole, std::int64_t head);
  void cut_tree(const AttentionProblem& whole, std::int64_t batch);
  void hide_by_mask(const AttentionProblem& whole, std::int64_t batch, std::int64_t head, std::int64_t row_begin);

  SequenceSpan span_;
  std::int64_t first_key_ = 0;
  std::vector<float> table_;        // of the relative bias, the head's column
  std::vector<std::uint8_t> mask_;  // [rows, keys]
  std::unique_ptr<ScoreFunction> score_function_;
  AttentionProblem problem_;
};

}  // namespace sightline::testing

#endif  // SIGHTLINE_TESTS_ATTENTION_PART_H_
