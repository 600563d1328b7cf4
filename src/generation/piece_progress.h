#ifndef SIGHTLINE_GENERATION_PIECE_PROGRESS_H_
#define SIGHTLINE_GENERATION_PIECE_PROGRESS_H_

#include <cstdint>

#include "sightline/execution.h"

namespace sightline::model {

/// The progress of a pass over one piece of many. A pass reports for each layer anew; the caller hears of whole pieces,
/// and can stop within one.
class PieceProgress : public Progress {
 public:
  /// done of total tokens went through before this piece. caller: null where nobody asks.
  PieceProgress(Progress* caller, std::int64_t done, std::int64_t total)
      : caller_(caller), done_(done), total_(total) {}
  /// What the pass is to report to.
  Progress* hook() { return caller_ == nullptr ? nullptr : this; }
  bool advance(std::int64_t, std::int64_t) override { return goes_on() || whole_; }
  bool goes_on() { return caller_ == nullptr || caller_->advance(done_, total_); }
  /// From here on the piece is not broken off within.
  void keep_whole() { whole_ = true; }

 private:
  Progress* caller_;
  std::int64_t done_, total_;
  bool whole_ = false;
};

}  // namespace sightline::model

#endif  // SIGHTLINE_GENERATION_PIECE_PROGRESS_H_
