#include "src/attention/backward_plan.h"

#include <algorithm>
#include <map>
#include <utility>

#include "src/attention/backward_workspace.h"

namespace sightline {

BackwardPlan::BackwardPlan(const std::vector<BackwardGroup>& groups, int threads) {
  for (std::size_t index = 0; index < groups.size(); ++index) add_group(groups[index], index);
  const bool any_order = order_bias_gradients(groups);
  order_parts(groups.size(), any_order ? static_cast<std::size_t>(std::max(threads, 1)) : 1);
}

void BackwardPlan::add_group(const BackwardGroup& group, std::size_t index) {
  const BlockRange all = group.problem().blocks();
  const std::int64_t together = BackwardWorkspace::blocks_together(group);
  for (std::int64_t at = all.begin; at < all.end;) {
    const BlockRange chunk{at, std::min((at / kChunkBlocks + 1) * kChunkBlocks, all.end)};
    const std::size_t first = parts.size();
    for (; at < chunk.end; at = parts.back().blocks.end) {
      parts.push_back({index, {at, std::min(at + together, chunk.end)}, chunks.size()});
    }
    chunks.push_back({first, parts.size(), chunk});
  }
}

// Groups that share the gradient of a bias add to it in ascending order. Where blocks are the same keys in all groups,
// each part follows the same part of the group before it; otherwise it follows the part before it, whatever that is,
// and parts must be taken as they are numbered. Returns whether they need not.
bool BackwardPlan::order_bias_gradients(const std::vector<BackwardGroup>& groups) {
  const std::int64_t position = groups.front().problem().key_position;
  const bool alike = std::all_of(groups.begin(), groups.end(),
                                 [&](const BackwardGroup& group) { return group.problem().key_position == position; });
  bool any_order = true;
  std::map<std::pair<const float*, std::int64_t>, std::size_t> last;
  for (std::size_t index = 0; index < parts.size(); ++index) {
    BackwardPart& part = parts[index];
    const Matrix<float>& dbias = groups[part.group].heads.front().dbias;
    if (!dbias) continue;
    const bool by_part = alike && dbias.column_stride != 0;
    any_order &= by_part;
    const auto [found, inserted] = last.try_emplace({dbias.data, by_part ? part.blocks.begin : -1}, index);
    if (!inserted) part.before = std::exchange(found->second, index);
  }
  return any_order;
}

// Bands of groups, as many as there are threads, and within a band the first parts of all groups, then the second ones:
// threads meet in one group only where groups are fewer, and a band's sums of queries are all that is held at a time.
void BackwardPlan::order_parts(std::size_t groups, std::size_t band) {
  std::vector<std::size_t> first(groups + 1, parts.size());
  for (std::size_t index = parts.size(); index-- > 0;) first[parts[index].group] = index;
  for (std::size_t group = groups; group-- > 0;) first[group] = std::min(first[group], first[group + 1]);
  order.reserve(parts.size());
  for (std::size_t begin = 0; begin < groups; begin += band) {
    const std::size_t end = std::min(begin + band, groups), taken = order.size();
    for (std::size_t step = 0; order.size() - taken < first[end] - first[begin]; ++step) {
      for (std::size_t group = begin; group < end; ++group) {
        if (first[group] + step < first[group + 1]) order.push_back(first[group] + step);
      }
    }
  }
}

}  // namespace sightline
