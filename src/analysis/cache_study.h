#ifndef SIGHTLINE_ANALYSIS_CACHE_STUDY_H_
#define SIGHTLINE_ANALYSIS_CACHE_STUDY_H_

#include <string_view>

#include "src/analysis/study.h"
#include "src/analysis/study_input.h"

namespace sightline::analysis {

inline constexpr std::string_view kCacheClaim = "A causal mask makes a cache of keys and values possible";

/// Time of a token with the keys and values of those before it kept, and with all of them computed again, at growing
/// lengths. The text, or tokens that the seed draws, is repeated to the length. BadArgument where nothing fits.
Study study_cache(const StudyInput& input);

}  // namespace sightline::analysis

#endif  // SIGHTLINE_ANALYSIS_CACHE_STUDY_H_
