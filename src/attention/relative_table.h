#ifndef SIGHTLINE_ATTENTION_RELATIVE_TABLE_H_
#define SIGHTLINE_ATTENTION_RELATIVE_TABLE_H_

#include <algorithm>
#include <cstdint>
#include <memory_resource>
#include <vector>

#include "sightline/mask.h"

namespace sightline {

/// The relative bias of one head by distance = query position - key position, so that a vector of rows reads
/// neighbours. Beyond the largest distance the numbers stay the same.
class RelativeTable {
 public:
  static constexpr std::int64_t kMaxDistance = 1 << 16;

  RelativeTable(const RelativeBias& bias, std::int64_t heads, std::int64_t head,
                std::pmr::memory_resource* memory = std::pmr::new_delete_resource());

  /// The numbers of distances `distance`, distance + 1, ... for up to kReach of them.
  const float* from(std::int64_t distance) const {
    return values_.data() + (std::clamp(distance, -farthest_ - kReach, farthest_) + farthest_ + kReach);
  }

 private:
  static constexpr std::int64_t kReach = 16;  // lanes of the widest vector

  std::int64_t farthest_;
  std::pmr::vector<float> values_;  // of distances -farthest - kReach to farthest + kReach
};

}  // namespace sightline

#endif  // SIGHTLINE_ATTENTION_RELATIVE_TABLE_H_
