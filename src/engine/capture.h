#ifndef SIGHTLINE_ENGINE_CAPTURE_H_
#define SIGHTLINE_ENGINE_CAPTURE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sightline/attention.h"
#include "sightline/transformer.h"
#include "src/engine/look.h"
#include "src/engine/pass_progress.h"
#include "src/engine/pyramid.h"
#include "src/engine/score_rule.h"

namespace sightline::engine {

/// Refuses a problem that a StoredProblem would not carry over with UnsupportedModel: whatever hides keys or changes
/// scores beyond scale, softcap, causality, windows and sinks.
void require_storable(const AttentionProblem& problem);

/// A layer's attention problem with its own copy of Q, K, V and sinks, so that it outlives the pass.
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
  std::size_t bytes() const {
    return q_.capacity() + k_.capacity() + v_.capacity() + sinks_.capacity() * sizeof(float);
  }

 private:
  std::vector<std::byte> q_, k_, v_;
  std::vector<float> sinks_;
  AttentionProblem problem_;  // views of the above
};

/// One layer as it was observed. Arrays are dense, [heads, rows, ...] as in Observations. Of a layer that is not kept
/// the problem and the arrays are empty.
struct LayerRecord {
  model::AttentionKind kind = model::AttentionKind::self;
  int layer = 1;  // from 1
  bool kept = true;
  ScoreRule rule;
  StoredProblem stored;
  std::int64_t heads = 0, rows = 0, keys = 0;
  std::int32_t segments = 0;
  int top = 0;
  std::vector<float> row_max, row_sum, lse, entropy, text_entropy, position, distance;  // [heads, rows]
  std::vector<float> sink_weight;                                                       // [heads, rows], or empty
  std::vector<float> offset_mass;                                                       // [heads, rows, kOffsets]
  std::vector<float> segment_mass;                                                      // [heads, rows, segments]
  std::vector<float> key_mass;                                                          // [heads, keys]
  std::vector<std::int32_t> top_index;                                                  // [heads, rows, top]
  std::vector<float> top_weight;                                                        // [heads, rows, top]
  Pyramid pyramid;

  MapObservations map(int head) const;  // head from 1
  LayerRecord bare() const;             // the same, not kept
  std::size_t bytes() const;
};

/// How a pass is recorded.
struct CaptureOptions {
  const Segments* segments = nullptr;  // must outlive the pass
  std::span<const int> keep_layers;    // from 1; empty: all; must outlive the pass
  int top = 0;                         // slots a row
  int threads = 0;
  PassProgress* progress = nullptr;
};

/// Records every layer of a forward pass over one sequence: what it observes, its text entropy, and the summaries of
/// its maps. A layer that is not kept takes memory only while it is at hand.
class Capture : public model::AttentionObserver {
 public:
  explicit Capture(const CaptureOptions& options) : options_(options) {}

  Observations request(const model::LayerAttention& call) override;
  void done(const model::LayerAttention& call) override;

  std::vector<LayerRecord> take_layers() { return std::move(records_); }
  std::vector<MapSummary> take_summaries() { return std::move(summaries_); }  // [layers, heads]

 private:
  void observe_text_entropy(const AttentionProblem& whole, LayerRecord& record) const;

  CaptureOptions options_;
  std::vector<LayerRecord> records_;
  std::vector<MapSummary> summaries_;
};

}  // namespace sightline::engine

#endif  // SIGHTLINE_ENGINE_CAPTURE_H_
