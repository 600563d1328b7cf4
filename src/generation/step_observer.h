#ifndef SIGHTLINE_GENERATION_STEP_OBSERVER_H_
#define SIGHTLINE_GENERATION_STEP_OBSERVER_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "sightline/attention.h"
#include "sightline/generation.h"
#include "sightline/transformer.h"
#include "src/generation/state.h"

namespace sightline::model {

/// Throws BadArgument for a head that row_weights cannot be of: of `heads`, or -1 for the mean.
void require_head(std::int64_t heads, int head);

/// Watches a text as it grows in a context: of every pass the newest row, and the mass that keys received so far.
class StepObserver : public AttentionObserver {
 public:
  /// `options`: checked. `room`: tokens of the context, which has `keys` of them; `sums`: of their rows, if mass is
  /// watched and it has any.
  StepObserver(const TransformerConfig& config, const WatchOptions& options, std::int64_t room, MassSums&& sums,
               std::int64_t keys);

  /// Before a pass that adds `rows` tokens to the context. `segment_of_key`: of all tokens then in it, below
  /// `segments`. Both must outlive the pass. Without `newest` mass alone is observed.
  void begin(std::int64_t rows, std::span<const std::int32_t> segment_of_key, std::int32_t segments, bool newest);
  /// Whether a pass without `newest` has anything to observe.
  bool sums_mass() const { return options_.key_mass; }

  Observations request(const LayerAttention& call) override;
  void done(const LayerAttention& call) override;

  const StepSight& sight() const { return sight_; }
  /// Of which head row_weights are from the next pass on, -1 for the mean. Throws BadArgument.
  void watch_head(int head);
  /// Gives up the sums so far, of `room` keys; nothing can be observed after that.
  MassSums take_sums() { return {room_, std::move(sums_)}; }
  /// Bytes of the sums, known before they are taken.
  static std::int64_t bytes(const TransformerConfig& config, const WatchOptions& options, std::int64_t room);

 private:
  void adopt(const MassSums& sums, std::int64_t keys);
  void watch_mass(const LayerAttention& call, Observations& see);
  void watch_entropy(const LayerAttention& call, Observations& see);
  void watch_newest(const LayerAttention& call, Observations& see);
  void watch_slots(const LayerAttention& call, Observations& see);
  void take_slots(const LayerAttention& call);
  void take_slots_of_head(std::span<const float> weights, std::span<const std::int32_t> positions);
  void add_mass_of_slots(const LayerAttention& call);
  void watch_row(const LayerAttention& call, Observations& see);
  void add_row(const LayerAttention& call);

  WatchOptions options_;
  std::int64_t room_;
  std::int64_t expected_rows_ = 0;
  std::span<const std::int32_t> segment_of_key_;
  bool newest_ = false, sinks_ = false;
  std::vector<std::vector<float>> sums_;  // of each layer [heads, 16, room]
  // Of the layer at hand, all rows of the pass.
  std::vector<float> entropy_, sink_weight_, top_weight_, segment_mass_, key_mass_;
  std::vector<float> row_;  // weights of the newest row alone, [heads, keys or slots]
  std::vector<std::int32_t> top_key_;
  // Where keys have been dropped: of each layer what each position received, [heads, room], in place of sums_.
  std::vector<std::vector<double>> mass_;
  std::int64_t row_index_ = 0;
  StepSight sight_;
};

}  // namespace sightline::model

#endif  // SIGHTLINE_GENERATION_STEP_OBSERVER_H_
