#ifndef SIGHTLINE_ANALYSIS_STUDY_PROGRESS_H_
#define SIGHTLINE_ANALYSIS_STUDY_PROGRESS_H_

#include <algorithm>
#include <cstdint>

#include "sightline/error.h"
#include "sightline/execution.h"

namespace sightline::analysis {

/// The progress of a study, made of those of its steps. For the caller `total` is the same from the first call to the
/// last, and `done` never falls.
class StudyProgress : public Progress {
 public:
  /// caller: null where nobody asks. `work`: what the weights of all steps come to.
  StudyProgress(Progress* caller, double work) : caller_(caller), work_(work) {}

  /// What the calls of a step are to report to; null where nobody asks.
  Progress* hook() { return caller_ == nullptr ? nullptr : this; }

  /// The next step begins, with `weight` of all the work. Throws Cancelled.
  void begin(double weight) {
    done_ += step_;
    step_ = weight;
    if (caller_ != nullptr && !advance(0, 1)) throw Cancelled("stopped by the caller before the study was done");
  }

  bool advance(std::int64_t done, std::int64_t total) override {
    const double share = total > 0 ? static_cast<double>(done) / static_cast<double>(total) : 1;
    const auto at = static_cast<std::int64_t>((done_ + step_ * share) / work_ * kPieces);
    shown_ = std::clamp(at, shown_, kPieces);
    return caller_->advance(shown_, kPieces);
  }

 private:
  static constexpr std::int64_t kPieces = 10'000;

  Progress* const caller_;
  const double work_;
  double done_ = 0, step_ = 0;  // of the work
  std::int64_t shown_ = 0;
};

}  // namespace sightline::analysis

#endif  // SIGHTLINE_ANALYSIS_STUDY_PROGRESS_H_
