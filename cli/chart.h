#ifndef SIGHTLINE_CLI_CHART_H_
#define SIGHTLINE_CLI_CHART_H_

#include <span>
#include <string>

#include "src/analysis/study.h"
#include "src/format/picture.h"

namespace sightline::cli {

/// The charts, one below the other, with a heading and a note at the foot.
format::Picture draw_charts(const std::string& title, std::span<const analysis::Chart> charts, const std::string& foot,
                            format::Font& font);

}  // namespace sightline::cli

#endif  // SIGHTLINE_CLI_CHART_H_
