#ifndef SIGHTLINE_ANALYSIS_PATTERNS_H_
#define SIGHTLINE_ANALYSIS_PATTERNS_H_

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sightline/attention.h"

namespace sightline::analysis {

/// Which pairs of rows and keys are seen, beside what the problem hides of its own.
enum class PatternKind : std::uint8_t { full, window, sinks_window, strided_blocks };
inline constexpr std::array kPatterns = {PatternKind::full, PatternKind::window, PatternKind::sinks_window,
                                         PatternKind::strided_blocks};

/// "full", "window", "sinks_window", "blocks": as tables of JSON name them.
std::string_view pattern_key(PatternKind kind);

struct PatternSizes {
  std::int64_t window = 512;  // keys a row sees up to its own, which counts; where it sees later ones, as many of those
  std::int64_t sinks = 4;     // first keys, which all rows see beside the window (Xiao et al. 2023)
};

/// A pattern over n rows and n keys. Strided blocks are those of Child et al. 2019 in blocks of 64: of B blocks a row's
/// block sees the sqrt(B) nearest and each sqrt(B)th from itself, so that pairs grow as n^1.5.
class KeyPattern {
 public:
  /// causal: later keys are hidden by the problem, and not listed here.
  KeyPattern(PatternKind kind, std::int64_t n, bool causal, const PatternSizes& sizes = {});

  PatternKind kind() const { return kind_; }
  std::string name() const;  // "sinks 4 + window 512"

  /// The problem with the pattern's pairs alone. `this` must outlive the result.
  AttentionProblem restricted(const AttentionProblem& problem) const;
  /// Whether the pattern shows a key to a row, the problem's causality counted.
  bool sees(std::int64_t row, std::int64_t key) const;
  /// Pairs that are seen.
  double pairs() const;
  /// Of the mask of blocks.
  std::size_t bytes() const;

 private:
  using Bits = std::array<std::uint64_t, BlockMask::kBlock>;

  bool in_pattern(std::int64_t row, std::int64_t key) const;
  bool may_see_block(std::int64_t row, std::int64_t column) const;
  void list_blocks();
  void add_block(std::int64_t row, std::int64_t column);
  double pairs_of(std::int64_t row, const BlockMask::Entry& entry) const;

  PatternKind kind_;
  std::int64_t n_, blocks_, stride_;
  bool causal_;
  PatternSizes sizes_;
  std::vector<std::int64_t> row_begin_;
  std::vector<BlockMask::Entry> entries_;
  std::vector<std::uint64_t> bits_;     // 64 a block that is seen in part; blocks that look alike share them
  std::map<Bits, std::int32_t> known_;  // where they are
};

}  // namespace sightline::analysis

#endif  // SIGHTLINE_ANALYSIS_PATTERNS_H_
