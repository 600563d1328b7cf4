#ifndef SIGHTLINE_TESTS_ATTENTION_CONTIGUOUS_H_
#define SIGHTLINE_TESTS_ATTENTION_CONTIGUOUS_H_

#include <vector>

#include "sightline/attention.h"

namespace sightline::testing {

/// A problem whose keys and values were copied, bit for bit, from pages into dense tensors. It stays where it was made.
class Contiguous {
 public:
  explicit Contiguous(const AttentionProblem& paged);
  Contiguous(const Contiguous&) = delete;
  Contiguous& operator=(const Contiguous&) = delete;

  const AttentionProblem& problem() const { return problem_; }

 private:
  std::vector<std::byte> gather(const AttentionProblem& paged, TensorView& view, std::int64_t page_stride) const;

  std::vector<std::byte> k_, v_;
  AttentionProblem problem_;
};

}  // namespace sightline::testing

#endif  // SIGHTLINE_TESTS_ATTENTION_CONTIGUOUS_H_
