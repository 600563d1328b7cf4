#ifndef SIGHTLINE_MODEL_ROPE_H_
#define SIGHTLINE_MODEL_ROPE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "src/model/config.h"

namespace sightline::model {

/// By which angle a position turns each pair, and the factor of cosines and sines.
struct RopeFrequencies {
  std::vector<double> angle;  // [width / 2], per position
  double factor = 1;

  friend bool operator==(const RopeFrequencies&, const RopeFrequencies&) = default;
};

/// The frequencies of a text that is `length` tokens long, all in fp64. Where !rope.follows_length() the length has no
/// effect.
RopeFrequencies rope_frequencies(const Rope& rope, std::int64_t length);

/// Whether keys turned for a text of one length are wrong in a text of another.
bool frequencies_differ(std::span<const Rope> ropes, std::int64_t length, std::int64_t other);

}  // namespace sightline::model

#endif  // SIGHTLINE_MODEL_ROPE_H_
