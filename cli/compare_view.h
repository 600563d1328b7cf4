#ifndef SIGHTLINE_CLI_COMPARE_VIEW_H_
#define SIGHTLINE_CLI_COMPARE_VIEW_H_

#include <string>

#include "cli/options.h"
#include "cli/painter.h"
#include "src/engine/compare.h"

namespace sightline::cli {

/// How many rows are listed where --top does not say.
inline constexpr int kComparedRows = 10;

/// What a comparison found: how the texts differ, the rows that moved farthest, and the first of them side by side.
void add_compare_view(Painter& painter, const engine::TextPair& pair, const engine::Comparison& comparison,
                      const Options& options);

}  // namespace sightline::cli

#endif  // SIGHTLINE_CLI_COMPARE_VIEW_H_
