#ifndef SIGHTLINE_ANALYSIS_SCALE_STUDY_H_
#define SIGHTLINE_ANALYSIS_SCALE_STUDY_H_

#include <string_view>

#include "src/analysis/study.h"
#include "src/analysis/study_input.h"

namespace sightline::analysis {

inline constexpr std::string_view kScaleClaim = "Scaling by 1/sqrt(d) keeps the softmax from saturating";

Study study_scale(const StudyInput& input);

}  // namespace sightline::analysis

#endif  // SIGHTLINE_ANALYSIS_SCALE_STUDY_H_
