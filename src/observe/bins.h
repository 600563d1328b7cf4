#ifndef SIGHTLINE_OBSERVE_BINS_H_
#define SIGHTLINE_OBSERVE_BINS_H_

#include <algorithm>
#include <cstdint>

namespace sightline {

/// The bins of one axis of an overview: `count` bins over `items` rows or keys.
struct Bins {
  std::int64_t items = 0, count = 0;
  std::int64_t step = 0;  // items a bin, the last ones what is left; 0: edges are floor(bin * items / count)

  std::int64_t edge(std::int64_t bin) const {
    if (step == 0) return bin * items / count;
    return bin > items / step ? items : bin * step;
  }
  std::int64_t size(std::int64_t bin) const { return edge(bin + 1) - edge(bin); }
  /// The bin of an item.
  std::int64_t of(std::int64_t item) const { return step == 0 ? ((item + 1) * count - 1) / items : item / step; }
  /// Whether every item has a bin.
  bool cover() const { return step == 0 || items == 0 || (items - 1) / step < count; }
};

}  // namespace sightline

#endif  // SIGHTLINE_OBSERVE_BINS_H_
