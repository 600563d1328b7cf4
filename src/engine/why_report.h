#ifndef SIGHTLINE_ENGINE_WHY_REPORT_H_
#define SIGHTLINE_ENGINE_WHY_REPORT_H_

#include <string_view>

#include "src/engine/report.h"
#include "src/engine/why.h"

namespace sightline::engine {

/// Where and why as JSON (docs/report.md).
ReportJson why_report(const ModelFacts& model, const Why& why);

/// "log_probability", "margin", "text_vector", "row_vector".
std::string_view measure_name(WhyMeasure::Kind kind);

}  // namespace sightline::engine

#endif  // SIGHTLINE_ENGINE_WHY_REPORT_H_
