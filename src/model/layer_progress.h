#ifndef SIGHTLINE_MODEL_LAYER_PROGRESS_H_
#define SIGHTLINE_MODEL_LAYER_PROGRESS_H_

#include <cstdint>

#include "sightline/error.h"
#include "sightline/execution.h"

namespace sightline::model {

/// Progress in layers. The pieces of an attention call ask whether to go on, and move nothing.
class LayerProgress : public Progress {
 public:
  /// caller: null where nobody asks.
  LayerProgress(Progress* caller, std::int64_t total) : caller_(caller), total_(total) {}

  /// What the kernel is to report to; null where nobody asks.
  Progress* hook() { return caller_ == nullptr ? nullptr : this; }

  /// Throws Cancelled.
  void add(std::int64_t layers) {
    done_ += layers;
    if (caller_ != nullptr && !caller_->advance(done_, total_)) throw Cancelled("stopped by the caller between layers");
  }
  bool advance(std::int64_t, std::int64_t) override { return caller_->advance(done_, total_); }

 private:
  Progress* const caller_;
  const std::int64_t total_;
  std::int64_t done_ = 0;
};

}  // namespace sightline::model

#endif  // SIGHTLINE_MODEL_LAYER_PROGRESS_H_
