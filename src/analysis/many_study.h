#ifndef SIGHTLINE_ANALYSIS_MANY_STUDY_H_
#define SIGHTLINE_ANALYSIS_MANY_STUDY_H_

#include <string_view>

#include "src/analysis/study.h"
#include "src/analysis/study_input.h"

namespace sightline::analysis {

inline constexpr std::string_view kManyClaim = "One head is not many";

/// What each layer loses on the text when its heads take the mean of their maps.
Study study_many(const StudyInput& input);

}  // namespace sightline::analysis

#endif  // SIGHTLINE_ANALYSIS_MANY_STUDY_H_
