#include "src/attention/relative_table.h"

#include <algorithm>
#include <cmath>

#include "sightline/error.h"

namespace sightline {
namespace {

// Beyond any max_distance.
constexpr std::int64_t kFarthest = std::int64_t{1} << 40;

}  // namespace

std::int64_t relative_bucket(const RelativeBias& bias, std::int64_t offset) {
  const std::int64_t least = bias.bidirectional ? 4 : 2;
  if (bias.buckets < least || bias.max_distance <= (bias.bidirectional ? bias.buckets / 4 : bias.buckets / 2)) {
    throw BadArgument(
        "a relative bias needs 2 buckets or more, in both directions 4, and a max_distance above those of "
        "one distance each");
  }
  offset = std::clamp(offset, -kFarthest, kFarthest);
  const std::int64_t buckets = bias.bidirectional ? bias.buckets / 2 : bias.buckets;
  const std::int64_t side = bias.bidirectional && offset > 0 ? buckets : 0;
  const std::int64_t distance = bias.bidirectional ? std::abs(offset) : std::max<std::int64_t>(-offset, 0);
  const std::int64_t single = buckets / 2;  // buckets of one distance each
  if (distance < single) return side + distance;
  // In fp32 as the models were trained with: at a bucket's edge rounding decides.
  const float ratio =
      std::log(static_cast<float>(distance) / static_cast<float>(single)) /
      static_cast<float>(std::log(static_cast<double>(bias.max_distance) / static_cast<double>(single)));
  const auto further = static_cast<std::int64_t>(ratio * static_cast<float>(buckets - single));
  return side + std::min(single + further, buckets - 1);
}

RelativeTable::RelativeTable(const RelativeBias& bias, std::int64_t heads, std::int64_t head,
                             std::pmr::memory_resource* memory)
    : farthest_(bias.max_distance), values_(2 * (farthest_ + kReach) + 1, memory) {
  std::int64_t distance = -farthest_ - kReach;
  for (float& value : values_) value = bias.table[relative_bucket(bias, -distance++) * heads + head];
}

}  // namespace sightline
