#include "src/analysis/patterns.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>

namespace sightline::analysis {
namespace {

constexpr std::int64_t kBlock = BlockMask::kBlock;

// 1 + 2 + ... + n
double triangle(std::int64_t n) { return static_cast<double>(n) * static_cast<double>(n + 1) / 2; }

}  // namespace

std::string_view pattern_key(PatternKind kind) {
  switch (kind) {
    case PatternKind::full:
      return "full";
    case PatternKind::window:
      return "window";
    case PatternKind::sinks_window:
      return "sinks_window";
    case PatternKind::strided_blocks:
      return "blocks";
  }
  return "";
}

KeyPattern::KeyPattern(PatternKind kind, std::int64_t n, bool causal, const PatternSizes& sizes)
    : kind_(kind),
      n_(n),
      blocks_((n + kBlock - 1) / kBlock),
      stride_(std::max<std::int64_t>(1, std::llround(std::sqrt(static_cast<double>(blocks_))))),
      causal_(causal),
      sizes_(sizes) {
  if (kind == PatternKind::sinks_window || kind == PatternKind::strided_blocks) list_blocks();
  known_.clear();
}

std::string KeyPattern::name() const {
  switch (kind_) {
    case PatternKind::full:
      return "full";
    case PatternKind::window:
      return fmt::format("window {}", sizes_.window);
    case PatternKind::sinks_window:
      return fmt::format("sinks {} + window {}", sizes_.sinks, sizes_.window);
    case PatternKind::strided_blocks:
      return "block-sparse";
  }
  return "";
}

AttentionProblem KeyPattern::restricted(const AttentionProblem& problem) const {
  AttentionProblem part = problem;
  const auto narrower = [&](std::int64_t window) {
    return window < 0 ? sizes_.window - 1 : std::min(window, sizes_.window - 1);
  };
  if (kind_ == PatternKind::window) {
    part.window_left = narrower(problem.window_left);
    if (!causal_) part.window_right = narrower(problem.window_right);
  } else if (!row_begin_.empty()) {
    part.block_mask = {.batch = 1, .heads = 1, .row_begin = row_begin_, .entries = entries_, .bits = bits_};
  }
  return part;
}

bool KeyPattern::in_pattern(std::int64_t row, std::int64_t key) const {
  const std::int64_t apart = std::abs(row - key), blocks_apart = std::abs(row / kBlock - key / kBlock);
  switch (kind_) {
    case PatternKind::full:
      return true;
    case PatternKind::window:
      return apart < sizes_.window;
    case PatternKind::sinks_window:
      return apart < sizes_.window || key < sizes_.sinks;
    case PatternKind::strided_blocks:
      return blocks_apart < stride_ || blocks_apart % stride_ == 0;
  }
  return false;
}

bool KeyPattern::sees(std::int64_t row, std::int64_t key) const {
  return (!causal_ || key <= row) && in_pattern(row, key);
}

bool KeyPattern::may_see_block(std::int64_t row, std::int64_t column) const {
  if (kind_ == PatternKind::strided_blocks) return in_pattern(row * kBlock, column * kBlock);
  // The pair of the two blocks that is closest is at most so far apart.
  const std::int64_t apart = std::max<std::int64_t>(0, (std::abs(row - column) - 1) * kBlock + 1);
  return apart < sizes_.window || column * kBlock < sizes_.sinks;
}

void KeyPattern::list_blocks() {
  row_begin_.push_back(0);
  for (std::int64_t row = 0; row < blocks_; ++row) {
    const std::int64_t end = causal_ ? row + 1 : blocks_;
    for (std::int64_t column = 0; column < end; ++column) {
      if (may_see_block(row, column)) add_block(row, column);
    }
    row_begin_.push_back(std::ssize(entries_));
  }
}

void KeyPattern::add_block(std::int64_t row, std::int64_t column) {
  BlockMask::Entry entry{static_cast<std::int32_t>(column), -1};
  if (kind_ == PatternKind::strided_blocks) {
    entries_.push_back(entry);
    return;
  }
  Bits bits{};
  bool all = true, any = false;
  for (std::int64_t i = 0; i < kBlock; ++i) {
    for (std::int64_t j = 0; j < kBlock; ++j) {
      const bool seen = in_pattern(row * kBlock + i, column * kBlock + j);
      bits[static_cast<std::size_t>(i)] |= static_cast<std::uint64_t>(seen) << j;
      all = all && seen;
      any = any || seen;
    }
  }
  if (!any) return;
  if (!all) {
    const auto next = static_cast<std::int32_t>(std::ssize(bits_) / kBlock);
    const auto [place, fresh] = known_.try_emplace(bits, next);
    if (fresh) bits_.insert(bits_.end(), bits.begin(), bits.end());
    entry.bits = place->second;
  }
  entries_.push_back(entry);
}

double KeyPattern::pairs_of(std::int64_t row, const BlockMask::Entry& entry) const {
  double pairs = 0;
  for (std::int64_t i = row * kBlock; i < std::min(n_, (row + 1) * kBlock); ++i) {
    const std::int64_t last =
        std::min(causal_ ? i + 1 : n_, n_) - entry.column * kBlock;  // keys of the block before it
    if (last <= 0) continue;
    const std::uint64_t within = last >= kBlock ? ~std::uint64_t{0} : (std::uint64_t{1} << last) - 1;
    const std::uint64_t seen =
        entry.bits < 0 ? ~std::uint64_t{0} : bits_[static_cast<std::size_t>(entry.bits * kBlock + i % kBlock)];
    pairs += std::popcount(within & seen);
  }
  return pairs;
}

double KeyPattern::pairs() const {
  if (row_begin_.empty()) {
    const std::int64_t beyond = kind_ == PatternKind::window ? std::max<std::int64_t>(0, n_ - sizes_.window) : 0;
    const double before = triangle(n_) - triangle(beyond);  // of keys up to the row's own
    return causal_ ? before : 2 * before - static_cast<double>(n_);
  }
  double pairs = 0;
  for (std::int64_t row = 0; row < blocks_; ++row) {
    for (std::int64_t i = row_begin_[static_cast<std::size_t>(row)]; i < row_begin_[static_cast<std::size_t>(row) + 1];
         ++i) {
      pairs += pairs_of(row, entries_[static_cast<std::size_t>(i)]);
    }
  }
  return pairs;
}

std::size_t KeyPattern::bytes() const {
  return row_begin_.size() * sizeof(std::int64_t) + entries_.size() * sizeof(BlockMask::Entry) +
         bits_.size() * sizeof(std::uint64_t);
}

}  // namespace sightline::analysis
