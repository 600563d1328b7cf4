#ifndef SIGHTLINE_TOKENIZER_RANGES_H_
#define SIGHTLINE_TOKENIZER_RANGES_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>

/// Tables of characters: facts of Unicode that ICU's release does not have.
namespace sightline::tokenizer {

struct Range {
  char32_t first, last;
};

/// `ranges` ascend.
template <std::size_t N>
bool in_ranges(const std::array<Range, N>& ranges, char32_t c) {
  const auto after =
      std::upper_bound(ranges.begin(), ranges.end(), c, [](char32_t x, const Range& r) { return x < r.first; });
  return after != ranges.begin() && c <= std::prev(after)->last;
}

struct CaseRange {
  char32_t first, last, lower;  // `lower` is that of `first`; the others follow on
};

}  // namespace sightline::tokenizer

#endif  // SIGHTLINE_TOKENIZER_RANGES_H_
