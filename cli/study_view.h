#ifndef SIGHTLINE_CLI_STUDY_VIEW_H_
#define SIGHTLINE_CLI_STUDY_VIEW_H_

#include <span>
#include <string>

#include "cli/painter.h"
#include "src/analysis/study.h"
#include "src/engine/study.h"

namespace sightline::cli {

/// The studies there are, each with its claim and what it reads.
void add_study_list(Painter& painter, std::span<const engine::StudyEntry> studies);

/// What was measured. `model`: its name; empty: none. Tables wider than the terminal go on below, their first column
/// again in front.
void add_study_view(Painter& painter, const analysis::Study& study, const std::string& model);

/// A number as a table shows it; "-" for one that there is not.
std::string study_number(double value, int digits);

}  // namespace sightline::cli

#endif  // SIGHTLINE_CLI_STUDY_VIEW_H_
