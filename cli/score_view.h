#ifndef SIGHTLINE_CLI_SCORE_VIEW_H_
#define SIGHTLINE_CLI_SCORE_VIEW_H_

#include "cli/options.h"
#include "cli/painter.h"
#include "src/engine/score.h"

namespace sightline::cli {

/// A text's tokens, shaded by how surprising they are or as a table, and what they come to. Of a long text the most
/// surprising tokens alone.
void add_score_view(Painter& painter, const engine::Score& score, const Options& options);

/// Targets, the likeliest first.
void add_target_view(Painter& painter, const engine::TargetScores& scores, const Options& options);

}  // namespace sightline::cli

#endif  // SIGHTLINE_CLI_SCORE_VIEW_H_
