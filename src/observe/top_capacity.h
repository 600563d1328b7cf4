#ifndef SIGHTLINE_OBSERVE_TOP_CAPACITY_H_
#define SIGHTLINE_OBSERVE_TOP_CAPACITY_H_

namespace sightline {

inline constexpr int kMaxTopKeys = 64;

/// Keys that the lists of top keys hold when k are asked for: 4 or 8 stay in registers while a block's candidates are
/// inserted; more than that is rare, and one size for all of it keeps the code small. 0 for 0.
constexpr int top_capacity(int k) { return k == 0 ? 0 : k <= 4 ? 4 : k <= 8 ? 8 : kMaxTopKeys; }

}  // namespace sightline

#endif  // SIGHTLINE_OBSERVE_TOP_CAPACITY_H_
