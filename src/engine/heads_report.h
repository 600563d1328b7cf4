#ifndef SIGHTLINE_ENGINE_HEADS_REPORT_H_
#define SIGHTLINE_ENGINE_HEADS_REPORT_H_

#include <string>

#include "src/engine/heads.h"
#include "src/engine/model_facts.h"
#include "src/engine/report.h"

namespace sightline::engine {

/// Every head's score in every role as JSON (docs/report.md).
ReportJson heads_report(const ModelFacts& model, const HeadRoles& roles, const HeadsOptions& options);

/// The same as CSV (RFC 4180): a line of names, then one a role and head.
std::string heads_csv(const HeadRoles& roles);

}  // namespace sightline::engine

#endif  // SIGHTLINE_ENGINE_HEADS_REPORT_H_
