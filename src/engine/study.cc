#include "src/engine/study.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "sightline/error.h"
#include "src/analysis/cost_study.h"
#include "src/analysis/distance_study.h"
#include "src/analysis/scale_study.h"
#include "src/engine/memory.h"

namespace sightline::engine {
namespace {

using enum StudyNeed;

constexpr StudyEntry kStudies[] = {
    {"scale", analysis::kScaleClaim, welcome, welcome, false, analysis::study_scale},
    {"distance", analysis::kDistanceClaim, none, none, false, analysis::study_distance},
    {"cost", analysis::kCostClaim, welcome, welcome, false, analysis::study_cost},
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
    return entry.run({.transformer = nullptr, .ids = {}, .type_ids = {}, .options = options});
  });
}

}  // namespace sightline::engine
