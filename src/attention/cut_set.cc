#include "src/attention/cut_set.h"

#include <algorithm>
#include <string>

#include "sightline/error.h"

namespace sightline {

IndexSet::IndexSet(std::span<const std::int64_t> list, std::int64_t count, const char* what,
                   std::pmr::memory_resource* memory)
    : all_(list.empty()), listed_(all_ ? 0 : count, false, memory), sorted_(list.begin(), list.end(), memory) {
  std::sort(sorted_.begin(), sorted_.end());
  for (const std::int64_t index : sorted_) {
    if (index < 0 || index >= count) {
      throw BadArgument("a cut names " + std::string(what) + " " + std::to_string(index) + ", outside 0.." +
                        std::to_string(count - 1));
    }
    listed_[index] = true;
  }
}

bool IndexSet::meets(std::int64_t begin, std::int64_t end) const {
  if (all_) return begin < end;
  const auto at = std::lower_bound(sorted_.begin(), sorted_.end(), begin);
  return at != sorted_.end() && *at < end;
}

CutSet::CutSet(std::span<const EdgeCut> cuts, std::int64_t batch, std::int64_t heads, std::int64_t rows,
               std::int64_t keys, std::pmr::memory_resource* memory)
    : cuts_(memory) {
  cuts_.reserve(cuts.size());
  for (const EdgeCut& cut : cuts) {
    if (cut.batch < -1 || cut.batch >= batch) {
      throw BadArgument("a cut names sequence " + std::to_string(cut.batch) + ", outside -1.." +
                        std::to_string(batch - 1));
    }
    cuts_.push_back({cut.batch, IndexSet(cut.heads, heads, "head", memory), IndexSet(cut.rows, rows, "row", memory),
                     IndexSet(cut.keys, keys, "key", memory)});
  }
}

bool CutSet::hides(std::int64_t batch, std::int64_t head, std::int64_t row, std::int64_t key) const {
  return std::any_of(cuts_.begin(), cuts_.end(), [&](const Cut& cut) {
    return (cut.batch == -1 || cut.batch == batch) && cut.heads.holds(head) && cut.rows.holds(row) &&
           cut.keys.holds(key);
  });
}

bool CutSet::meets(std::int64_t batch, std::int64_t head_begin, std::int64_t head_end, std::int64_t row_begin,
                   std::int64_t row_end, std::int64_t key_begin, std::int64_t key_end) const {
  return std::any_of(cuts_.begin(), cuts_.end(), [&](const Cut& cut) {
    return (cut.batch == -1 || cut.batch == batch) && cut.heads.meets(head_begin, head_end) &&
           cut.rows.meets(row_begin, row_end) && cut.keys.meets(key_begin, key_end);
  });
}

}  // namespace sightline
