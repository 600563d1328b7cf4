#include "src/engine/visible_keys.h"

#include <algorithm>
#include <utility>

namespace sightline::engine {

bool cut_names(std::span<const std::int64_t> list, std::int64_t index) {
  return list.empty() || std::ranges::binary_search(list, index);
}

std::vector<EdgeCut> cuts_of_head(std::span<const EdgeCut> cuts, std::int64_t head) {
  std::vector<EdgeCut> own;
  for (const EdgeCut& cut : cuts) {
    if (cut_names(cut.heads, head)) own.push_back({cut.batch, {}, cut.rows, cut.keys});
  }
  return own;
}

VisibleKeys::VisibleKeys(const ScoreRule& rule, std::span<const EdgeCut> cuts, std::vector<bool> is_counted)
    : rule_(rule), cuts_(cuts), is_counted_(std::move(is_counted)) {}

std::int64_t VisibleKeys::count(std::int64_t row) const {
  const auto keys = std::ssize(is_counted_);
  const KeyRange seen = rule_.visible(row, keys);
  if (cuts_.empty()) return seen.count();
  const std::vector<std::int64_t>& left = before(row).all;
  return left[static_cast<std::size_t>(seen.end)] - left[static_cast<std::size_t>(seen.begin)];
}

std::int64_t VisibleKeys::counted(std::int64_t row) const {
  const KeyRange seen = rule_.visible(row, std::ssize(is_counted_));
  const std::vector<std::int64_t>& left = before(row).counted;
  return left[static_cast<std::size_t>(seen.end)] - left[static_cast<std::size_t>(seen.begin)];
}

const VisibleKeys::Before& VisibleKeys::before(std::int64_t row) const {
  std::vector<std::size_t> of_row;
  for (std::size_t c = 0; c < cuts_.size(); ++c) {
    if (cut_names(cuts_[c].rows, row)) of_row.push_back(c);
  }
  const auto found = before_.find(of_row);
  return found != before_.end() ? found->second : before_.emplace(of_row, without(of_row)).first->second;
}

VisibleKeys::Before VisibleKeys::without(const std::vector<std::size_t>& cuts) const {
  std::vector<bool> left(is_counted_.size(), true);
  for (const std::size_t c : cuts) {
    if (cuts_[c].keys.empty()) std::fill(left.begin(), left.end(), false);
    for (const std::int64_t key : cuts_[c].keys) left[static_cast<std::size_t>(key)] = false;
  }
  Before before{std::vector<std::int64_t>(left.size() + 1), std::vector<std::int64_t>(left.size() + 1)};
  for (std::size_t j = 0; j < left.size(); ++j) {
    before.all[j + 1] = before.all[j] + left[j];
    before.counted[j + 1] = before.counted[j] + (left[j] && is_counted_[j]);
  }
  return before;
}

}  // namespace sightline::engine
