#ifndef SIGHTLINE_ENGINE_SUMMARY_H_
#define SIGHTLINE_ENGINE_SUMMARY_H_

#include <span>

#include "src/engine/look.h"

namespace sightline::engine {

/// The means of one map over the rows of text tokens. `segment_of_row` [rows] and `segment_of_key` [keys] as Segment;
/// for self-attention they are the same.
MapSummary summarise(const MapObservations& map, std::span<const std::int32_t> segment_of_row,
                     std::span<const std::int32_t> segment_of_key);

}  // namespace sightline::engine

#endif  // SIGHTLINE_ENGINE_SUMMARY_H_
