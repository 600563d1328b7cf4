#ifndef SIGHTLINE_ENGINE_STUDY_REPORT_H_
#define SIGHTLINE_ENGINE_STUDY_REPORT_H_

#include "src/engine/model_facts.h"
#include "src/engine/report.h"
#include "src/engine/study.h"

namespace sightline::engine {

/// A study as JSON (docs/report.md). `model`: null where it was measured without one.
ReportJson study_report(const ModelFacts* model, const analysis::Study& study, const analysis::StudyOptions& options);

/// The studies there are.
ReportJson study_list_report();

}  // namespace sightline::engine

#endif  // SIGHTLINE_ENGINE_STUDY_REPORT_H_
