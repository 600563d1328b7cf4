#ifndef SIGHTLINE_ENGINE_SUMMARY_H_
#define SIGHTLINE_ENGINE_SUMMARY_H_

#include <span>

#include "src/engine/look.h"

namespace sightline::engine {

/// The means of one map of self-attention over the rows of text tokens. `segments`: of each token, as Segment.
MapSummary summarise(const MapObservations& map, const ScoreRule& rule, std::span<const std::int32_t> segments,
                     std::span<const EdgeCut> cuts = {});

}  // namespace sightline::engine

#endif  // SIGHTLINE_ENGINE_SUMMARY_H_
