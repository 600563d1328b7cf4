#ifndef SIGHTLINE_ANALYSIS_ASKED_TEXT_H_
#define SIGHTLINE_ANALYSIS_ASKED_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sightline/transformer.h"
#include "src/analysis/halves.h"
#include "src/analysis/tally.h"

namespace sightline::analysis {

/// What heads said so far: for each role, map and half a tally. Maps: layer * heads + head, from 0.
class Tallies {
 public:
  Tallies() = default;
  Tallies(std::size_t roles, std::size_t maps) : maps_(maps), all_(roles * maps * kHalves) {}

  Tally& at(std::size_t role, std::size_t map, int half) { return all_[index(role, map, half)]; }
  const Tally& at(std::size_t role, std::size_t map, int half) const { return all_[index(role, map, half)]; }
  void add(const Tallies& other) {
    for (std::size_t i = 0; i < all_.size(); ++i) all_[i].add(other.all_[i]);
  }
  void clear() { all_.assign(all_.size(), {}); }

 private:
  std::size_t index(std::size_t role, std::size_t map, int half) const {
    return (role * maps_ + map) * kHalves + static_cast<std::size_t>(half);
  }

  std::size_t maps_ = 0;
  std::vector<Tally> all_;
};

/// Heads of a layer that are asked, and how.
struct AskedHeads {
  std::span<const std::int64_t> heads;  // from 0
  int threads = 0;
};

/// Memory for what is observed of one call. All texts share it: a call's request() and done() follow one another.
struct ObservedBuffers {
  std::vector<float> row_weights;       // [heads, asked rows, keys]
  std::vector<float> row_max, row_sum;  // [heads, rows]
  std::vector<std::int32_t> top_index;  // [heads, rows]
  std::vector<float> top_weight;        // [heads, rows]
  std::vector<float> offset_mass;       // [heads, rows, offsets]
  std::vector<float> segment_mass;      // [heads, rows, segments]
  std::vector<float> sink_weight;       // [heads, rows]
};

/// A text of a pass with what is asked about it.
class AskedText {
 public:
  virtual ~AskedText() = default;
  virtual model::TokenSequence sequence() const = 0;
  virtual Observations request(const model::LayerAttention& call, ObservedBuffers& buffers) = 0;
  /// Adds what the heads of the layer said.
  virtual void done(const model::LayerAttention& call, const ObservedBuffers& buffers, const AskedHeads& asked,
                    Tallies& to) = 0;
};

}  // namespace sightline::analysis

#endif  // SIGHTLINE_ANALYSIS_ASKED_TEXT_H_
