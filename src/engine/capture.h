#ifndef SIGHTLINE_ENGINE_CAPTURE_H_
#define SIGHTLINE_ENGINE_CAPTURE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sightline/attention.h"
#include "src/engine/look.h"
#include "src/model/transformer.h"

namespace sightline::engine {

/// A layer's attention problem with its own copy of Q, K and V, so that it outlives the pass. Refuses what it would not
/// carry over (mask, bias, ALiBi, sinks, sequences) with UnsupportedModel.
class StoredProblem {
 public:
  StoredProblem() = default;
  explicit StoredProblem(const AttentionProblem& problem);
  StoredProblem(StoredProblem&&) = default;  // moving keeps the buffers where they are, and so the views
  StoredProblem& operator=(StoredProblem&&) = default;

  const AttentionProblem& problem() const { return problem_; }
  /// The same for one query head and one row: q [1, 1, 1, D], k and v [1, 1, Nk, .]. `at` must outlive the result; it
  /// tells causality and windows where the row stands.
  AttentionProblem row(std::int64_t head, std::int64_t row, SequenceSpan& at) const;

 private:
  std::vector<std::byte> q_, k_, v_;
  AttentionProblem problem_;  // views of the above
};

/// One layer as it was observed. Arrays are dense, [heads, rows, ...] as in Observations.
struct LayerRecord {
  model::AttentionKind kind = model::AttentionKind::self;
  int layer = 1;  // from 1
  StoredProblem stored;
  std::int64_t heads = 0, rows = 0, keys = 0;
  int top = 0;
  std::vector<float> row_max, row_sum, lse, entropy, text_entropy, position, distance;  // [heads, rows]
  std::vector<float> offset_mass;                                                       // [heads, rows, kOffsets]
  std::vector<float> segment_mass;                                                      // [heads, rows, kSegments]
  std::vector<float> key_mass;                                                          // [heads, keys]
  std::vector<std::int32_t> top_index;                                                  // [heads, rows, top]
  std::vector<float> top_weight;                                                        // [heads, rows, top]
};

/// Records every layer of a forward pass over one sequence.
class Capture : public model::AttentionObserver {
 public:
  /// `segment_of_key` [keys], as Segment; must outlive the pass.
  Capture(std::span<const std::int32_t> segment_of_key, int top) : segment_of_key_(segment_of_key), top_(top) {}

  Observations request(const model::LayerAttention& call) override;
  void done(const model::LayerAttention&) override {}

  std::vector<LayerRecord> take() { return std::move(records_); }

 private:
  std::span<const std::int32_t> segment_of_key_;
  int top_;
  std::vector<LayerRecord> records_;
};

/// Fills `text_entropy`: the same attention with special keys hidden, so that the rest is renormalised by the softmax
/// itself. Taking the special keys' part out of the whole row's entropy instead would cancel all digits where they hold
/// nearly all the weight.
void observe_text_entropy(LayerRecord& record, std::span<const std::int32_t> segment_of_key, int threads);

}  // namespace sightline::engine

#endif  // SIGHTLINE_ENGINE_CAPTURE_H_
