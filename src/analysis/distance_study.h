#ifndef SIGHTLINE_ANALYSIS_DISTANCE_STUDY_H_
#define SIGHTLINE_ANALYSIS_DISTANCE_STUDY_H_

#include <string_view>

#include "src/analysis/study.h"
#include "src/analysis/study_input.h"

namespace sightline::analysis {

inline constexpr std::string_view kDistanceClaim = "Any distance costs the same";

Study study_distance(const StudyInput& input);

}  // namespace sightline::analysis

#endif  // SIGHTLINE_ANALYSIS_DISTANCE_STUDY_H_
