#ifndef SIGHTLINE_CLI_REPORT_OUTPUT_H_
#define SIGHTLINE_CLI_REPORT_OUTPUT_H_

#include <span>

#include "cli/options.h"
#include "src/engine/report.h"

namespace sightline::cli {

/// Writes the report to the file of -o, if there is one, and says so on standard error. Throws BadFile.
void save_report(const Options& options, const engine::Look& look, const engine::ReportOptions& report,
                 std::span<const engine::Explanation> explanations = {});

}  // namespace sightline::cli

#endif  // SIGHTLINE_CLI_REPORT_OUTPUT_H_
