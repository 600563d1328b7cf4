#ifndef SIGHTLINE_ANALYSIS_CONTEXT_STUDY_H_
#define SIGHTLINE_ANALYSIS_CONTEXT_STUDY_H_

#include <string_view>

#include "src/analysis/study.h"
#include "src/analysis/study_input.h"

namespace sightline::analysis {

inline constexpr std::string_view kContextClaim = "Any token reaches any other in one step";

/// How far each head looks in the text: distances within which parts of its weight lie, beside those of an even look.
Study study_context(const StudyInput& input);

}  // namespace sightline::analysis

#endif  // SIGHTLINE_ANALYSIS_CONTEXT_STUDY_H_
