#ifndef SIGHTLINE_ANALYSIS_MAP_TILES_H_
#define SIGHTLINE_ANALYSIS_MAP_TILES_H_

#include <cstdint>
#include <mutex>
#include <vector>

#include "sightline/attention.h"
#include "sightline/execution.h"

namespace sightline::analysis {

/// Rows of a map of so many keys that are read together: some 256 KB of weights.
std::int64_t tile_rows(std::int64_t keys);

/// Rows [row_begin, row_end) of a head, and of the keys as few as hold all that these rows see. The problem has one
/// sequence, from position 0.
TileRange tile_of(const AttentionProblem& problem, std::int64_t head, std::int64_t row_begin, std::int64_t row_end);

/// A problem of the same shape and with the same keys hidden, in which every score is the same: each row looks evenly
/// at all that it sees. One query head a key/value head; sinks, which are no keys, are left out.
class EvenProblem {
 public:
  /// `problem` must outlive this.
  explicit EvenProblem(const AttentionProblem& problem);
  EvenProblem(const EvenProblem&) = delete;
  EvenProblem& operator=(const EvenProblem&) = delete;

  const AttentionProblem& problem() const { return problem_; }

 private:
  std::vector<float> zero_;  // a query, for all rows and heads
  AttentionProblem problem_;
};

/// Tiles that several threads read, for one progress.
class TileProgress {
 public:
  /// progress: null where nobody asks.
  TileProgress(Progress* progress, std::int64_t tiles) : progress_(progress), tiles_(tiles) {}

  /// One more is done. Throws Cancelled, from then on always.
  void advance();

 private:
  Progress* const progress_;
  const std::int64_t tiles_;
  std::mutex mutex_;
  std::int64_t done_ = 0;
  bool stopped_ = false;
};

}  // namespace sightline::analysis

#endif  // SIGHTLINE_ANALYSIS_MAP_TILES_H_
