#ifndef SIGHTLINE_TESTS_ATTENTION_PAGING_H_
#define SIGHTLINE_TESTS_ATTENTION_PAGING_H_

#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "sightline/attention.h"

namespace sightline::testing {

/// Where the keys of sequences lie in a pool of pages: in no order, first pages perhaps shared, entries of the table
/// that are not in use far outside the pool.
class Paging {
 public:
  /// Lengths are keys in use.
  Paging(const std::vector<std::int64_t>& lengths, std::int64_t page_size, bool share, std::mt19937_64& random);

  /// Page and slot of key n of a sequence; page -1 where it has none.
  std::pair<std::int64_t, std::int64_t> locate(std::int64_t sequence, std::int64_t n) const;
  bool is_shared(std::int64_t page) const { return users_[page] > 1; }
  std::int64_t page_size() const { return page_size_; }
  std::int64_t pages() const { return static_cast<std::int64_t>(users_.size()); }
  /// Without the strides of pages.
  PageTable view() const;

 private:
  std::int64_t page_size_, stride_ = 1;
  std::vector<std::int32_t> table_;
  std::vector<int> users_;  // of each page
};

}  // namespace sightline::testing

#endif  // SIGHTLINE_TESTS_ATTENTION_PAGING_H_
