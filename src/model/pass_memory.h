#ifndef SIGHTLINE_MODEL_PASS_MEMORY_H_
#define SIGHTLINE_MODEL_PASS_MEMORY_H_

#include <cstddef>
#include <cstdint>

#include "sightline/execution.h"
#include "src/tensor/aligned_buffer.h"

namespace sightline::model {

/// Memory that one layer after the other uses: grown to the most that was asked for, never zeroed.
class Scratch {
 public:
  float* of_size(std::int64_t values) {
    if (static_cast<std::size_t>(values) > buffer_.size()) {
      buffer_ = {};
      buffer_ = AlignedBuffer<float>(static_cast<std::size_t>(values), huge_page_resource());
    }
    return buffer_.data();
  }

 private:
  AlignedBuffer<float> buffer_;
};

/// What a pass writes on its way. Contexts keep it from one pass of few rows to the next: what the system gives anew it
/// clears first, and for a token decoded that took a twentieth of the time.
struct PassMemory {
  Scratch normed, branch;                  // [rows, width]
  Scratch projected, mixed;                // of attention
  Workspace workspace;                     // of attention
  Scratch inner, gated, router, gathered;  // of the MLP
};

}  // namespace sightline::model

#endif  // SIGHTLINE_MODEL_PASS_MEMORY_H_
