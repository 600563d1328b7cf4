#include "src/engine/study.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "sightline/error.h"
#include "src/analysis/cache_study.h"
#include "src/analysis/context_study.h"
#include "src/analysis/cost_study.h"
#include "src/analysis/distance_study.h"
#include "src/analysis/many_study.h"
#include "src/analysis/scale_study.h"
#include "src/engine/memory.h"

namespace sightline::engine {
namespace {

using enum StudyNeed;

constexpr StudyEntry kStudies[] = {
    {"scale", analysis::kScaleClaim, welcome, welcome, false, analysis::study_scale},
    {"distance", analysis::kDistanceClaim, none, none, false, analysis::study_distance},
    {"cost", analysis::kCostClaim, welcome, welcome, false, analysis::study_cost},
    {"cache", analysis::kCacheClaim, needed, welcome, true, analysis::study_cache},
    {"many", analysis::kManyClaim, needed, needed, false, analysis::study_many},
    {"context", analysis::kContextClaim, needed, needed, false, analysis::study_context},
};

}  // namespace

std::span<const StudyEntry> studies() { return kStudies; }

const StudyEntry& find_study(std::string_view name) {
  const auto* found = std::ranges::find(kStudies, name, &StudyEntry::name);
  if (found != std::end(kStudies)) return *found;
  std::string names;
  for (const StudyEntry& entry : kStudies) names += fmt::format("{}{}", names.empty() ? "" : ", ", entry.name);
  throw BadArgument(fmt::format("there is no study \"{}\": there are {}", name, names));
}

analysis::Study run_study(const StudyEntry& entry, const analysis::StudyOptions& options) {
  if (entry.model == needed) throw BadArgument(fmt::format("study {} measures a model: name one with -m", entry.name));
  return within_memory(kNoMemoryForStudy, [&] {
    return entry.run({.transformer = nullptr, .ids = {}, .type_ids = {}, .is_text = {}, .options = options});
  });
}

}  // namespace sightline::engine
