#ifndef SIGHTLINE_ATTENTION_PROGRESS_REPORT_H_
#define SIGHTLINE_ATTENTION_PROGRESS_REPORT_H_

#include <cstdint>
#include <mutex>
#include <string>

#include "sightline/error.h"
#include "sightline/execution.h"

namespace sightline {

/// Tells a caller's Progress of each piece that is done, from any thread, one at a time, until it says stop.
class ProgressReport {
 public:
  /// progress: null where nobody asks. pieces: what they are called.
  ProgressReport(Progress* progress, const char* pieces) : progress_(progress), pieces_(pieces) {}

  /// One more of `total` is done. Throws Cancelled, and what the caller's function throws.
  void advance(std::int64_t total) {
    if (progress_ == nullptr) return;
    const std::lock_guard lock(mutex_);
    if (stopped_) return;  // what was under way on other threads
    ++done_;
    stopped_ = true;  // also if advance() throws
    stopped_ = !progress_->advance(done_, total);
    if (stopped_) {
      throw Cancelled("stopped by the caller after " + std::to_string(done_) + " of " + std::to_string(total) + " " +
                      pieces_);
    }
  }

 private:
  Progress* const progress_;
  const char* const pieces_;
  std::mutex mutex_;
  std::int64_t done_ = 0;
  bool stopped_ = false;
};

}  // namespace sightline

#endif  // SIGHTLINE_ATTENTION_PROGRESS_REPORT_H_
