#ifndef SIGHTLINE_TOOLS_CONFORM_PAGED_H_
#define SIGHTLINE_TOOLS_CONFORM_PAGED_H_

#include <vector>

#include "sightline/attention.h"
#include "tools/conform/arrays.h"

namespace sightline::conform {

/// A problem whose keys and values were copied into pages, in an order that is not theirs. Slots without a key are NaN.
/// It stays where it was made.
class Paged {
 public:
  Paged(const AttentionProblem& whole, std::int64_t page_size);
  Paged(const Paged&) = delete;
  Paged& operator=(const Paged&) = delete;

  const AttentionProblem& problem() const { return problem_; }

 private:
  Input pool_of(const TensorView& tensor) const;
  TensorView view_of(const Input& pool, const TensorView& tensor) const;

  AttentionProblem problem_;
  std::int64_t page_size_, pages_a_sequence_;
  std::vector<std::int32_t> table_;
  Input k_, v_;
};

}  // namespace sightline::conform

#endif  // SIGHTLINE_TOOLS_CONFORM_PAGED_H_
