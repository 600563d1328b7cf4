#ifndef SIGHTLINE_ANALYSIS_HALVES_H_
#define SIGHTLINE_ANALYSIS_HALVES_H_

#include <cstddef>

namespace sightline::analysis {

inline constexpr int kHalves = 2;

/// Which texts choose a head and a baseline, and on which these are reported. Texts go to the halves by turns: what
/// stands together in a corpus is of one kind, and a half of the file would be of some kinds alone.
struct Halves {
  bool holdout = true;  // false: all texts choose, and all are reported

  int of(std::size_t text) const { return holdout ? static_cast<int>(text % kHalves) : 0; }
  int choosing() const { return 0; }
  int reporting() const { return holdout ? 1 : 0; }
};

}  // namespace sightline::analysis

#endif  // SIGHTLINE_ANALYSIS_HALVES_H_
