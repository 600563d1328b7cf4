#ifndef SIGHTLINE_ENGINE_PASS_PROGRESS_H_
#define SIGHTLINE_ENGINE_PASS_PROGRESS_H_

#include <cstdint>

#include "sightline/error.h"
#include "sightline/execution.h"

namespace sightline::engine {

/// The progress of a whole pass, in steps that take about equally long, made of the progress of each: for the caller
/// `total` is the same from the first call to the last, and `done` never falls.
class PassProgress : public Progress {
 public:
  /// caller: null where nobody asks.
  PassProgress(Progress* caller, std::int64_t steps) : caller_(caller), steps_(steps) {}

  /// What the kernel is to report to; null where nobody asks.
  Progress* hook() { return caller_ == nullptr ? nullptr : this; }

  /// The next step begins. Throws Cancelled.
  void begin_step() {
    ++step_;
    if (caller_ != nullptr && !advance(0, 1)) {
      throw Cancelled("stopped by the caller before the text was read to the last layer");
    }
  }
  bool advance(std::int64_t done, std::int64_t total) override {
    return caller_->advance(step_ * kPieces + done * kPieces / total, steps_ * kPieces);
  }

 private:
  static constexpr std::int64_t kPieces = 100;  // a step

  Progress* const caller_;
  const std::int64_t steps_;
  std::int64_t step_ = -1;
};

}  // namespace sightline::engine

#endif  // SIGHTLINE_ENGINE_PASS_PROGRESS_H_
