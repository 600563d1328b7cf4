#ifndef SIGHTLINE_ANALYSIS_ALIGNMENT_H_
#define SIGHTLINE_ANALYSIS_ALIGNMENT_H_

#include <cstdint>
#include <span>
#include <vector>

namespace sightline::analysis {

/// Two items of two sequences that stand for one another, or one that stands alone.
struct AlignedPair {
  std::int64_t a = -1, b = -1;  // indexes into the sequences; -1: none
  bool same = false;            // equal symbols; a pair that is not replaces a by b

  bool paired() const { return a >= 0 && b >= 0; }
  bool operator==(const AlignedPair&) const = default;
};

/// Every item of both sequences once, in the order of both. The pairs that are `same` are a longest common subsequence.
/// Between two of them, what is left of a and of b is paired one to one from the front, the i-th with the i-th; what
/// the longer side has over stands alone, those of a before those of b. A negative symbol is paired with its equal
/// alone.
///
/// Myers' O(ND) algorithm in linear space ("An O(ND) difference algorithm and its variations", 1986, section 4b), over
/// the items whose symbols both sequences have: no other can be in a common subsequence. Time is O((n + m) d), d being
/// how many of those are in no `same` pair.
std::vector<AlignedPair> align(std::span<const std::int64_t> a, std::span<const std::int64_t> b);

}  // namespace sightline::analysis

#endif  // SIGHTLINE_ANALYSIS_ALIGNMENT_H_
