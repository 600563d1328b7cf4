#ifndef SIGHTLINE_TESTS_ATTENTION_KEY_PART_H_
#define SIGHTLINE_TESTS_ATTENTION_KEY_PART_H_

#include <memory>
#include <vector>

#include "sightline/attention.h"

namespace sightline::testing {

/// All rows of a problem, and of each sequence only the keys at positions [begin, end): what one of several passes has.
/// What hides keys becomes a plain mask; keys in pages, and trees, cannot be taken apart. It stays where it was made.
class KeyPart {
 public:
  KeyPart(const AttentionProblem& whole, std::int64_t begin, std::int64_t end);
  ~KeyPart();
  KeyPart(const KeyPart&) = delete;
  KeyPart& operator=(const KeyPart&) = delete;

  const AttentionProblem& problem() const { return problem_; }
  /// Those of the whole, [Nk] or [B * Nk], for the part's keys.
  std::vector<std::int32_t> segments(const std::vector<std::int32_t>& of_whole) const;

 private:
  /// Key `first` of a sequence, and so many after it; `to` is where they lie here.
  struct Run {
    std::int64_t batch, row_begin, rows, whole_begin, first, count, to;
  };

  std::int64_t batch() const { return packed_ ? 1 : problem_.q.shape[0]; }
  void list_runs(const AttentionProblem& whole, std::int64_t begin, std::int64_t end);
  std::vector<std::byte> copy_rows(TensorView& view) const;
  std::vector<std::byte> copy_map(TensorView& view) const;
  void make_mask(const AttentionProblem& whole);

  bool packed_ = false;
  std::int64_t keys_ = 0;        // room a batch
  std::int64_t whole_keys_ = 0;  // of the whole's tensors
  std::vector<Run> runs_;
  std::vector<SequenceSpan> spans_;
  std::vector<std::int32_t> k_begins_;
  std::vector<std::byte> k_, v_, bias_, keep_;
  std::vector<std::uint8_t> mask_;
  std::unique_ptr<ScoreFunction> score_function_;
  AttentionProblem problem_;
};

/// The position after the last key of any sequence, at least 1.
std::int64_t end_of_keys(const AttentionProblem& problem);

}  // namespace sightline::testing

#endif  // SIGHTLINE_TESTS_ATTENTION_KEY_PART_H_
