#ifndef SIGHTLINE_ENGINE_COMPARE_REPORT_H_
#define SIGHTLINE_ENGINE_COMPARE_REPORT_H_

#include <cstddef>

#include "src/engine/compare.h"
#include "src/engine/report.h"

namespace sightline::engine {

/// What `compare --json` prints; docs/report.md has the fields. `listed`: of how many rows all weights are written.
ReportJson compare_report(const TextPair& pair, const Comparison& comparison, std::size_t listed);

/// "divergence", "shift".
std::string_view rank_name(RankBy by);

}  // namespace sightline::engine

#endif  // SIGHTLINE_ENGINE_COMPARE_REPORT_H_
