#ifndef SIGHTLINE_ANALYSIS_COST_STUDY_H_
#define SIGHTLINE_ANALYSIS_COST_STUDY_H_

#include <string_view>

#include "src/analysis/study.h"
#include "src/analysis/study_input.h"

namespace sightline::analysis {

inline constexpr std::string_view kCostClaim = "Cost grows with the square of the length";

Study study_cost(const StudyInput& input);

}  // namespace sightline::analysis

#endif  // SIGHTLINE_ANALYSIS_COST_STUDY_H_
