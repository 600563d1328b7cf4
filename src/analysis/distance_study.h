#ifndef SIGHTLINE_ANALYSIS_DISTANCE_STUDY_H_
#define SIGHTLINE_ANALYSIS_DISTANCE_STUDY_H_

#include <cstdint>
#include <string_view>

#include "src/analysis/study.h"
#include "src/analysis/study_input.h"

namespace sightline::analysis {

inline constexpr std::string_view kDistanceClaim = "Any distance costs the same";

/// Layers whose rows see `window` keys each, their own counted, that carry a key over so many steps.
std::int64_t window_layers(std::int64_t steps, std::int64_t window);

Study study_distance(const StudyInput& input);

}  // namespace sightline::analysis

#endif  // SIGHTLINE_ANALYSIS_DISTANCE_STUDY_H_
