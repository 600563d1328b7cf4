#ifndef SIGHTLINE_ENGINE_STEP_OBSERVER_H_
#define SIGHTLINE_ENGINE_STEP_OBSERVER_H_

#include <cstdint>
#include <vector>

#include "sightline/attention.h"
#include "sightline/transformer.h"

namespace sightline::engine {

/// What is observed of every step of a generation.
struct WatchOptions {
  int top = 4;            // keys a map, 1..64; 0: none
  bool key_mass = false;  // what each key received so far; takes 64 bytes for each head and token of the context
};

/// What one row of every map looked at: the row of the token at `row`, which the next token was taken from. Arrays are
/// dense, [layers, heads, ...].
struct StepSight {
  std::int64_t row = 0;   // position of the query
  std::int64_t keys = 0;  // row + 1
  int layers = 0, heads = 0, top = 0;
  std::int32_t segments = 0;
  std::vector<float> entropy;         // [layers, heads] nats
  std::vector<float> sink_weight;     // [layers, heads]; empty where the model has no sinks
  std::vector<std::int32_t> top_key;  // [layers, heads, top] positions, largest weight first; -1: none
  std::vector<float> top_weight;      // [layers, heads, top]
  std::vector<float> segment_mass;    // [layers, heads, segments] weight on each segment
  std::vector<float> key_mass;  // [layers, heads, keys] sum over all rows so far, the prompt's too; empty unless asked
};

/// Watches a text as it grows in a context: of every pass the newest row, and the mass that keys received so far.
class StepObserver : public model::AttentionObserver {
 public:
  /// `room`: tokens of the context.
  StepObserver(const model::TransformerConfig& config, const WatchOptions& options, std::int64_t room);

  /// Before a pass that adds `rows` tokens to the context. `segment_of_key`: of all tokens then in it, below
  /// `segments`. Both must outlive the pass. Without `newest` mass alone is observed.
  void begin(std::int64_t rows, std::span<const std::int32_t> segment_of_key, std::int32_t segments, bool newest);
  /// Whether a pass without `newest` has anything to observe.
  bool sums_mass() const { return options_.key_mass; }

  Observations request(const model::LayerAttention& call) override;
  void done(const model::LayerAttention& call) override;

  const StepSight& sight() const { return sight_; }
  /// Bytes of the sums, known before they are taken.
  static std::int64_t bytes(const model::TransformerConfig& config, const WatchOptions& options, std::int64_t room);

 private:
  void watch_mass(const model::LayerAttention& call, Observations& see);
  void watch_newest(std::int64_t heads, std::int64_t rows, Observations& see);

  WatchOptions options_;
  std::int64_t room_;
  std::int64_t expected_rows_ = 0;
  std::span<const std::int32_t> segment_of_key_;
  bool newest_ = false, sinks_ = false;
  std::vector<std::vector<float>> sums_;  // of each layer [heads, 16, room]
  // Of the layer at hand, all rows of the pass.
  std::vector<float> entropy_, sink_weight_, top_weight_, segment_mass_, key_mass_;
  std::vector<std::int32_t> top_key_;
  StepSight sight_;
};

}  // namespace sightline::engine

#endif  // SIGHTLINE_ENGINE_STEP_OBSERVER_H_
