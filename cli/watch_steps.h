#ifndef SIGHTLINE_CLI_WATCH_STEPS_H_
#define SIGHTLINE_CLI_WATCH_STEPS_H_

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "sightline/generation.h"

namespace sightline::cli {

/// Maps whose mean is looked at: of all layers and heads, of one layer, of one head of every layer, or one map.
struct WatchedMaps {
  int layer = -1, head = -1;  // from 0; -1: all
};
/// "L4H2", "mean of L4", "mean of H2 over 24 layers", "mean of 24 x 14 maps".
std::string maps_name(const WatchedMaps& maps, int layers, int heads, bool utf8);

/// What a step's row looked at, over some of its maps.
struct WatchedRow {
  std::vector<float> weights;  // [keys]
  bool whole = true;           // false: of the heaviest keys of each map alone
  double entropy = 0;
  std::vector<double> segments;  // share of each
};
/// `sight` has row_weights (those of WatchOptions::head), or else the heaviest keys of the maps are what is there.
WatchedRow watched_row(const model::StepSight& sight, const WatchedMaps& maps);

/// The newest steps of a generation, as many as a bound of memory allows, one at least.
class WatchSteps {
 public:
  static constexpr std::size_t kBytes = std::size_t{64} << 20;
  explicit WatchSteps(std::size_t bytes = kBytes) : bound_(bytes) {}

  void add(const model::StepSight& sight);
  /// Steps so far, of which those from first() on are there.
  std::int64_t count() const { return first_ + std::ssize(steps_); }
  std::int64_t first() const { return first_; }
  const model::StepSight& at(std::int64_t step) const { return steps_.at(static_cast<std::size_t>(step - first_)); }

 private:
  std::size_t bound_, bytes_ = 0;
  std::int64_t first_ = 0;
  std::deque<model::StepSight> steps_;
};

}  // namespace sightline::cli

#endif  // SIGHTLINE_CLI_WATCH_STEPS_H_
